"""The report in a real browser: its charts, and what a pointer and a keyboard do to them."""

import json

import pytest

from terrafl.reports.curves import average_curves
from terrafl.reports.html import render_page
from terrafl.reports.trace import read_trace
from terrafl.runs import RunFolder


@pytest.fixture
def page(open_page, real_report):
    page = open_page(real_report.as_uri())
    page.wait_for_selector(".heat")
    return page


def tip(page):
    """Return the words of the tooltip, once there are some."""
    page.wait_for_selector("#tip:not([hidden])")
    return page.inner_text("#tip")


def splits_of(real_runs, name, number):
    trace = read_trace(RunFolder(real_runs / name))
    return trace, [step for step in trace.steps if step.round == number]


def bars(page):
    """Return the clients of the tree's bars, in the order they stand."""
    found = page.locator(".tree .client").all()
    return [int(bar.get_attribute("data-client")) for bar in found]


INKED = """canvas => {
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}"""


@pytest.mark.parametrize("name", ["Per round", "Per client update", "Per second"])
def test_every_curve_is_drawn(page, name):
    page.get_by_role("button", name=name).click()

    canvas = page.locator("[data-chart=curves] canvas")
    assert canvas.evaluate(INKED) > 20  # lines, bands and letters in many shades
    assert name.lower() in page.locator("[data-chart=curves] .plot").get_attribute("aria-label")


def test_every_method_has_a_histogram(page):
    canvases = page.locator("[data-chart=fairness] canvas").all()

    assert len(canvases) == 2
    assert all(canvas.evaluate(INKED) > 5 for canvas in canvases)


def test_the_pointer_reads_mean_and_scatter_over_seeds(page, real_runs):
    plot = page.locator("[data-chart=curves] .u-over")

    plot.hover(position={"x": plot.bounding_box()["width"] - 2, "y": 60})

    words = tip(page)
    assert "Round 6" in words
    for selector, name in (("random", "Random"), ("terraform", "Terraform")):
        summaries = [RunFolder(real_runs / f"{selector}-s{s}").read_summary() for s in (0, 1)]
        band = average_curves([[(p.round, 100 * p.accuracy) for p in s.curve] for s in summaries])
        assert f"{name}\n{band.mean[-1]:.2f} ± {band.sd[-1]:.2f}" in words


def test_arrow_keys_move_the_reading_line(page):
    page.locator("[data-chart=curves] .plot").focus()

    page.keyboard.press("ArrowRight")
    first = tip(page)
    page.keyboard.press("ArrowRight")

    assert "Round 1" in first
    assert "Round 2" in tip(page)


def test_a_method_can_be_hidden_and_shown(page):
    button = page.locator(".legend").get_by_role("button", name="Random")

    button.click()

    assert button.get_attribute("aria-pressed") == "false"
    plot = page.locator("[data-chart=curves] .u-over")
    plot.hover(position={"x": 200, "y": 60})
    assert "Random" not in tip(page)


@pytest.mark.parametrize("axis", ["round", "client_updates"])
def test_bands_are_those_of_the_figures(page, real_runs, axis):
    summaries = [RunFolder(real_runs / f"terraform-s{seed}").read_summary() for seed in (0, 1)]
    curves = [
        {"x": [getattr(p, axis) for p in s.curve], "y": [100 * p.accuracy for p in s.curve]}
        for s in summaries
    ]

    drawn = page.evaluate("curves => terrafl.bands.average(curves)", curves)

    band = average_curves([list(zip(c["x"], c["y"], strict=True)) for c in curves])
    assert drawn["x"] == pytest.approx(band.x.tolist())
    assert drawn["mean"] == pytest.approx(band.mean.tolist())
    assert drawn["sd"] == pytest.approx(band.sd.tolist())


def test_the_slider_shows_the_selection_of_any_round(page, real_runs):
    slider = page.get_by_role("slider", name="Round")

    for number, key in ((0, "Home"), (1, "ArrowRight"), (5, "End")):
        slider.press(key)

        _, steps = splits_of(real_runs, "terraform-s0", number)
        assert bars(page) == [client for step in steps for client in step.clients]
        hard = sum(len(step.clients) - step.split.tau for step in steps)
        assert page.locator(".tree .client.hard").count() == hard
        assert page.locator(".tree .split").count() == len(steps)
        assert page.locator(".tree .quartile").count() == 2 * len(steps)
        flowing = sum(len(step.clients) for step in steps[1:])
        assert page.locator(".tree .ribbon").count() == flowing
        assert page.inner_text(".in-words").startswith(
            f"Round {number + 1}: 10 clients drawn. Split after the {steps[0].split.tau}"
        )


def test_a_client_tells_about_itself_wherever_it_stands(page, real_runs):
    page.get_by_role("slider", name="Round").press("Home")
    trace, steps = splits_of(real_runs, "terraform-s0", 0)
    client = steps[0].clients[-1]

    page.locator(f'.tree .client[data-client="{client}"]').first.hover()

    words = tip(page)
    assert f"Client {trace.federation.ids[client]}" in words
    assert f"examples\n{trace.federation.sizes[client]}" in words
    assert f"main label\n{trace.federation.labels[client]}" in words
    again = sum(client in step.clients for step in steps)
    assert page.locator(".tree .client.chosen").count() == again
    assert page.locator(".heat .stripe").get_attribute("visibility") == "visible"


def test_the_tree_is_walked_with_arrow_keys(page, real_runs):
    page.get_by_role("slider", name="Round").press("Home")
    trace, steps = splits_of(real_runs, "terraform-s0", 0)
    page.locator(".tree").focus()

    for _ in range(3):
        page.keyboard.press("ArrowRight")

    assert f"Client {trace.federation.ids[steps[0].clients[2]]}" in tip(page)


def test_another_method_and_seed_can_be_looked_into(page, real_runs):
    page.get_by_label("Method", exact=True).select_option("Random")
    page.get_by_label("Seed", exact=True).select_option("1")
    page.get_by_role("slider", name="Round").press("Home")

    _, (step,) = splits_of(real_runs, "random-s1", 0)
    by_norm = sorted(zip(step.values, step.clients, strict=True))
    assert bars(page) == [client for _, client in by_norm]
    assert "does not split" in page.inner_text(".in-words")


def cells(page):
    """Count the cells of the heat map: every one is a closed piece of some path."""
    paths = page.locator('.heat path[class^="heat-"]').all()
    return sum(path.get_attribute("d").count("z") for path in paths)


@pytest.mark.parametrize("shown", ["Participation", "Update norm"])
def test_the_heat_map_has_a_cell_for_every_client_and_round(page, real_runs, shown):
    page.get_by_role("button", name=shown).click()

    trace = read_trace(RunFolder(real_runs / "terraform-s0"))
    pairs = {(client, step.round) for step in trace.steps for client in step.clients}
    assert cells(page) == len(pairs)


@pytest.mark.parametrize("key", ["size", "skew", "label", "participation"])
def test_clients_are_sorted_as_asked(page, real_runs, key):
    trace = read_trace(RunFolder(real_runs / "terraform-s0"))
    federation = trace.federation

    page.get_by_label("Sort clients by").select_option(key)
    order = page.evaluate(
        """key => terrafl.cells.order(
            [...terrafl.state.runs.values()].find(run => run.name === "terraform-s0"), key)""",
        key,
    )

    column = {
        "size": [-n for n in federation.sizes],
        "skew": [-d for d in federation.distances],
        "label": federation.labels,
        "participation": [-n for n in trace.participation()],
    }[key]
    assert sorted(order) == list(range(20))
    assert [column[client] for client in order] == sorted(column)


def test_a_click_in_the_heat_map_chooses_the_round(page):
    heat, field = (page.locator(name).bounding_box() for name in (".heat", ".heat .field"))
    third = field["x"] - heat["x"] + field["width"] * 2.5 / 6

    page.locator(".heat").click(position={"x": third, "y": 20})

    assert page.inner_text(".round-number") == "round 3 of 6"
    assert "round 3" in tip(page)


def test_the_costs_fairness_settings_and_versions_are_there(page, real_runs):
    page.get_by_text("Resolved configuration").click()

    words = page.inner_text("main")
    summary = RunFolder(real_runs / "random-s0").read_summary()
    for expected in (
        *("Gini of participation", "Worst-decile client accuracy", "Rejected and guarded reports"),
        *(
            "No client report was rejected.",
            "selector.eta = 4",
            f"torch {summary.versions['torch']}",
        ),
    ):
        assert expected in words


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_colours_follow_the_system_until_the_reader_chooses(open_page, real_report):
    dark = open_page(real_report.as_uri(), color_scheme="dark")
    dark.wait_for_selector(".heat")
    button = dark.locator("#theme")
    seen = {background(dark)}

    button.click()
    light = background(dark)
    assert button.get_attribute("aria-label") == "Colours: light"
    button.click()

    assert light not in seen
    assert background(dark) in seen
    dark.reload()
    assert dark.locator("#theme").get_attribute("aria-label") == "Colours: dark"


def test_a_phone_scrolls_down_only(open_page, real_report):
    page = open_page(
        real_report.as_uri(), viewport={"width": 375, "height": 700}, device_scale_factor=2
    )
    page.wait_for_selector(".heat")

    assert page.evaluate("document.scrollingElement.scrollWidth") <= 375
    assert page.locator(".tree").bounding_box()["width"] <= 375


def test_everything_that_can_be_operated_has_a_name(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, svg[tabindex], [role=img]")]
            .filter(e => !(e.getAttribute("aria-label") || e.textContent.trim()))
            .map(e => e.outerHTML.slice(0, 80))"""
    )

    assert unnamed == []


def test_nothing_gets_out_even_if_something_tries(chromium, real_report):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(real_report.as_uri())
    failed, arrived = [], []
    page.on("requestfailed", lambda request: failed.append(request.failure))
    page.on("response", lambda response: arrived.append(response.url))

    blocked = page.evaluate(
        """async () => {
            const image = new Image();
            const refused = new Promise((resolve) => { image.onerror = () => resolve("blocked"); });
            image.src = "https://example.org/leak.png";
            const fetched = fetch("https://example.org/").then(() => "sent", () => "blocked");
            return [await refused, await fetched];
        }"""
    )

    context.close()
    assert blocked == ["blocked", "blocked"]
    assert arrived == []
    assert all("csp" in failure for failure in failed)


def test_hostile_names_run_nothing(open_page, tmp_path, a_summary, write_run, make_page):
    attack = "</script><script>window.hurt = 1</script><img src=x onerror=window.hurt=1>"
    cohort = {"event": "cohort", "round": 0, "iteration": 0, "clients": [attack, "b"]}
    refused = {"event": "refused", "round": 0, "iteration": 0, "client": attack, "reason": attack}
    folder = tmp_path / "runs" / "r"
    write_run(folder, a_summary(attack, variant=attack, scenario=attack), [cohort, refused])

    page = open_page(make_page(tmp_path / "runs").as_uri())
    page.wait_for_selector(".tree")
    page.locator(".tree .client").first.hover()

    assert page.evaluate("window.hurt") is None
    assert attack in page.inner_text("main")


@pytest.fixture
def make_page(tmp_path):
    """Write the page of some runs without figures."""
    from terrafl.reports import compare_runs
    from terrafl.reports.bundle import packed
    from terrafl.reports.sections import make_sections

    def made(runs):
        sections = make_sections(compare_runs([runs]))
        page = tmp_path / "page.html"
        page.write_text(render_page(sections, data=packed(sections)))
        return page

    return made


def test_runs_known_by_their_summaries_alone_still_have_curves(open_page, runs, make_page):
    page = open_page(make_page(runs).as_uri())
    page.wait_for_selector("[data-chart=curves] canvas")

    assert page.locator("[data-chart=curves] canvas").evaluate(INKED) > 20
    lengths = page.evaluate("[...terrafl.state.runs.values()].map(run => run.curve.round.length)")
    assert lengths == [8] * 9
    assert page.locator("[data-chart=tree]").count() == 0
    assert json.loads(page.evaluate("JSON.stringify(terrafl.state.groups[0].methods.length)")) == 3
