"""terrafl split: update norms in, Terraform's split out."""

import io
import json
import math
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_contexts import a_context

from terrafl.cli import main as cli
from terrafl.selection import Report, Terraform

CSV = b"client_id,update_norm,num_examples\na,5.0,10\nb,0.1,20\nc,0.3,30\nd,4.0,40\n"
FOUR = [
    {"id": "a", "update_norm": 5.0, "num_examples": 10},
    {"id": "b", "update_norm": 0.1, "num_examples": 20},
    {"id": "c", "update_norm": 0.3, "num_examples": 30},
    {"id": "d", "update_norm": 4.0, "num_examples": 40},
]
# Half of the data lies below position 2, so that k_Q1 = 2 and k_Q3 = 3 leave one cut.
ANSWER = {
    "order": ["b", "c", "d", "a"],
    "k_q1": 2,
    "k_q3": 3,
    "tau": 2,
    "easy": ["b", "c"],
    "hard": ["d", "a"],
    "stop": True,
}


def ask(content, *arguments, source="-"):
    """Run ``terrafl split``; return the exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    argv = ["terrafl", "split", str(source), *arguments]
    with (
        patch("sys.argv", argv),
        patch("sys.stdin", stdin),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return ended.value.code, out.getvalue(), err.getvalue()


def ask_lines(*lines):
    """Ask about JSON lines; return the exit code and the answers."""
    content = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    code, out, _ = ask(content, "--jsonl")
    return code, [json.loads(line) for line in out.splitlines()]


def with_client(**changes):
    """Return the four clients, one of them changed."""
    return {"clients": [*FOUR[:3], FOUR[3] | changes]}


@pytest.mark.parametrize("flag", [[], ["--jsonl"]])
def test_a_file_is_as_good_as_standard_input(tmp_path, flag):
    content = json.dumps({"clients": FOUR}).encode() if flag else CSV
    path = tmp_path / "clients"
    path.write_bytes(content)

    assert ask(b"", *flag, "--json", source=path) == ask(content, *flag, "--json")


def test_csv_is_answered_as_json():
    code, out, err = ask(CSV, "--json")

    assert (code, json.loads(out), err) == (0, ANSWER, "")


def test_csv_is_answered_as_a_table():
    code, out, _ = ask(CSV)

    assert code == 0
    assert "k_q1 = 2, k_q3 = 3, tau = 2: 2 of 4 clients are hard; the round ends\n" in out
    clients = [line.split("│")[2].strip() for line in out.splitlines() if line.startswith("│")]
    assert clients == ["b", "c", "d", "a"]


def test_columns_come_in_any_order_among_others():
    content = b"weather,num_examples,client_id,update_norm\r\nfine,10,a,5\r\nwet,20,b,0.1\r\n"

    code, out, _ = ask(content, "--json")

    assert code == 0
    assert json.loads(out)["order"] == ["b", "a"]


def test_a_byte_order_mark_is_no_part_of_a_column():
    code, out, _ = ask(b"\xef\xbb\xbf" + CSV, "--json")

    assert (code, json.loads(out)) == (0, ANSWER)


def test_an_id_that_looks_like_markup_is_shown_as_it_is():
    code, out, _ = ask(CSV.replace(b"\na,", b"\n[/red],").replace(b"\nb,", b"\n[bold]b,"))

    assert code == 0
    assert "[/red]" in out
    assert "[bold]b" in out


def test_a_json_line_is_answered_by_a_json_line():
    assert ask_lines({"clients": FOUR}) == (0, [ANSWER])


def test_every_line_is_answered_in_order():
    code, answers = ask_lines({"clients": FOUR}, {"clients": FOUR[:2]}, {"clients": FOUR})

    assert code == 0
    assert [len(answer["order"]) for answer in answers] == [4, 2, 4]


def test_blank_lines_are_passed_over():
    assert ask_lines(b"", {"clients": FOUR}, b"   ") == (0, [ANSWER])


def test_a_line_may_have_settings_of_its_own():
    code, (strict, lax, by_mass, wide) = ask_lines(
        {"clients": FOUR, "eta": 3},
        {"clients": FOUR, "eta": 2},
        {"clients": FOUR, "weighting": "mass"},
        {"clients": FOUR, "range": ["0", "1"]},
    )

    assert code == 0
    assert (strict["stop"], lax["stop"]) == (True, False)
    assert by_mass["tau"] == 2
    assert (wide["k_q1"], wide["k_q3"]) == (1, 4)


# min_clients is the former name of eta.
@pytest.mark.parametrize("flag", ["--eta", "--min-clients"])
@pytest.mark.parametrize("key", ["eta", "min_clients"])
def test_flags_are_the_defaults_of_lines(flag, key):
    content = json.dumps({"clients": FOUR}).encode() + b"\n"
    content += json.dumps({"clients": FOUR, key: 3}).encode() + b"\n"

    _, out, _ = ask(content, "--jsonl", f"{flag}=2", "--range=0,1")

    own, overridden = map(json.loads, out.splitlines())
    assert (own["stop"], overridden["stop"]) == (False, True)
    assert own["k_q1"] == overridden["k_q1"] == 1


@pytest.mark.parametrize("flag", ["--eta", "--min-clients"])
@pytest.mark.parametrize(("eta", "stop"), [(1, False), (2, False), (3, True), (4, True)])
def test_the_round_stops_when_too_few_are_hard(flag, eta, stop):
    _, out, _ = ask(CSV, "--json", f"{flag}={eta}")

    assert json.loads(out)["stop"] is stop


def test_eta_is_4_unless_given():
    five = b"client_id,update_norm,num_examples\na,0,9\nb,5,5\nc,6,5\nd,7,5\ne,8,5\n"

    stops = [json.loads(ask(five, "--json", *flag)[1])["stop"] for flag in ([], ["--eta=5"])]

    assert stops == [False, True]  # four are hard


def test_eta_under_both_names_is_refused():
    code, out, err = ask(CSV, "--eta=2", "--min-clients=2")

    assert (code, out) == (2, "")
    assert "min_clients is the former name of eta; give eta only." in err


def test_help_shows_eta_and_not_its_former_name():
    _, out, _ = ask(b"", "--help")

    assert "--eta" in out
    assert "--min-clients" not in out


def test_one_client_ends_the_round_whatever_is_wanted():
    code, (answer,) = ask_lines({"clients": FOUR[:1], "eta": 1})

    assert code == 0
    assert answer == {
        "order": ["a"],
        "k_q1": 1,
        "k_q3": 1,
        "tau": 0,
        "easy": [],
        "hard": ["a"],
        "stop": True,
    }


def test_integer_ids_are_strings_and_are_ordered_as_such():
    clients = [{"id": i, "update_norm": 1.0, "num_examples": 1} for i in (9, 10, 8, 11)]

    _, (answer,) = ask_lines({"clients": clients})

    assert answer["order"] == ["10", "11", "8", "9"]


def test_integers_are_numbers_too():
    code, (answer,) = ask_lines(with_client(update_norm=4))

    assert (code, answer) == (0, ANSWER)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (with_client(update_norm=math.nan), "client 'd': update_norm must be finite and not"),
        (with_client(update_norm=math.inf), "client 'd': update_norm must be finite and not"),
        (with_client(update_norm=-1.0), "client 'd': update_norm must be finite and not"),
        (with_client(update_norm=-1), "client 'd': update_norm must be finite and not"),
        (with_client(update_norm="4.0"), "client 'd': update_norm must be a number, got '4.0'"),
        (with_client(update_norm=True), "client 'd': update_norm must be a number, got True"),
        (with_client(update_norm=None), "client 'd': update_norm is missing"),
        (with_client(update_norm=[4.0]), "client 'd': update_norm must be a number"),
        (with_client(update_norm=10**400), "client 'd': update_norm must be finite and not"),
        (with_client(num_examples=0), "client 'd': num_examples must be an integer of at least 1"),
        (with_client(num_examples=-3), "client 'd': num_examples must be an integer of at least"),
        (with_client(num_examples=2.5), "client 'd': num_examples must be an integer of at least"),
        (with_client(num_examples="40"), "client 'd': num_examples must be an integer of at"),
        (with_client(num_examples=True), "client 'd': num_examples must be an integer of at least"),
        (with_client(num_examples=2**41), "client 'd': num_examples must be an integer of at"),
        (with_client(num_examples=10**400), "client 'd': num_examples must be an integer of at"),
        (with_client(id=True), "client True: id must be a string or an integer."),
        (with_client(id=1.5), "client 1.5: id must be a string or an integer."),
        (with_client(id=None), "client None: id must be a string or an integer."),
        (with_client(id="a"), "client 'a': must be listed only once"),
        ({"clients": [*FOUR, {"id": "e"}]}, "client 'e': must have id, update_norm and num_ex"),
        ({"clients": [*FOUR, 3]}, "client None: must have id, update_norm and num_examples"),
        ({"clients": [*FOUR, "e"]}, "client None: must have id, update_norm and num_examples"),
        ({"clients": []}, "clients must not be empty; got no client."),
        ({"clients": {}}, 'a line must be a JSON object with the key "clients", a list.'),
        ({}, 'a line must be a JSON object with the key "clients", a list.'),
        ([FOUR], 'a line must be a JSON object with the key "clients", a list.'),
        (3, 'a line must be a JSON object with the key "clients", a list.'),
        (None, 'a line must be a JSON object with the key "clients", a list.'),
        ({"clients": FOUR, "beta": 2}, "a line has no key 'beta'; known keys: clients, eta, range"),
        ({"clients": FOUR, "eta": 0}, "eta must be an integer of at least 1; got 0."),
        ({"clients": FOUR, "eta": 2.0}, "eta must be an integer of at least 1; got 2.0."),
        ({"clients": FOUR, "eta": True}, "eta must be an integer of at least 1; got True."),
        ({"clients": FOUR, "min_clients": 0}, "eta must be an integer of at least 1; got 0."),
        ({"clients": FOUR, "min_clients": None}, "eta must be an integer of at least 1; got None."),
        ({"clients": FOUR, "eta": 2, "min_clients": 2}, "min_clients is the former name of eta"),
        ({"clients": FOUR, "weighting": "size"}, "weighting must be count or mass; got 'size'."),
        ({"clients": FOUR, "weighting": []}, "weighting must be count or mass; got []."),
        ({"clients": FOUR, "range": ["Q3", "Q1"]}, "search_range must be two fractions"),
        ({"clients": FOUR, "range": ["0", "1e999999999"]}, "search_range must be two fractions"),
        ({"clients": FOUR, "range": [0, {}]}, "search_range must be two fractions"),
        ({"clients": FOUR, "range": "Q1"}, "range must be two fractions"),
        ({"clients": FOUR, "range": ["Q1"]}, "range must be two fractions"),
        (b"{", "a line must be a JSON object; Expecting property name"),
        (b"garbage", "a line must be a JSON object; Expecting value"),
        (b"\xff\xfe\x00\x01", "a line must be a JSON object; 'utf-8' codec can't decode"),
        (b"[" * 100_000, "a line must be a JSON object; maximum recursion depth"),
        (b'{"clients": [' + b"9" * 5000 + b"]}", "a line must be a JSON object; Exceeds the limit"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_line_is_answered_by_its_error_and_the_others_still_come_out(line, error):
    code, (before, answer, after) = ask_lines({"clients": FOUR}, line, {"clients": FOUR})

    assert code == 2
    assert answer.keys() == {"error"}
    assert error in answer["error"]
    assert before == after == ANSWER


def test_bad_lines_are_a_mistake_of_the_user_s():
    code, _, err = ask(b"garbage\n", "--jsonl")

    assert code == 2
    assert err == "error: some lines are invalid; their answers give the errors.\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the first line must name the columns client_id,update_norm,num_examples; got noth"),
        (b"a,b\n1,2\n", "got a,b: for JSON lines add --jsonl."),
        (b'{"clients": []}\n', "for JSON lines add --jsonl."),
        (CSV.splitlines()[0], "clients must not be empty; got no client."),
        (CSV + b"e,nan,1\n", "client 'e': update_norm must be finite and not negative, got nan."),
        (CSV + b"e,-1,1\n", "client 'e': update_norm must be finite and not negative, got -1.0."),
        (CSV + b"e,much,1\n", "client 'e': update_norm must be a number, got 'much'."),
        (CSV + b"e,1,1.5\n", "client 'e': num_examples must be an integer of at least 1"),
        (CSV + b"e,1\n", "client 'e': num_examples must be an integer of at least 1"),
        (CSV + b"e,1," + b"9" * 5000 + b"\n", "client 'e': num_examples must be an integer"),
        (CSV + b"a,1,1\n", "client 'a': must be listed only once."),
        (CSV + b'"e,1,1\n', "the input must be CSV; unexpected end of data."),
        (CSV + b"\xff,1,1\n", "the input must be CSV; 'utf-8' codec can't decode byte 0xff"),
    ],
    ids=lambda value: str(value)[-30:],
)
def test_a_bad_table_is_one_sentence(content, sentence):
    code, out, err = ask(content)

    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sentence in err


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--eta=0", "eta must be an integer of at least 1; got 0."),
        ("--min-clients=0", "eta must be an integer of at least 1; got 0."),
        ("--weighting=size", "weighting must be count or mass; got 'size'."),
        ("--range=Q3,Q1", "search_range must be two fractions 0 <= a < b <= 1"),
        ("--range=Q1", "range must be two fractions"),
    ],
)
def test_a_bad_flag_is_one_sentence(flag, sentence):
    code, out, err = ask(CSV, flag)

    assert (code, out) == (2, "")
    assert sentence in err


clients = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(max_size=3),
            "update_norm": st.floats(0, 1e300),
            "num_examples": st.integers(1, 2**40),
        }
    ),
    min_size=2,
    max_size=9,
    unique_by=lambda client: client["id"],
)


@given(clients=clients, eta=st.integers(1, 6), weighting=st.sampled_from(["count", "mass"]))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_command_cuts_as_the_selector_does(clients, eta, weighting):
    code, (answer,) = ask_lines({"clients": clients, "eta": eta, "weighting": weighting})

    reports = [
        Report(
            client_id=client["id"],
            round=0,
            iteration=0,
            num_examples=client["num_examples"],
            update_norm=client["update_norm"],
        )
        for client in clients
    ]
    cohort = Terraform(eta=eta, weighting=weighting).refine(reports, a_context())
    assert code == 0
    assert answer["order"] == [client["id"] for client in cohort.why["clients"]]
    assert answer["easy"] + answer["hard"] == answer["order"]
    assert {name: answer[name] for name in ("k_q1", "k_q3", "tau", "hard")} == {
        name: cohort.why[name] for name in ("k_q1", "k_q3", "tau", "hard")
    }
    assert answer["stop"] is (len(cohort) == 0)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
nearly = st.fixed_dictionaries(
    {
        "clients": anything
        | st.lists(
            anything
            | st.fixed_dictionaries(
                {"id": anything, "update_norm": anything, "num_examples": anything}
            ),
            max_size=3,
        )
    },
    optional={"min_clients": anything, "weighting": anything, "range": anything, "eta": anything},
)
fuzz = st.one_of(
    anything.map(lambda value: json.dumps(value).encode()),
    nearly.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")),
)


@given(lines=st.lists(fuzz, max_size=5))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_whatever_a_line_holds_it_is_judged_or_refused(lines):
    code, answers = ask_lines(*lines)

    assert len(answers) == sum(bool(line.strip()) for line in lines)
    for answer in answers:
        assert answer.keys() in (ANSWER.keys(), {"error"})
        assert "error" not in answer or isinstance(answer["error"], str)
    assert code == (2 if any("error" in answer for answer in answers) else 0)


cell = st.one_of(
    st.text(max_size=4),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["1e400", "0x10", "1_000", "9" * 5000, '"', '""', "\0", " 1 ", "\u0661"]),
)
rows = st.lists(st.lists(cell, max_size=4).map(",".join), max_size=4).map("\n".join)


@given(
    content=st.binary(max_size=60)
    | rows.map(lambda text: CSV + text.encode("utf-8", "surrogatepass"))
    | st.tuples(st.integers(0, len(CSV)), st.binary(max_size=4)).map(
        lambda change: CSV[: change[0]] + change[1] + CSV[change[0] + 1 :]
    ),
    flags=st.sampled_from([[], ["--json"], ["--weighting=mass"], ["--range=0,1"]]),
)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_whatever_a_table_holds_it_is_judged_or_one_sentence(content, flags):
    code, out, err = ask(content, *flags)

    assert code in (0, 2)
    if code == 2:
        assert out == ""
        assert err.startswith("error: ")
        assert "Traceback" not in err
    else:
        assert err == ""
