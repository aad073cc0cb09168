"""One run: its folder, its progress, and what is refused."""

import json
import tomllib
from dataclasses import asdict

import pytest

from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.experiments.run import execute, resume


def test_a_run_leaves_the_files_of_a_run(tiny, tmp_path):
    execute(tiny(), tmp_path / "run")

    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        ".lock",
        "checkpoints",
        "config.toml",
        "journal.jsonl",
        "model.safetensors",
        "summary.json",
        "timings.jsonl",
    }


def test_the_configuration_is_written_with_the_versions_it_ran_under(tiny, tmp_path):
    config = tiny(selector={"name": "terraform", "eta": 2})

    result = execute(config, tmp_path / "run")

    stored = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    versions = stored.pop("versions")
    assert stored.pop("labels") == asdict(config.labels)
    assert stored == config.to_plain()
    assert versions == result.summary.versions
    assert {"terrafl", "python", "numpy", "torch"} <= versions.keys()


def test_the_summary_says_what_was_run(tiny, tmp_path):
    config = tiny(selector={"name": "terraform", "eta": 2}, algorithm="fedprox", seed=4)

    summary = execute(config, tmp_path / "run").summary

    assert (summary.dataset, summary.model, summary.algorithm) == ("digits", "linear", "fedprox")
    assert (summary.selector, summary.variant, summary.seed) == ("terraform", "eta=2", 4)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["seed"] == 4


def test_progress_is_told_after_every_round(tiny, tmp_path):
    heard = []

    result = execute(
        tiny(rounds=3, eval_every=2), tmp_path / "run", on_round=lambda *told: heard.append(told)
    )

    first, last = (point.accuracy for point in result.curve)
    assert heard == [(1, 3, None), (2, 3, first), (3, 3, last)]


def test_a_folder_that_holds_a_finished_run_is_refused(tiny, tmp_path, written):
    execute(tiny(), tmp_path / "run")
    before = written(tmp_path / "run")

    with pytest.raises(RunFolderError, match="run already holds a finished run: choose another"):
        execute(tiny(seed=1), tmp_path / "run")

    assert written(tmp_path / "run") == before


def test_a_folder_that_holds_an_unfinished_run_is_refused(tiny, tmp_path):
    def stop(done, planned, accuracy):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        execute(tiny(), tmp_path / "run", on_round=stop)

    with pytest.raises(RunFolderError, match="run already holds a run: resume it with terrafl"):
        execute(tiny(), tmp_path / "run")


def test_a_finished_run_is_left_as_it_is(tiny, tmp_path):
    done = execute(tiny(), tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}

    again = resume(tmp_path / "run")

    assert again.summary == done.summary
    assert before == {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    }


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(RunFolderError, match="holds no run: start one with terrafl run --out"):
        resume(tmp_path)


def test_a_damaged_configuration_is_named(tiny, tmp_path):
    execute(tiny(), tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text("rounds = [")

    with pytest.raises(ConfigurationError, match=r"config\.toml must be a TOML file"):
        resume(tmp_path / "run")


def test_more_clients_per_round_than_clients_are_refused(tiny, tmp_path):
    config = tiny(clients_per_round=13)

    with pytest.raises(ConfigurationError, match="must be at most the 12 clients there are"):
        execute(config, tmp_path / "run")


def test_a_run_on_images_too_small_for_its_network_is_refused(tiny, tmp_path):
    config = tiny(model="fmnist-cnn")

    with pytest.raises(ConfigurationError, match="images of at least 16 x 16 pixels"):
        execute(config, tmp_path / "run")


@pytest.mark.parametrize(
    "mistake",
    [
        {"clients_per_round": 13},
        {"model": "fmnist-cnn"},
        {"selector": {"name": "hics", "max_population": 3}},
    ],
    ids=str,
)
def test_a_run_that_could_not_begin_leaves_its_folder_to_the_mended_command(
    tiny, tmp_path, written, mistake
):
    with pytest.raises(ConfigurationError):
        execute(tiny(**mistake), tmp_path / "run")

    execute(tiny(), tmp_path / "run")

    execute(tiny(), tmp_path / "other")
    assert written(tmp_path / "run") == written(tmp_path / "other")


def test_absurd_steps_do_not_end_a_run(tiny, tmp_path):
    for selector in ("random", "hbase", "poc", "hics", "oort", "terraform"):
        for rate in (1e4, 1e20, 1e38):
            config = tiny(selector=selector, training={"learning_rate": rate}, rounds=3)

            summary = execute(config, tmp_path / f"{selector}-{rate}").summary

            assert summary.rounds == 3


# A selector of somebody else's, in a module of its own.
OWN = '''
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from terrafl.selection import Cohort, Selector


@dataclass(slots=True, kw_only=True)
class First(Selector):
    """Take the first clients in the order of ids, always."""

    name: ClassVar[str] = "first"
    averaging: ClassVar[str] = "plain"

    share: float
    step: int = 1
    rounds_seen: int = 0

    def draw(self, context):
        count = round(self.share * len(context.population))
        return Cohort.of(context.population.ids[: count * self.step : self.step].tolist())


@dataclass
class NoSelector:
    eta: int = 4


class NoDataclass:
    pass


def no_class():
    pass
'''


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_selectors.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_selector_of_one_s_own_is_named_by_where_it_is(tiny, tmp_path, own_module):
    config = tiny(selector={"name": "own_selectors:First", "share": 0.25, "step": 2})

    result = execute(config, tmp_path / "run")

    journal = (tmp_path / "run" / "journal.jsonl").read_text().splitlines()
    assert json.loads(journal[1])["clients"] == ["00", "02", "04"]
    assert result.summary.selector == "first"
    assert "share=0.25" in result.summary.variant
    assert resume(tmp_path / "run").config == config


def test_a_selector_of_one_s_own_is_given_as_an_object_too(tiny, tmp_path, own_module):
    from own_selectors import First

    from terrafl.experiments.api import run

    by_object = run(selector=First(share=0.25), rounds=1, out=tmp_path / "object", workers=1)

    plain = by_object.config.to_plain()["selector"]
    assert plain["name"] == "own_selectors:First"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_selectors:Nothing", "own_selectors:Nothing', and module 'own_selectors' has no"),
        ("no_such_module:First", "and No module named 'no_such_module'."),
        (":First", "must be a known name or an importable module:Class"),
        (".own:First", "must be a known name or an importable module:Class"),
        ("own_selectors:no_class", "selector.name must name a dataclass"),
        ("own_selectors:NoDataclass", "selector.name must name a dataclass"),
        ("own_selectors:NoSelector", "configuration.selector: input should be an instance of"),
        ("own_selectors:First", "selector.share: field required"),
    ],
)
def test_a_class_that_cannot_select_is_refused(tiny, own_module, name, message):
    with pytest.raises(ConfigurationError) as caught:
        tiny(selector={"name": name})

    assert message in str(caught.value)
