"""The command ``terrafl``: arguments in, messages out.

A mistake of the user's is one sentence on standard error and exit code 2; ``--debug`` shows
where it was found.
"""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from terrafl._version import __version__
from terrafl.cli import (
    attack,
    bench,
    compare,
    data,
    demo,
    doctor,
    report,
    reproduce,
    run,
    split,
    watch,
)
from terrafl.errors import TerraflError, describe

__all__ = ["main"]

_INTERRUPTED = 130  # what typer makes of Ctrl-C
# What typer raises at a mistake in the arguments. Flower keeps typer below 0.21, where that is
# still click's own class: the second base of every such error, in the old typer and the new.
_MISTAKE: type[Exception] = getattr(typer, "TyperException", typer.BadParameter.__mro__[2])

app = typer.Typer(
    name="terrafl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which clients should train? Client selection for federated learning.",
)
app.command(name="demo")(demo.demo)
app.command(name="run")(run.run)
app.command(name="resume")(run.resume)
app.command(name="compare")(compare.compare)
app.command(name="attack")(attack.attack)
app.command(name="report")(report.report)
app.command(name="watch")(watch.watch)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="split")(split.split)
app.command(name="doctor")(doctor.doctor)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"terrafl {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    sys.exit(_run(arguments, debug))


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = app(arguments, standalone_mode=False)
    except TerraflError as error:
        return _fail(str(error), error.exit_code, debug)
    except _MISTAKE as error:
        message = _usage(error)
        return _fail(message, 2, debug) if message else 2  # help was shown in place of a message
    except OSError as error:  # a full disk, say
        return _fail(f"{error.filename or 'a file'} cannot be used: {error.strerror}.", 1, debug)
    except SystemExit:  # typer's answer when the reader of our output has seen enough
        return 0
    except typer.Abort:  # Ctrl-C, in an old typer
        code = _INTERRUPTED
    except Exception as error:  # a fault of ours, or of a class that the user wrote
        return _fail(f"{describe(error)}. To see the whole way there, add --debug.", 1, debug)
    if code == _INTERRUPTED:
        typer.echo(
            "stopped; what was done is kept: a run goes on with terrafl resume, "
            "a comparison with the same command.",
            err=True,
        )
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        raise  # noqa: PLE0704 - called from an except block only
    typer.echo(f"error: {message}", err=True)
    return code


def _usage(error: Exception) -> str:
    format_message = getattr(error, "format_message", None)
    return str(format_message() if format_message else error)
