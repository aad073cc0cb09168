"""What the page is made of: known files, known licence, nothing from elsewhere."""

import hashlib
import re
from importlib.resources import files

import pytest

from terrafl.reports.html import SCRIPTS, load_assets

PAGE = files("terrafl.reports") / "page"


def test_the_charting_library_is_the_one_that_was_vendored():
    vendor = PAGE / "vendor"
    listed = re.findall(r"^  ([0-9a-f]{64})  (\S+)$", (vendor / "VENDORED.txt").read_text(), re.M)

    assert len(listed) == 3
    for digest, name in listed:
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest
    assert "MIT License" in (vendor / "uPlot-LICENSE.txt").read_text()


def test_every_script_is_in_the_page_once():
    assert sorted(SCRIPTS) == sorted(file.name for file in PAGE.iterdir() if file.suffix == ".js")


@pytest.mark.parametrize("name", SCRIPTS)
def test_our_scripts_never_parse_text_as_code_or_markup(name):
    text = (PAGE / name).read_text()

    assert not re.search(
        r"\beval\(|new Function|innerHTML\s*=[^=]|insertAdjacentHTML|document\.write", text
    )
    assert len(text.splitlines()) <= 330


def test_a_script_cannot_end_its_element_early():
    assets = load_assets()

    assert "</script" not in assets.library + assets.script
    assert "</style" not in assets.style


def test_only_a_live_page_may_hear_its_server():
    assets = load_assets()

    assert "connect-src 'self'" in assets.policy(live=True)
    assert "connect-src" not in assets.policy(live=False)
