"""Settings objects as plain data, and back."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

import pytest

from terrafl.errors import ConfigurationError, require, suggest
from terrafl.settings import build, named, to_plain, to_plain_named


@dataclass(frozen=True, kw_only=True)
class Inner:
    depth: int = 1

    def __post_init__(self):
        require(self.depth >= 1, "depth", self.depth, "at least 1")


@dataclass(kw_only=True)
class Part:
    name: ClassVar[str] = "part"

    size: int
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    limit: int | None = None
    layers: tuple[int, ...] = (1, 2)
    inner: Inner = field(default_factory=Inner)
    maybe: Inner | None = None
    learnt: list[int] = field(default_factory=list, init=False)


@dataclass
class Other:
    name: ClassVar[str] = "other"


CATALOGUE = {"part": Part, "other": Other}


def test_settings_are_the_constructor_s_arguments_without_what_is_left_out():
    part = Part(size=3)
    part.learnt.append(5)

    assert to_plain(part) == {
        "size": 3,
        "share": 0.5,
        "kind": "a",
        "layers": [1, 2],
        "inner": {"depth": 1},
    }


def test_a_fraction_is_written_as_one():
    @dataclass
    class Range:
        ends: tuple[Fraction, str]

    assert to_plain(Range((Fraction(1, 3), "Q3"))) == {"ends": ["1/3", "Q3"]}


def test_an_object_of_the_package_is_named_by_its_name():
    from terrafl.selection import Terraform

    assert to_plain_named(Terraform())["name"] == "terraform"


def test_an_object_of_anybody_else_s_is_named_by_where_it_is():
    assert to_plain_named(Other())["name"] == f"{__name__}:Other"


def test_an_object_is_built_from_its_name_and_settings():
    part = named(CATALOGUE, {"name": "part", "size": 3, "inner": {"depth": 2}}, "where")

    assert part == Part(size=3, inner=Inner(depth=2))


def test_an_object_without_settings_is_built_from_its_name():
    assert named(CATALOGUE, {"name": "other"}, "where") == Other()


def test_settings_come_back():
    part = Part(size=9, share=0.1, kind="b", limit=4, layers=(7,), inner=Inner(depth=3))

    assert build(Part, to_plain(part), "where") == part


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": 3}, "here has no key 'sizes': did you mean 'size'? Known keys: size, share,"),
        ({"learnt": [3]}, "here has no key 'learnt'"),
        ({}, "here.size: field required; got {}."),
        ({"size": "x"}, "here.size: input should be a valid integer"),
        ({"size": 1, "kind": "c"}, "here.kind: input should be 'a' or 'b'; got 'c'."),
        ({"size": 1, "limit": "x"}, "here.limit: input should be a valid integer"),
        ({"size": 1, "layers": [1, "x"]}, "here.layers.1: input should be a valid integer"),
        ({"size": 1, "inner": {"depth": 0}}, "here.inner.depth must be at least 1; got 0."),
        ({"size": 1, "maybe": {"depth": 0}}, "here.maybe.depth must be at least 1; got 0."),
    ],
    ids=str,
)
def test_a_mistake_in_the_settings_is_named(settings, message):
    with pytest.raises(ConfigurationError) as caught:
        named(CATALOGUE, {"name": "part", **settings}, "here")

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prat", "here.name must be one of part, other; got 'prat': did you mean 'part'?"),
        (None, "here.name must be one of part, other; got None"),
        (3, "here.name must be one of part, other; got 3"),
        ("nowhere:Class", "here.name must be a known name or an importable module:Class"),
        ("math:pi", "here.name must name a dataclass; 'math:pi' is not one."),
    ],
)
def test_a_name_that_is_none_is_refused(name, message):
    with pytest.raises(ConfigurationError) as caught:
        named(CATALOGUE, {"name": name}, "here")

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("roundss", ": did you mean 'rounds'?"), ("zzz", "."), ("", ".")],
)
def test_a_near_word_is_suggested(word, hint):
    assert suggest(word, ["rounds", "seed"]) == hint


def test_what_holds_is_let_pass():
    require(True, "eta", 1, "anything")


def test_what_does_not_hold_is_said():
    with pytest.raises(ConfigurationError, match=r"^eta must be at least 1; got 0\.$"):
        require(False, "eta", 0, "at least 1")
