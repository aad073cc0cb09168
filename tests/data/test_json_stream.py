from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data.jsonstream import JsonStream
from terrafl.errors import DataError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: "Infinity" not in json.dumps(value))


def _stream(text, **options):
    return JsonStream(io.StringIO(text), "file.json", **options)


@settings(derandomize=True, deadline=None)
@given(st.lists(VALUES, max_size=5), st.integers(1, 50), st.sampled_from([None, 1]))
def test_a_list_read_value_by_value_is_the_list(values, chunk, indent):
    stream = _stream(json.dumps(values, indent=indent), chunk=chunk)

    stream.take("[")
    found = []
    while stream.peek() != "]":
        found.append(stream.value())
        if stream.peek() != "]":
            stream.take(",")
    stream.take("]")

    assert found == values
    assert stream.peek() == ""


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_a_number_at_the_end_of_a_piece_may_go_on(chunk):
    for text in ("12345", "0.5", "1.25e-3", "1E+2", "-7"):
        assert _stream(text, chunk=chunk).value() == json.loads(text)
        assert _stream(f"{text},", chunk=chunk).value() == json.loads(text)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1', '"open', "[1, 2", "{]", "", "nul", "NaN", "[Infinity]", "[1,]", "1" * 5000],
    ids=lambda text: text[:10],
)
def test_what_is_no_whole_value_is_refused(text):
    with pytest.raises(DataError, match=r"file\.json must be a whole JSON text; got"):
        _stream(text, chunk=3).value()


def test_nesting_without_end_is_refused():
    with pytest.raises(DataError, match="must nest a few levels deep"):
        _stream("[" * 200_000).value()


def test_a_character_that_is_not_expected_is_named():
    with pytest.raises(DataError, match=r"file\.json must have , or \}; got 7"):
        _stream(" 7").take(",", "}")
    with pytest.raises(DataError, match=r"must have \{; got the end"):
        _stream(" ").take("{")


def test_bytes_that_are_no_text_are_refused():
    stream = JsonStream(io.TextIOWrapper(io.BytesIO(b'"\xff"'), "utf-8"), "file.json")

    with pytest.raises(DataError, match="must be readable UTF-8"):
        stream.value()


def test_a_value_that_is_too_long_is_not_read_to_its_end():
    stream = _stream('"' + "a" * 5_000_000, chunk=100, limit=1000)
    tracemalloc.start()

    with pytest.raises(DataError, match="must hold no value of more than 1000 characters"):
        stream.value()

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_values_that_were_read_are_let_go():
    text = json.dumps(["a" * 1000] * 3000)
    stream = _stream(text, chunk=5000)
    tracemalloc.start()

    while stream.take("[", ",", "]") != "]":
        stream.value()

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
