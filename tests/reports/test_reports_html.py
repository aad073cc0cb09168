import hashlib
import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path

import pytest

import terrafl.reports
from terrafl.errors import RunFolderError
from terrafl.reports import compare_runs, html_table, verdict, write_report


class Page(HTMLParser):
    """What a browser would see: tags, addresses and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        loads = ("src", "href", "srcset", "data", "action", "poster", "background")
        self.addresses += [value for name, value in attributes if name in loads]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def hostile(tmp_path, a_summary, write_run):
    attack = "<script>alert(1)</script>"
    summary = a_summary(
        attack,
        variant='"><img src=http://x.example/>',
        scenario=attack,
        model=attack,
        algorithm=attack,
        versions={attack: attack},
    )
    write_run(tmp_path / "hostile" / "<b>&x", summary)
    return tmp_path / "hostile"


def test_a_report_has_a_page_figures_and_tables(runs, tmp_path):
    page = write_report([runs], tmp_path / "new" / "out")

    assert page == tmp_path / "new" / "out" / "report.html"
    assert sorted(file.name for file in page.parent.iterdir()) == [
        *("cost-digits-1-fedavg.png", "cost-digits-1-fedavg.svg"),
        *("curves-digits-1-fedavg.png", "curves-digits-1-fedavg.svg"),
        *("report.html", "table.csv", "table.md", "table.tex"),
    ]


def test_the_page_shows_verdict_accuracies_costs_runs_and_versions(runs, tmp_path):
    page = Page(write_report([runs], tmp_path / "out").read_text())

    (group,) = compare_runs([runs]).groups
    words = page.text.replace("\N{NO-BREAK SPACE}", " ")
    for expected in (verdict(group), "80.00 ± 1.78", "112.3", "oort/seed-1", "terrafl 0.1.0"):
        assert expected in words


def test_the_best_is_bold_and_the_second_underlined(runs):
    text = html_table(compare_runs([runs]))

    assert "<strong>80.00 ± 1.78</strong>" in text
    assert "<u>71.11 ± 0.89</u>" in text


def test_the_page_loads_nothing(runs, tmp_path):
    text = write_report([runs], tmp_path / "out").read_text()
    page = Page(text)

    assert all(address.startswith("#") for address in page.addresses)
    assert not {"link", "iframe", "object", "embed", "img", "base", "form"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text


def test_only_the_page_s_own_code_may_run_and_nothing_may_be_fetched(runs, tmp_path):
    text = write_report([runs], tmp_path / "out").read_text()

    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = policy.replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    for tag in ("script", "style"):
        for content in re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL):
            digest = b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy


def test_hostile_names_stay_text(hostile, tmp_path):
    out = tmp_path / "out"
    page = Page(write_report([hostile], out).read_text())

    assert page.tags.count("script") == 3  # data, library, own
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert "http://x.example/" in page.text
    assert all(file.parent == out for file in out.rglob("*"))


def test_equal_runs_give_equal_bytes_anywhere_in_any_process(runs, tmp_path):
    here = write_report([runs], tmp_path / "here").parent
    moved = shutil.copytree(runs, tmp_path / "moved" / "elsewhere")
    there = tmp_path / "there"

    program = "import sys, pathlib, terrafl.reports as r; r.write_report(*eval(sys.argv[1]))"
    arguments = f"[pathlib.Path({str(moved)!r})], pathlib.Path({str(there)!r})"
    source = str(Path(terrafl.reports.__file__).parents[2])
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", program, arguments], env=environment, check=True)

    names = sorted(file.name for file in here.iterdir())
    assert names == sorted(file.name for file in there.iterdir())
    for name in names:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name


def test_every_problem_has_its_own_figure(tmp_path, a_summary, write_run):
    problems = [("a", "b"), ("a", "b 3"), ("A", "/b"), ("a/", "b"), ("../../etc", "")]
    for number, (scenario, algorithm) in enumerate(problems):
        run = a_summary(scenario=scenario, algorithm=algorithm)
        write_run(tmp_path / "runs" / str(number), run)

    out = write_report([tmp_path / "runs"], tmp_path / "out").parent

    assert sorted(file.stem for file in out.glob("curves-*.png")) == [
        *("curves-a-b", "curves-a-b-2", "curves-a-b-3", "curves-a-b-4"),
        "curves-etc",
    ]


def test_a_folder_that_cannot_be_written_is_named(runs, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(RunFolderError, match=r"file must be a folder that can be written to"):
        write_report([runs], tmp_path / "file")


def test_a_notebook_shows_the_table_alone(runs, hostile):
    plain, attacked = (Page(html_table(compare_runs([path]))) for path in (runs, hostile))

    assert plain.tags.count("table") == 1
    assert "80.00 ± 1.78" in plain.text
    assert "script" not in attacked.tags


def test_importing_the_room_does_not_import_what_draws():
    program = (
        "import sys, terrafl.reports; print({'matplotlib', 'jinja2', 'scipy'} & set(sys.modules))"
    )
    source = str(Path(terrafl.reports.__file__).parents[2])

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "set()"
