"""The `fairground` command.

A command is a file of this folder with a `HELP_ORDER`, which says where in the help it stands. Nothing heavy is
imported here or at the top of a command's file, so that `--help` answers at once.
"""

import atexit
import gc
import sys
from importlib import import_module
from pathlib import Path

import typer

from fairground.api.terminal import fitted, guard_streams, terminal_width
from fairground.cli.command_start import note_start
from fairground.errors import FairgroundError, PictureError

app = typer.Typer(
    name="fairground",
    help="The level field for deep metric learning: train embeddings and compare losses, miners, samplers and "
    "regularisers with everything else equal.\n\nStart with `fairground demo`, then `fairground train loss=triplet`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _add_commands() -> None:
    """Add the commands of every file with a `HELP_ORDER`: its `COMMANDS` by name, its `app`, or its one function."""
    names = sorted({path.stem for path in Path(__file__).parent.glob("[a-z]*.py")} - {"main"})
    modules = [import_module(f"fairground.cli.{name}") for name in names]
    for module in sorted((one for one in modules if hasattr(one, "HELP_ORDER")), key=lambda one: one.HELP_ORDER):
        name = module.__name__.rpartition(".")[2]
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
            continue
        for word, command in getattr(module, "COMMANDS", {name: getattr(module, name, None)}).items():
            app.command(word)(command)


_add_commands()


def main() -> None:
    """Run the command line; a mistake of the user's is a sentence and exit code 2, never a traceback."""
    guard_streams()
    note_start()
    # Looking for garbage among all that torch and numba hold takes longer than many commands do.
    atexit.register(gc.freeze)
    try:
        app()
    except FairgroundError as error:
        width = terminal_width(10_000) if sys.stderr.isatty() else None
        print("\n".join(fitted(line, width) for line in f"fairground: {error}".split("\n")), file=sys.stderr)
        if isinstance(error, PictureError):
            print("`fairground data check` names every picture that cannot be read; move them away.", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # whoever read what we print has read enough: `fairground list runs | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # the disk, not the program: full, read-only, gone
        print(f"fairground: {error.filename or 'the disk'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("fairground: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
