"""What a selector gets wrong is said in one sentence, when the run starts or at once."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from terrafl.defences.robust import AGGREGATIONS
from terrafl.errors import ConfigurationError
from terrafl.federation.protocol import QUESTIONS
from terrafl.selection import Cohort, Selector


@dataclass
class Scripted(Selector):
    """Return what the test says."""

    name: ClassVar[str] = "scripted"

    first: object = None
    later: object = field(default_factory=Cohort)
    kept: object = None
    asked: str = ""

    def draw(self, context):
        if self.asked:
            context.ask(["a"], self.asked)
        return Cohort.of("abc") if self.first is None else self.first

    def keep(self, reports, context):
        return self.kept

    def refine(self, reports, context):
        return self.later


@dataclass
class Needy(Scripted):
    needs: ClassVar = frozenset({"los"})


@dataclass
class Letters(Scripted):
    needs: ClassVar = "loss"


@dataclass
class ByMood(Scripted):
    averaging: ClassVar = "mood"


@dataclass
class Old(Scripted):
    def refine(self, reports):
        return Cohort()


@dataclass
class OldKeep(Scripted):
    def keep(self, reports):
        return Cohort()


@dataclass
class Anchored(Scripted):
    keeps_updates: ClassVar = True


@pytest.fixture
def three(federation, examples):
    return federation([examples(n, seed=n) for n in (5, 9, 12)])


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (Needy(), r"needs must name measurements out of update_norm, .*; got 'los': use one"),
        (Letters(), r"needs of Letters must be a set of names; got 'loss'"),
        (ByMood(), "averaging of ByMood must be one of size, plain; got 'mood'"),
        (
            Old(),
            r"refine of Old must take \(reports, context\); got refine\(reports\): add the "
            "parameter context",
        ),
        (OldKeep(), r"keep of OldKeep must take \(reports, context\); got keep\(reports\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_run_with_an_invalid_selector_does_not_start(three, play, tmp_path, selector, message):
    with pytest.raises(ConfigurationError, match=message):
        play(three, selector=selector)

    assert all(not path.stat().st_size for path in tmp_path.rglob("journal.jsonl"))


@pytest.mark.parametrize(
    ("cohort", "message"),
    [
        (["a"], r"Scripted.draw must return a Cohort; got \['a'\]: use Cohort.of"),
        (("a",), r"Scripted.draw must return a Cohort; got \('a',\)"),
        (Cohort(("a", "a"), (1, 1)), r"string order.*returned \('a', 'a'\)"),
        (Cohort(("b", "a"), (1, 1)), r"distinct clients in string order"),
        (Cohort(("a", "b"), (1,)), r"each with a draw; Scripted.draw returned \('a', 'b'\)"),
        (Cohort(("a",), (0,)), r"each with a draw"),
        (Cohort.of("ax"), r"Scripted.draw is invalid: client ids must be members of the .*'x'"),
        (Cohort(("a",), (1,), {}, (1.0, 2.0)), "one finite number of at least 0 per client"),
        (Cohort.weighted({"a": float("nan")}), "one finite number of at least 0 per client"),
        (Cohort.weighted({"a": -1}), r"returned \(-1.0,\)"),
        (Cohort.of("a", {"event": "evaluation"}), "terrafl's own; Scripted.draw returned 'evalua"),
        (Cohort.of("a", {"event": "cohort"}), "must not be one of terrafl's own"),
        (Cohort.of("a", {"event": "not aggregated"}), "must not be one of terrafl's own"),
    ],
)
def test_an_invalid_cohort_is_refused_at_once(three, play, cohort, message):
    with pytest.raises(ConfigurationError, match=message):
        play(three, selector=Scripted(first=cohort))


def test_a_later_or_kept_cohort_is_checked_too(three, play):
    with pytest.raises(ConfigurationError, match=r"Scripted.refine must return a Cohort; got None"):
        play(three, selector=Scripted(later=None))
    with pytest.raises(ConfigurationError, match=r"Scripted.keep must return a Cohort; got True"):
        play(three, selector=Scripted(kept=True))
    with pytest.raises(ConfigurationError, match=r"must keep clients that reported; got 'c'"):
        play(three, selector=Scripted(first=Cohort.of("ab"), kept=Cohort.of("bc")))


@pytest.mark.parametrize(("plan", "most"), [({}, 50), ({"max_iterations_per_round": 3}, 3)])
def test_a_round_that_does_not_end_is_stopped(three, play, plan, most):
    endless = Scripted(later=Cohort.of("a"))

    with pytest.raises(ConfigurationError, match=f"at most {most} iterations; Scripted.refine ask"):
        play(three, selector=endless, **plan)


def test_the_limit_of_iterations_is_a_setting_that_changes_no_result(tiny):
    from terrafl.experiments.assemble import plan_of

    usual, longer = tiny(), tiny(max_iterations_per_round=70)

    assert plan_of(usual).max_iterations_per_round == 50
    assert plan_of(longer).max_iterations_per_round == 70
    assert usual.experiment == longer.experiment
    assert "max_iterations_per_round" not in usual.to_plain()
    with pytest.raises(ConfigurationError, match="max_iterations_per_round must be an integer"):
        tiny(max_iterations_per_round=0)


def test_weights_are_refused_where_something_else_decides_the_mean(three, play):
    given = Cohort.weighted({"a": 1.0, "b": 1.0, "c": 1.0})

    with pytest.raises(ConfigurationError, match="gave weights, and there is the robust rule medi"):
        play(
            three,
            selector=Scripted(first=given),
            defences={"aggregation": AGGREGATIONS["median"]()},
        )
    with pytest.raises(ConfigurationError, match="a selector that keeps the round's updates"):
        play(three, selector=Anchored(first=given))
    with pytest.raises(ConfigurationError, match="the robust rule median"):
        play(
            three, selector=Scripted(kept=given), defences={"aggregation": AGGREGATIONS["median"]()}
        )


def test_an_unknown_question_is_refused_with_the_known_ones(three, play):
    assert list(QUESTIONS) == ["loss"]
    with pytest.raises(ConfigurationError, match="what must be one of loss; got 'labels'"):
        play(three, selector=Scripted(asked="labels"))
