"""The messages to a live page: complete, sent once, and as a report would have it."""

import json
import shutil

import pytest
import tomli_w

from terrafl.errors import RunFolderError
from terrafl.reports.bundle import step_columns
from terrafl.reports.live import feed as feeding
from terrafl.reports.live.feed import Feed, Overview
from terrafl.reports.live.watched import Watched
from terrafl.reports.trace import read_trace
from terrafl.runs import RunFolder, Summary

LABELS = ("dataset", "scenario", "profile", "model", "selector", "variant", "algorithm", "seed")
LABELS += ("experiment",)
DAMAGE = {
    "seed": ("config.toml", "\nseed = 0\nprofile", '\nseed = "abc"\nprofile', "seed must be"),
    "selector": (
        "config.toml",
        'selector = "terraform"',
        "selector = 3",
        "selector must be a text",
    ),
    "no TOML": ("config.toml", "\n[labels]", '\n[labels]\nx = "', "must be a TOML file"),
    "deep": ("config.toml", "rounds = 6", "rounds = " + "[" * 5000, "must be a TOML file"),
    "versions": ("config.toml", "[versions]", "[[versions]]", "versions must be an object"),
    "round": ("journal.jsonl", '"round":2', f'"round":{10**18}', "is damaged: round must be"),
    "nan": ("journal.jsonl", '"accuracy":0', '"accuracy":NaN,"x":0', "it holds NaN"),
    "deep journal": ("journal.jsonl", '"clients":["', '"clients":[' + "[" * 5000, "is damaged: "),
    "seconds": ("timings.jsonl", '"seconds":', '"seconds":-1e999,"x":', "seconds must be a finite"),
    "summary": ("summary.json", '"seed": 0', '"seed": "abc"', "seed must be an integer"),
    "summary nan": ("summary.json", '"best": 0.', '"best": NaN, "x": 0.', "it holds NaN"),
    "summary versions": (
        "summary.json",
        '"versions": {',
        '"versions": 3, "x": {',
        "versions must be",
    ),
}
FLAT = ("client", "value")  # columns with one entry per client, not per iteration


class Page:
    """A page that believes what it is told, as model.js does."""

    def __init__(self):
        self.runs, self.sections, self.messages = {}, None, 0

    def hear(self, messages):
        for message in messages:
            self.messages += 1
            kind, data = message.removeprefix("event: ").removesuffix("\n\n").split("\ndata: ")
            news = json.loads(data)
            if kind == "run":
                self._merge(news)
            elif kind == "gone":
                del self.runs[news]
            elif kind == "sections":
                self.sections = news
        return self

    def _merge(self, news):
        run = self.runs.setdefault(news["id"], {"steps": {}, "curve": {}})
        entries = sum(run["steps"].get("size", [])[: news["steps_from"]])
        for name, more in news.pop("steps").items():
            start = entries if name in FLAT else news["steps_from"]
            run["steps"][name] = run["steps"].get(name, [])[:start] + more
        for name, more in news.pop("curve").items():
            run["curve"][name] = run["curve"].get(name, [])[: news["curve_from"]] + more
        run |= news


@pytest.fixture
def grow(tmp_path, real_runs):
    """Write a run bit by bit, as a run would: so many lines of its journal."""

    def grown(name, lines=None):
        source, target = real_runs / name, tmp_path / "live" / name
        target.mkdir(parents=True, exist_ok=True)
        config = (source / "config.toml").read_text()
        if "[labels]" not in config:  # as the writers of runs give it
            summary = RunFolder(source).read_summary()
            labels = {name: getattr(summary, name) for name in LABELS}
            config += tomli_w.dumps({"labels": labels})
        (target / "config.toml").write_text(config)
        for file in ("journal.jsonl", "timings.jsonl"):
            text = (source / file).read_text().splitlines(keepends=True)
            (target / file).write_text("".join(text[:lines]))
        if lines is None:
            shutil.copy(source / "summary.json", target)
        return target

    (tmp_path / "live").mkdir()
    return grown


@pytest.fixture
def overview(tmp_path, grow):
    return Overview(Watched([tmp_path / "live"]))


def settled(overview, page, feed):
    overview.look()
    return page.hear(feed.news())


@pytest.mark.parametrize("most", [1, 2, 2000])
def test_increments_add_up_to_the_whole(overview, grow, real_runs, monkeypatch, most):
    monkeypatch.setattr(feeding, "MOST_STEPS", most + 1)
    page, feed = Page(), Feed(overview)

    for lines in (0, 1, 2, 3, 7, 8, 20, None):
        grow("terraform-s0", lines)
        settled(overview, page, feed)

    trace = read_trace(RunFolder(real_runs / "terraform-s0"))
    (run,) = page.runs.values()
    assert run["steps"] == step_columns(trace.steps)
    curve = RunFolder(real_runs / "terraform-s0").read_summary().curve
    assert run["curve"]["accuracy"] == [round(100 * point.accuracy, 3) for point in curve]
    assert run["federation"]["ids"] == trace.federation.ids
    assert (run["status"], run["done"], run["planned"]) == ("finished", 6, 6)


def test_nothing_new_is_nothing_said(overview, grow):
    grow("random-s0", 9)
    page, feed = Page(), Feed(overview)
    settled(overview, page, feed)
    said = page.messages

    settled(overview, page, feed)

    assert page.messages == said


def test_news_are_small_however_long_the_run(overview, grow):
    grow("terraform-s0", 12)
    page, feed = Page(), Feed(overview)
    settled(overview, page, feed)
    grow("terraform-s0", 15)

    overview.look()
    news = [json.loads(m.split("\ndata: ")[1]) for m in feed.news() if m.startswith("event: run")]

    assert sum(len(run["steps"]["round"]) for run in news) <= 3
    assert all("federation" not in run for run in news)


def test_a_run_that_was_cut_back_by_a_resume_is_told_again(overview, grow, real_runs):
    page, feed = Page(), Feed(overview)
    for lines in (20, 6, None):
        grow("terraform-s0", lines)
        settled(overview, page, feed)

    (run,) = page.runs.values()
    trace = read_trace(RunFolder(real_runs / "terraform-s0"))
    assert run["steps"] == step_columns(trace.steps)


def test_runs_that_start_later_join_and_runs_that_are_deleted_leave(overview, grow):
    page, feed = Page(), Feed(overview)
    settled(overview, page, feed)
    assert page.runs == {}

    first = grow("random-s0")
    settled(overview, page, feed)
    grow("terraform-s0", 9)
    settled(overview, page, feed)
    assert [run["name"] for run in page.runs.values()] == ["random-s0", "terraform-s0"]

    shutil.rmtree(first)
    settled(overview, page, feed)
    assert [run["name"] for run in page.runs.values()] == ["terraform-s0"]


def test_the_table_compares_runs_as_far_as_they_have_come(overview, grow):
    page, feed = Page(), Feed(overview)
    grow("random-s0")
    grow("terraform-s0", 9)
    settled(overview, page, feed)

    (group,) = page.sections["groups"]
    assert [method["name"] for method in group["methods"]] == ["Random", "Terraform"]
    assert sorted(page.sections["places"]) == [[0, group["slug"], 0], [1, group["slug"], 1]]
    assert "Terraform" in page.sections["html"]


def test_two_runs_of_one_method_and_seed_are_told_apart(overview, grow, tmp_path):
    grow("random-s0")
    shutil.copytree(tmp_path / "live" / "random-s0", tmp_path / "live" / "again")
    shutil.rmtree(tmp_path / "live" / "again" / "checkpoints", ignore_errors=True)
    (tmp_path / "live" / "again" / "summary.json").unlink()
    page = settled(overview, Page(), Feed(overview))

    (group,) = page.sections["groups"]
    assert len(group["methods"]) == 2


def test_what_a_run_is_is_known_before_it_has_a_result(grow):
    for name in ("random-s1", "terraform-s0"):
        folder = RunFolder(grow(name))

        initial, summary = Summary.initial(folder.config), folder.read_summary()

        for field in (*LABELS, "versions"):
            assert getattr(initial, field) == getattr(summary, field)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_folder_is_listed_and_the_others_are_shown(overview, grow, damage):
    grow("random-s0")
    bad = grow("terraform-s0")
    file, old, new, reason = DAMAGE[damage]
    text = (bad / file).read_text()
    assert old in text
    (bad / file).write_text(text.replace(old, new, 1))

    page = settled(overview, Page(), Feed(overview))

    ((name, said),) = page.sections["unreadable"]
    assert name == "terraform-s0"
    assert reason in said
    assert str(bad) not in said
    (group,) = page.sections["groups"]
    assert group["methods"][0]["name"] == "Random"


def test_a_folder_that_is_repaired_is_no_longer_listed(overview, grow):
    bad = grow("terraform-s0", 9)
    good = (bad / "config.toml").read_text()
    (bad / "config.toml").write_text("?")
    page, feed = Page(), Feed(overview)
    settled(overview, page, feed)
    assert [name for name, _ in page.sections["unreadable"]] == ["terraform-s0"]

    (bad / "config.toml").write_text(good)
    settled(overview, page, feed)

    assert page.sections["unreadable"] == []
    assert len(page.runs) == 1


def test_names_that_collide_on_purpose_do_not_hide_runs(overview, grow, tmp_path):
    # Two equal runs are named "p, b" and "p, c"; a third has that name from the start.
    for folder, variant, accuracy in (("b", "p", 0.1), ("c", "p", 0.2), ("d", "p, b", 0.3)):
        copy = tmp_path / "live" / folder
        grow("random-s0").rename(copy)
        (copy / "summary.json").unlink()
        config = (copy / "config.toml").read_text()
        named = config.replace('\nvariant = ""', f'\nvariant = "{variant}"')
        (copy / "config.toml").write_text(named)
        evaluation = {"event": "evaluation", "round": 9, "accuracy": accuracy}
        with (copy / "journal.jsonl").open("a") as file:
            file.write(json.dumps(evaluation) + "\n")

    page = settled(overview, Page(), Feed(overview))

    (group,) = page.sections["groups"]
    assert len(group["methods"]) == 3


def test_a_config_of_something_else_is_listed_as_such(overview, tmp_path):
    (tmp_path / "live" / "other").mkdir()
    (tmp_path / "live" / "other" / "config.toml").write_text('name = "something"\n')

    page = settled(overview, Page(), Feed(overview))

    assert page.runs == {}
    ((name, reason),) = page.sections["unreadable"]
    assert name == "other"
    assert reason.startswith("config.toml must be the configuration of a terrafl run")


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(RunFolderError, match="it does not exist: check the path"):
        Watched([tmp_path / "nowhere"])
