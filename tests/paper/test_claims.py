"""The paper's claims, judged by made-up runs."""

import pytest

from terrafl.paper.table import PaperTable

paper_claims = pytest.importorskip(
    "paper_claims", reason="the benchmarks are not part of the sdist"
)

RANGES = ("Q1 to Q3", "0 to 1", "0 to Q3", "Q1 to 1", "Q3 to 1")


@pytest.fixture
def judged(a_block):
    """Judge tables of which all but the given ones are empty, and return one claim."""

    def judge(number, **blocks):
        empty = {
            "table1": {"Random": {}, "Terraform": {}},
            "table2": {"Random": {}, "Terraform": {}},
            "table3": {"eta = 2": {}, "eta = 3": {}, "eta = 4": {}},
            "updates": {"gradient": {}, "loss": {}},
            "quartiles": {label: {} for label in RANGES},
            "time": {label: {} for label in RANGES},
        }
        tables = {
            name: PaperTable(name, name, tuple(blocks.get(name, [a_block(percents)])))
            for name, percents in empty.items()
        }
        return paper_claims.judge_claims(tables)[number]

    return judge


def test_where_nothing_was_run_nothing_is_claimed(judged):
    assert [judged(number).holds for number in range(8)] == ["not run"] * 8


def test_the_papers_cells_are_counted_apart_from_ours(judged, a_block):
    printed = {"Random": 80.0, "Terraform": 90.0}
    claim = judged(
        0,
        table1=[
            a_block({"Random": {0: 1.0}, "Terraform": {0: 2.0}}, label="A", printed=printed),
            a_block({"Random": {0: 2.0}, "Terraform": {0: 1.0}}, label="B", printed=printed),
            a_block({"Random": {0: 2.0}, "Terraform": {}}, label="C", printed=printed),
            a_block({"Random": {0: 2.0}, "Terraform": {0: 2.0}}, label="D"),
        ],
    )

    assert claim.holds == "in 1 of the 2 cells that were run"
    assert claim.evidence.startswith("2 of its 3 cells were run; best in 1 after the last round")


def test_terraform_is_ranked_in_every_column_that_was_run(a_block):
    columns = (
        a_block({"Random": {0: 1.0}, "Terraform": {0: 2.0}}, label="A"),
        a_block({"Random": {0: 2.0}, "Terraform": {}}, label="B"),
        a_block({"Random": {0: 2.0}, "Terraform": {0: 2.0}}, label="C"),
        a_block({"Random": {0: 2.0, 1: 3.0}, "Terraform": {0: 1.0, 1: 2.0}}, label="D"),
    )

    assert paper_claims.terraform_ranks(PaperTable("table1", "T", columns)) == [
        ("A, FedAvg (one seed)", ["1 of 2"] * 4),
        ("C, FedAvg (one seed)", ["1 (shared) of 2"] * 4),
        ("D, FedAvg", ["2 of 2"] * 4),
    ]


@pytest.mark.parametrize(("terraform", "holds"), [(70.0, "yes"), (69.5, "to within 0.50 points")])
def test_equality_with_random_is_given_in_points(judged, a_block, terraform, holds):
    few = a_block({"Random": {0: 70.0}, "Terraform": {0: terraform}}, scenario="fmnist-2")
    many = a_block({"Random": {0: 70.0}, "Terraform": {0: 90.0}}, scenario="fmnist-4")

    claim = judged(1, table2=[few, many])

    assert claim.holds == holds
    assert claim.evidence == f"S, FedAvg (one seed): {terraform - 70:+.2f} points"


@pytest.mark.parametrize(
    ("gradient", "loss", "holds"),
    [
        ({0: 70.0}, {0: 60.0}, "yes, by one seed"),
        ({0: 70.0}, {0: 70.0}, "no, by one seed"),
        ({0: 70.0, 1: 71.0, 2: 70.5}, {0: 60.0, 1: 61.0, 2: 60.2}, "yes"),
        ({0: 60.0, 1: 61.0, 2: 60.2}, {0: 70.0, 1: 71.0, 2: 70.5}, "no"),
        ({0: 60.0, 1: 80.0, 2: 70.0}, {0: 75.0, 1: 65.0, 2: 60.0}, "not shown, within noise"),
        ({0: 60.0, 1: 70.0, 2: 60.0}, {0: 75.0, 1: 65.0, 2: 70.0}, "not shown, within noise"),
        ({0: 60.0}, {0: 75.0, 1: 65.0, 2: 70.0}, "not shown, too few common seeds"),
    ],
)
def test_the_best_is_the_best_beyond_noise(judged, a_block, gradient, loss, holds):
    claim = judged(2, updates=[a_block({"gradient": gradient, "loss": loss})])

    assert claim.holds == holds


def test_columns_that_were_not_run_are_named(judged, a_block):
    full = a_block({"gradient": {0: 2.0}, "loss": {0: 1.0}}, label="A")
    part = a_block({"gradient": {0: 2.0}, "loss": {}}, label="B")

    claim = judged(2, updates=[full, part])

    assert claim.evidence.endswith("not run, or only in part: B, FedAvg")
    assert "at equal client updates gradient 2.00, loss 1.00" in claim.evidence


def test_the_poorest_is_judged_from_the_other_end(judged, a_block):
    percents = {label: {0: float(i)} for i, label in enumerate(reversed(RANGES))}

    assert judged(4, quartiles=[a_block(percents)]).holds == "yes, by one seed"
    assert judged(3, quartiles=[a_block(percents)]).holds == "yes, by one seed"


@pytest.mark.parametrize(("whole", "holds"), [(9.0, "yes"), (5.0, "in part"), (2.0, "no")])
def test_times_are_judged_by_the_four_ranges_of_the_papers_figure(judged, a_block, whole, holds):
    took = {"Q1 to Q3": 3.0, "0 to 1": whole, "0 to Q3": 6.0, "Q1 to 1": 4.0, "Q3 to 1": 1.0}
    block = a_block({label: {0: 1.0} for label in took}, train_s=took)

    claim = judged(5, time=[block])

    assert claim.holds == f"{holds}, by one seed"
    assert "Q3 to 1" not in claim.evidence


@pytest.mark.parametrize(("four", "holds"), [(83.52, "yes"), (90.0, "yes"), (80.0, "no")])
def test_a_threshold_may_be_better_than_claimed(judged, a_block, four, holds):
    percents = {"eta = 2": {0: 83.61}, "eta = 3": {0: 83.15}, "eta = 4": {0: four}}
    writers = a_block(percents, scenario="unipen62")
    clothes = a_block(percents, scenario="fmnist-4", label="no handwriting")

    claim = judged(6, table3=[clothes, writers])

    assert claim.holds == f"{holds}, by one seed"
    assert "no handwriting" not in claim.evidence


def test_cost_is_the_ratio_of_client_updates(judged, a_block):
    percents = {"Random": {0: 1.0}, "Terraform": {0: 2.0}}

    claim = judged(7, table1=[a_block(percents, costs={"Terraform": 30})])

    assert claim.holds == "no"
    assert "1.50 to 1.50 times" in claim.evidence
