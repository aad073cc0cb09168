"""The round loop: who is averaged, how, and what is written down."""

import numpy as np
import pytest
from made_updates import an_update

from terrafl.algorithms.means import weighted_mean
from terrafl.selection import HBase, Random, Terraform
from terrafl.simulation.local_training import LearningRateDecay, LocalTraining

TRAINING = LocalTraining(learning_rate=0.1, epochs=1, batch_size=4)


def averaged(vectors, weights):
    pairs = enumerate(zip(vectors, weights, strict=True))
    updates = [an_update(str(i), vector, weight) for i, (vector, weight) in pairs]
    return weighted_mean(updates[0].vector, updates)


def rightness(played, tests):
    """Return, client by client, which test examples the final model gets right."""
    tensors = played.layout.tensors(played.state.model)
    weight, bias = tensors["head.weight"], tensors["head.bias"]
    return [
        (x.reshape(len(y), weight.shape[1]) @ weight.T + bias).argmax(axis=1) == y for x, y in tests
    ]


@pytest.fixture
def three(federation, examples):
    """Return clients a, b and c with 5, 9 and 12 examples."""
    return federation([examples(n, seed=n) for n in (5, 9, 12)])


def test_a_round_of_fedavg_is_the_mean_of_the_clients_by_size(three, play, locally):
    played = play(three, training=TRAINING)

    local = locally(three, played.initial, TRAINING, clients="abc")
    assert played.state.model.tobytes() == averaged(local, [5, 9, 12]).tobytes()


def test_the_next_round_starts_from_the_mean(three, play, locally):
    played = play(three, training=TRAINING, num_rounds=2)

    first = averaged(locally(three, played.initial, TRAINING, clients="abc"), [5, 9, 12])
    second = averaged(locally(three, first, TRAINING, clients="abc", round=1), [5, 9, 12])
    assert played.state.model.tobytes() == second.tobytes()


def test_clients_are_drawn_anew_in_every_round(federation, examples, play):
    data = federation([examples(4, seed=n) for n in range(12)])

    played = play(data, num_rounds=6, clients_per_round=4)

    assert len({tuple(cohort["clients"]) for cohort in played.of("cohort")}) == 6


def test_a_client_drawn_twice_trains_once_and_weighs_twice(three, play, locally):
    played = play(three, selector=HBase(), training=TRAINING, clients_per_round=7, seed=1)

    (cohort,) = played.of("cohort")
    assert sum(cohort["draws"]) == 7
    assert max(cohort["draws"]) > 1
    local = locally(three, played.initial, TRAINING, clients=cohort["clients"], seed=1)
    assert played.state.model.tobytes() == averaged(local, cohort["draws"]).tobytes()
    assert played.state.costs.client_updates == len(cohort["clients"])


def test_the_hard_clients_of_terraform_train_again_from_the_new_model(
    federation, examples, play, locally
):
    data = federation([examples(8, seed=n) for n in range(8)])

    played = play(data, selector=Terraform(eta=1, max_iterations=2), training=TRAINING)

    everybody, hard = (cohort["clients"] for cohort in played.of("cohort"))
    assert everybody == list("abcdefgh")
    assert sorted(played.of("split")[0]["hard"]) == hard
    first = averaged(locally(data, played.initial, TRAINING, clients=everybody), [8] * 8)
    local = locally(data, first, TRAINING, clients=hard, iteration=1)
    assert played.state.model.tobytes() == averaged(local, [8] * len(hard)).tobytes()


def test_with_an_anchor_every_clients_newest_model_of_the_round_is_averaged(
    federation, examples, play, locally
):
    data = federation([examples(8, seed=n) for n in range(8)])

    played = play(data, selector=Terraform(eta=1, max_iterations=2, anchor=True), training=TRAINING)

    everybody, hard = (cohort["clients"] for cohort in played.of("cohort"))
    newest = dict(
        zip(everybody, locally(data, played.initial, TRAINING, clients=everybody), strict=True)
    )
    first = averaged(newest.values(), [8] * 8)
    newest |= dict(
        zip(hard, locally(data, first, TRAINING, clients=hard, iteration=1), strict=True)
    )
    assert 0 < len(hard) < 8
    assert played.state.model.tobytes() == averaged(newest.values(), [8] * 8).tobytes()


def test_an_anchor_holds_for_one_round(three, play, locally):
    played = play(
        three,
        selector=Terraform(eta=9, anchor=True),
        training=TRAINING,
        num_rounds=2,
        clients_per_round=2,
    )

    first, second = (cohort["clients"] for cohort in played.of("cohort"))
    sizes = {"a": 5, "b": 9, "c": 12}
    model = played.initial
    for number, clients in enumerate((first, second)):
        local = locally(three, model, TRAINING, clients=clients, round=number)
        model = averaged(local, [sizes[c] for c in clients])
    assert first != second
    assert played.state.model.tobytes() == model.tobytes()


def test_the_update_that_terraform_sorts_by_is_that_of_the_final_layer(three, play, locally):
    played = play(three, selector=Terraform(eta=9), training=TRAINING)

    local = locally(three, played.initial, TRAINING, clients="abc")
    # The network is one layer: its update is the whole difference.
    norms = [float(np.linalg.norm(v.astype(float) - played.initial)) for v in local]
    told = {client["id"]: client["update_norm"] for client in played.of("split")[0]["clients"]}
    assert [told[c] for c in "abc"] == pytest.approx(norms, rel=1e-12)


def test_the_learning_rate_of_a_round_reaches_its_clients(three, play):
    # After the first round the rate is so small that nothing moves any more.
    frozen = LocalTraining(
        learning_rate=0.1,
        epochs=1,
        batch_size=4,
        lr_decay=LearningRateDecay(every=1, factor=1e-30),
    )

    one = play(three, training=TRAINING, num_rounds=1)
    three_rounds = play(three, training=frozen, num_rounds=3)

    assert three_rounds.state.model.tobytes() == one.state.model.tobytes()


def test_accuracies_are_of_the_new_model_on_everybody_and_on_the_participants(
    federation, examples, play
):
    tests = [examples(n, seed=50 + n) for n in (3, 40, 7, 5)]
    data = federation([examples(20, seed=n) for n in range(4)], tests)

    played = play(data, training=TRAINING, num_rounds=3, clients_per_round=2)

    right = rightness(played, tests)
    participants = ["abcd".index(c) for c in played.of("cohort")[-1]["clients"]]
    last = played.of("evaluation")[-1]
    assert last["accuracy"] == pytest.approx(np.concatenate(right).mean())
    assert last["accuracy_participating"] == pytest.approx(
        np.mean([right[p].mean() for p in participants])
    )


def test_participants_are_those_of_the_first_cohort_of_a_round(federation, examples, play):
    tests = [examples(3 + n, seed=50 + n) for n in range(8)]
    data = federation([examples(8, seed=n) for n in range(8)], tests)

    played = play(data, selector=Terraform(eta=1), training=TRAINING)

    shares = [right.mean() for right in rightness(played, tests)]
    assert played.of("evaluation")[0]["accuracy_participating"] == pytest.approx(np.mean(shares))


def test_a_client_without_test_data_has_no_say_in_the_accuracy(federation, examples, play):
    tests = [examples(6, seed=50), examples(0, seed=51)]
    data = federation([examples(8, seed=n) for n in range(2)], tests)

    played = play(data, training=TRAINING)

    evaluation = played.of("evaluation")[0]
    assert evaluation["accuracy_participating"] == evaluation["accuracy"]


def test_evaluations_come_every_few_rounds_and_after_the_last(three, play):
    played = play(three, num_rounds=5, eval_every=2)

    assert [point.round for point in played.state.curve] == [2, 4, 5]
    assert [event["round"] for event in played.of("evaluation")] == [1, 3, 4]


def test_a_run_that_no_longer_improves_is_stopped_after_its_patience(three, play):
    still = LocalTraining(learning_rate=1e-30, epochs=1, batch_size=4)

    played = play(three, training=still, num_rounds=10, patience=2)

    assert [point.round for point in played.state.curve] == [1, 2, 3]


def test_a_run_that_improves_is_not_stopped(three, play):
    played = play(three, num_rounds=4, patience=4)

    assert played.state.round == 4


def test_patience_counts_evaluations_not_rounds(three, play):
    still = LocalTraining(learning_rate=1e-30, epochs=1, batch_size=4)

    played = play(three, training=still, num_rounds=20, patience=2, eval_every=3)

    assert [point.round for point in played.state.curve] == [3, 6, 9]


def test_a_model_that_is_not_finite_is_refused_and_the_run_goes_on(
    federation, examples, play, locally
):
    x, y = examples(6, seed=1)
    data = federation([examples(5, seed=2), (x * np.nan, y), examples(9, seed=3)])

    played = play(data, training=TRAINING, num_rounds=2)

    assert played.of("refused") == [
        {
            "event": "refused",
            "round": round,
            "iteration": 0,
            "client": "b",
            "reason": "model: must be finite, and is not",
        }
        for round in (0, 1)
    ]
    assert played.state.costs.reports_refused == 2
    assert played.state.costs.client_updates == 6
    model = played.initial
    for round in (0, 1):
        a, _, c = locally(data, model, TRAINING, clients="abc", round=round)
        model = averaged([a, c], [5, 9])
    assert played.state.model.tobytes() == model.tobytes()


@pytest.mark.parametrize("selector", [Random(), HBase(), Terraform(eta=1)], ids=lambda s: s.name)
def test_a_round_in_which_everybody_is_refused_ends_and_changes_nothing(three, play, selector):
    absurd = LocalTraining(learning_rate=1e38, epochs=5, batch_size=1)

    played = play(three, selector=selector, training=absurd, num_rounds=2)

    assert played.state.model.tobytes() == played.initial.tobytes()
    assert len(played.of("cohort")) == 2
    assert len(played.of("refused")) == played.state.costs.client_updates
    assert len(played.of("evaluation")) == 2


def test_a_selector_that_finds_nobody_ends_its_rounds(three, play):
    class Nobody(Random):
        def draw(self, context):
            return type(super().draw(context))()

    played = play(three, selector=Nobody(), num_rounds=2)

    assert played.of("cohort") == []
    assert [point.client_updates for point in played.state.curve] == [0, 0]


def test_the_journal_says_how_far_clients_moved_under_every_selector(three, play, locally):
    played = play(three, training=TRAINING)

    (event,) = played.of("updates")
    local = locally(three, played.initial, TRAINING, clients="abc")
    place = [played.layout.final_weight, played.layout.final_bias]
    for client, vector, norm in zip("abc", local, event["update_norm"], strict=True):
        moved = np.concatenate([vector[p].astype(float) - played.initial[p] for p in place])
        assert norm == pytest.approx(np.linalg.norm(moved), rel=1e-12), client
    assert event["clients"] == list("abc")
    split = play(three, selector=Terraform(eta=1), training=TRAINING)
    assert len(split.of("updates")) == len(split.of("cohort"))


def test_the_last_evaluation_says_how_well_each_client_is_served(federation, examples, play):
    tests = [examples(n, seed=50 + n) for n in (3, 40, 0, 5)]
    data = federation([examples(20, seed=n) for n in range(4)], tests)

    played = play(data, training=TRAINING, num_rounds=2)

    (event,) = played.of("fairness")
    assert event["round"] == 1
    assert event["tested"] == [3, 40, 0, 5]
    assert event["correct"] == [int(right.sum()) for right in rightness(played, tests)]


def test_a_run_that_stops_early_is_fair_or_not_all_the_same(three, play):
    still = LocalTraining(learning_rate=1e-30, epochs=1, batch_size=4)

    played = play(three, training=still, num_rounds=50, patience=2)

    (event,) = played.of("fairness")
    assert event["round"] == played.state.round - 1 < 49
