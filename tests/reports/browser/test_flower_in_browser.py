"""A run on Flower in the live page, while it trains and when it is finished."""

import json
import threading

import pytest
from flower_here import events, federation, flower_process, local_grid, model

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import MetricRecord
from flwr.serverapp.strategy import FedAvg

from terrafl import Terraform
from terrafl.flower import ClientSelection, wire

ROUNDS, HELD, CLIENTS = 4, 2, 12


@pytest.fixture
def held_run(tmp_path):
    """Start a run that waits in its third round; return its folder and what lets it continue."""
    resume = threading.Event()

    def wait(content, config):
        if config[wire.ROUND] >= HELD:
            assert resume.wait(120)

    def spoil(content, config):
        wait(content, config)
        content["metrics"]["train_loss"] = float("nan")

    nodes = federation(CLIENTS, spoil=wait)
    nodes[min(nodes)].app = federation(CLIENTS, spoil=spoil)[min(nodes)].app

    def evaluate(number, arrays):
        return MetricRecord({"accuracy": 0.5 + number / 10, "loss": 1.0})

    selection = ClientSelection(
        *(FedAvg(), Terraform(eta=2)),
        clients_per_round=CLIENTS,
        out=tmp_path / "flower",
    )
    with flower_process():
        run = threading.Thread(
            target=selection.start,
            args=(local_grid(nodes), model()),
            kwargs={"num_rounds": ROUNDS, "timeout": 120, "evaluate_fn": evaluate},
        )
        run.start()
        yield tmp_path / "flower", resume
        resume.set()
        run.join()


def test_a_run_on_flower_is_shown_while_it_trains(watching, open_page, held_run, tmp_path):
    folder, resume = held_run
    page = open_page(watching(tmp_path))

    page.wait_for_function(
        "n => [...terrafl.state.runs.values()].some(r => r.done === n)", arg=HELD
    )
    page.wait_for_selector("#watched .run.running")
    page.wait_for_selector(f".in-words:has-text('Round {HELD + 1}')")
    assert words(page) == f"Round {HELD + 1}: {CLIENTS} clients drawn. The round is in progress."
    assert page.locator(".tree .scale").count() == 0  # no norm is known yet

    page.get_by_role("slider", name="Round").press("Home")
    first, *later = [e for e in events(folder, "cohort") if e["round"] == 0]
    splits = [e for e in events(folder, "split") if e["round"] == 0]
    assert later
    bars = page.locator(".tree .client")
    drawn = [bars.nth(i).get_attribute("data-client") for i in range(len(first["clients"]))]
    ids = events(folder, "federation")[0]["ids"]
    assert sorted(ids[int(place)] for place in drawn) == first["clients"]
    assert page.locator(".tree .split").count() == len(splits) >= 1
    assert words(page).startswith(
        f"Round 1: {CLIENTS} clients drawn. Split after the {splits[0]['tau']}"
    )
    refused = events(folder, "refused")[0]
    row = page.locator("tr", has_text=refused["reason"])
    assert row.locator("td").nth(1).inner_text() == refused["client"]
    assert costs(page) == costs_of(events(folder, "evaluation")[-1])
    assert not (folder / "summary.json").exists()

    resume.set()
    page.wait_for_selector("#watched .run.finished")
    page.wait_for_selector("td:has-text('90.00')")

    assert costs(page) == costs_of(json.loads((folder / "summary.json").read_text()))
    page.get_by_role("slider", name="Round").press("End")
    assert "in progress" not in words(page)


def test_the_page_of_a_run_on_flower_offers_only_what_a_server_knows(
    watching, open_page, held_run, tmp_path
):
    _, resume = held_run
    resume.set()
    page = open_page(watching(tmp_path))
    page.wait_for_selector("#watched .run.finished")
    page.wait_for_selector(".heat")

    sorts = page.get_by_label("Sort clients by", exact=True).locator("option")
    assert sorts.all_inner_texts() == ["data size", "participation", "name"]
    for table in page.locator("table:visible").all():
        columns = table.locator("thead th").count()
        cells = table.locator("tbody tr").first.locator("th, td").all_inner_texts()
        assert len(cells) == columns
    fairness = page.locator("[data-part=fairness]").inner_text()
    assert "Gini of participation" in fairness
    assert "client accuracy" not in fairness
    assert "–" not in fairness
    assert page.get_by_text("Data set flower", exact=True).count() == 1


def words(page):
    return page.inner_text(".in-words")


def costs(page):
    """Return the rounds, client updates, samples and loss queries that the page shows."""
    cells = page.locator("[data-part=cost] tbody tr td").all_inner_texts()
    return [int(text.replace(",", "")) for text in cells[:4]]


def costs_of(plain):
    names = ("client_updates", "samples_trained", "loss_queries")
    rounds = plain["rounds"] if "rounds" in plain else plain["round"] + 1
    return [rounds, *(plain[name] for name in names)]
