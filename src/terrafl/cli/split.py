"""``terrafl split``: Terraform's split of given update norms, for users of any framework."""

import csv
import io
import json as jsonlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from terrafl.cli import options as o
from terrafl.errors import ConfigurationError, UserError, require
from terrafl.records import Report
from terrafl.selection.report import judge
from terrafl.selection.splitting import split as cut
from terrafl.selection.terraform import parse_range

Client = Mapping[str, object]
Answer = dict[str, Any]  # Any: a JSON value

_CLIENT_KEYS = ("id", "update_norm", "num_examples")
_LINE_KEYS = frozenset({"clients", "eta", "weighting", "range"})


def split(
    source: Annotated[str, typer.Argument(help="The input file, or - for standard input.")],
    *,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Read one JSON object per line.")] = False,
    eta: Annotated[
        int | None,
        typer.Option(help="Smallest hard cluster that trains again.", show_default="4"),
    ] = None,
    min_clients: Annotated[int | None, typer.Option(hidden=True)] = None,
    weighting: Annotated[
        str, typer.Option(help="Weights of the clusters: count or mass.")
    ] = "count",
    search_range: Annotated[
        str, typer.Option("--range", help="Two fractions of the data.")
    ] = "Q1,Q3",
    json: o.Json = False,
) -> None:
    """Split clients into easy and hard by update norm, as Terraform does.

    Reads CSV with the columns client_id, update_norm and num_examples. With --jsonl, reads one
    JSON object per line; its key clients is a list of {"id", "update_norm", "num_examples"}.
    """
    flags = {"eta": eta, "min_clients": min_clients}
    defaults: Answer = {"eta": 4, "weighting": weighting, "range": o.listed(search_range)}
    defaults |= _with_eta({name: value for name, value in flags.items() if value is not None})
    try:
        file = sys.stdin.buffer if source == "-" else Path(source).open("rb")  # noqa: SIM115  # closed below
    except OSError as error:
        raise ConfigurationError(f"{source} cannot be read: {error.strerror}.") from error
    with file:
        if jsonl:
            _answer_lines(file, defaults)
            return
        clients = _read_csv(file)
    answer = judge_clients(clients, **defaults)
    if json:
        typer.echo(jsonlib.dumps(answer))
    else:
        _show(answer, clients)


def _answer_lines(lines: Iterable[bytes], defaults: Answer) -> None:
    """Answer line by line; raise at the end unless every line is valid."""
    all_valid = True
    for line in lines:
        if not line.strip():  # blank lines may separate JSON lines
            continue
        try:
            answer = _answer_line(line, defaults)
        except UserError as error:
            answer, all_valid = {"error": str(error)}, False
        typer.echo(jsonlib.dumps(answer))  # flushes: the sender may wait for each answer
    if not all_valid:
        raise ConfigurationError("some lines are invalid; their answers give the errors.")


def _with_eta(settings: Answer) -> Answer:
    """Return the settings with ``eta`` under its former name, ``min_clients``, renamed."""
    if "min_clients" not in settings:
        return settings
    if "eta" in settings:
        raise ConfigurationError("min_clients is the former name of eta; give eta only.")
    return {"eta" if name == "min_clients" else name: settings[name] for name in settings}


def _answer_line(line: bytes, defaults: Answer) -> Answer:
    try:
        request = jsonlib.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"a line must be a JSON object; {error}.") from error
    if not isinstance(request, dict) or not isinstance(request.get("clients"), list):
        raise ConfigurationError('a line must be a JSON object with the key "clients", a list.')
    request = _with_eta(request)
    unknown = sorted(request.keys() - _LINE_KEYS)
    if unknown:
        raise ConfigurationError(
            f"a line has no key {unknown[0]!r}; known keys: {', '.join(sorted(_LINE_KEYS))}."
        )
    return judge_clients(**(defaults | request))


def judge_clients(
    clients: Sequence[Client], eta: int, weighting: str, range: Sequence[str]
) -> Answer:
    """Return the split of one cohort as JSON values."""
    require(type(eta) is int and eta >= 1, "eta", eta, "an integer of at least 1")  # not a bool
    require(weighting in ("count", "mass"), "weighting", weighting, "count or mass")
    two_ends = isinstance(range, list) and len(range) == 2
    require(two_ends, "range", range, "two fractions, such as Q1 and Q3")
    reports = _reports(clients)
    result = cut(
        [report.update_norm or 0.0 for report in reports],
        [report.num_examples for report in reports],
        search_range=parse_range((str(range[0]), str(range[1]))),
        weighting="mass" if weighting == "mass" else "count",
    )
    order = [reports[i].client_id for i in result.order.tolist()]
    hard = order[result.tau :]
    return {
        "order": order,
        "k_q1": result.first,
        "k_q3": result.end,
        "tau": result.tau,
        "easy": order[: result.tau],
        "hard": hard,
        "stop": len(hard) < eta or len(order) == 1,
    }


def _reports(clients: Sequence[Client]) -> Sequence[Report]:
    """Return the clients as reports in the order of their ids; refuse an invalid client."""
    if not clients:
        raise ConfigurationError("clients must not be empty; got no client.")
    reports = [_report(client) for client in clients]
    counts = Counter(report.client_id for report in reports)
    accepted, refused = judge(reports, cohort=counts, round=0, iteration=0, needs={"update_norm"})
    repeated = [client for client, count in counts.items() if count > 1]
    if repeated:
        raise ConfigurationError(f"client {repeated[0]!r}: must be listed only once.")
    if refused:
        raise ConfigurationError(f"client {refused[0].client_id!r}: {refused[0].reason}.")
    return accepted


def _report(client: Client) -> Report:
    try:
        name, norm, size = (client[key] for key in _CLIENT_KEYS)
    except (KeyError, TypeError) as error:
        shown = client.get("id") if isinstance(client, dict) else None
        raise ConfigurationError(
            f"client {shown!r}: must have id, update_norm and num_examples; got {client!r}."
        ) from error
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ConfigurationError(f"client {name!r}: id must be a string or an integer.")
    return Report(
        client_id=str(name),
        round=0,
        iteration=0,
        num_examples=size,  # type: ignore[arg-type]  # judged next
        update_norm=norm,  # type: ignore[arg-type]  # judged next
    )


def _read_csv(file: BinaryIO) -> list[Client]:
    columns = ["client_id", "update_norm", "num_examples"]
    try:
        text = file.read().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if reader.fieldnames is None or set(columns) - set(reader.fieldnames):
            raise ConfigurationError(
                f"the first line must name the columns {','.join(columns)}; "
                f"got {','.join(reader.fieldnames or ['nothing'])}: for JSON lines add --jsonl."
            )
        return [
            {
                "id": row["client_id"],
                "update_norm": _number(row["update_norm"], float),
                "num_examples": _number(row["num_examples"], int),
            }
            for row in reader
        ]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the input must be CSV; {error}.") from error


def _number(text: str | None, kind: type[int] | type[float]) -> object:
    try:
        return kind(text or "")
    except ValueError:
        return text  # rejected later, with the client and the reason


def _show(answer: Answer, clients: Sequence[Client]) -> None:
    by_id = {str(client["id"]): client for client in clients}
    table = Table("", "client", "update norm", "examples", "cluster")
    for position, client_id in enumerate(answer["order"], start=1):
        cluster = "easy" if position <= answer["tau"] else "[bold]hard[/bold]"
        client = by_id[client_id]
        table.add_row(
            str(position),
            Text(client_id),
            f"{client['update_norm']:.6g}",
            str(client["num_examples"]),
            cluster,
            end_section=position == answer["tau"],
        )
    Console().print(table)
    outcome = "the round ends" if answer["stop"] else "the hard clients train again"
    typer.echo(
        f"k_q1 = {answer['k_q1']}, k_q3 = {answer['k_q3']}, tau = {answer['tau']}: "
        f"{len(answer['hard'])} of {len(answer['order'])} clients are hard; {outcome}"
    )
