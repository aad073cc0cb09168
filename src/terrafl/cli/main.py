"""The command ``terrafl``: arguments in, messages out.

A user error prints one message on standard error and exits with code 2. ``--debug`` shows the
traceback.
"""

import logging
import sys
from typing import Annotated

import typer

from terrafl._version import __version__
from terrafl.cli import attack, bench, compare, data, doctor, report, reproduce, run, split
from terrafl.errors import TerraflError, describe

_INTERRUPTED = 130  # typer's exit code after Ctrl-C
# The exception that typer raises for invalid arguments. Flower needs typer below 0.21, where it is
# still a class of click: the second base of every such error, in old and new versions of typer.
_MISTAKE: type[Exception] = getattr(typer, "TyperException", typer.BadParameter.__mro__[2])

app = typer.Typer(
    name="terrafl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Client selection for federated learning: choose which clients train in each round.",
)
for _command in (
    *(compare.demo, run.run, run.resume, compare.compare, attack.attack, report.report),
    *(report.watch, reproduce.reproduce, split.split, doctor.doctor),
):
    app.command()(_command)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"terrafl {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")
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
        return _fail(message, 2, debug) if message else 2  # typer has shown the help instead
    except OSError as error:  # for example, a full disk
        return _fail(f"{error.filename or 'a file'} cannot be used: {error.strerror}.", 1, debug)
    except SystemExit:  # typer exits when the reader closed our output
        return 0
    except typer.Abort:  # Ctrl-C, in old versions of typer
        code = _INTERRUPTED
    except Exception as error:  # a bug in terrafl or in a class of the user
        return _fail(f"{describe(error)}. Add --debug for the traceback.", 1, debug)
    if code == _INTERRUPTED:
        typer.echo(
            "stopped; finished work is kept. Continue a run with terrafl resume, "
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
