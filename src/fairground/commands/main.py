"""The `fairground` command: a table of commands, each imported when it is used, so that `--help` answers at once."""

import atexit
import gc
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairground import __version__
from fairground.commands import FairgroundError, PictureError, complain, keep_memory, prepare_streams, printed

#: command -> the function or the group of commands behind it, and what the list of commands says about it
COMMANDS = {
    "demo": ("demo:demo", "Compare four methods on embedded icons."),
    "recommend": ("recommend:recommend_command", "Find the method that suits your data."),
    "train": ("train:train_command", "Train one model and test it on unseen classes."),
    "resume": ("train:resume", "Continue a run that was stopped or killed."),
    "evaluate": ("evaluate:evaluate", "Measure a run's or a study's selected models."),
    "score": ("score:score", "Measure embeddings from any source."),
    "compare": ("compare:compare_command", "Compare methods: one table, one verdict per pair."),
    "report": ("report:report_command", "Write one self-contained HTML page."),
    "study": ("study:study_command", "Search, select and repeat several methods."),
    "watch": ("watch:watch", "Show studies and runs in a browser."),
    "reproduce": ("reproduce:reproduce", "Repeat a run or a study on fresh seeds."),
    "export": ("export:export", "Write a run's selected model as a folder."),
    "embed": ("embed:embed", "Embed images or features with a trained model."),
    "index": ("index:COMMANDS", "Make a collection searchable."),
    "query": ("query:query", "Find the class and nearest images of a picture."),
    "frontier": ("frontier:frontier_command", "Weigh fewer dimensions, fewer bits and re-ranking."),
    "list": ("list:list_things", "List components, runs, protocols or rules."),
    "runs": ("runs:COMMANDS", "List, import or remove runs."),
    "show": ("show:show", "Show one run: its settings, course and scores."),
    "protocol": ("protocol:protocol", "Print a protocol in full."),
    "published": ("published:published", "Show the numbers printed in the papers."),
    "data": ("data:COMMANDS", "Check data sets, get the published ones; caches."),
    "weights": ("weights:COMMANDS", "List and check pretrained weights."),
}


_PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "add_completion": False, "rich_markup_mode": None}


class CommandGroup(TyperGroup):
    """Commands of one name, `fairground data check`: other arguments belong to the first, none to `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = args or ["list" if "list" in self.commands else "--help"]
        is_named = args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if is_named else [next(iter(self.commands)), *args])


class LazyCommands(TyperGroup):
    """Finds a command in the table and imports its file only then; `Any` is Click, or typer's copy of it."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        file, _, name = COMMANDS[cmd_name][0].partition(":")
        module = import_module(f"fairground.commands.{file}")
        found = getattr(module, name)
        if not isinstance(found, dict):
            one = typer.Typer(**_PLAIN)
            one.command(cmd_name)(printed(found))
            return typer.main.get_command(one)
        group = typer.Typer(name=cmd_name, cls=CommandGroup, help=module.__doc__, **_PLAIN)
        group.callback()(lambda: None)
        for inner, command in found.items():
            group.command(inner)(printed(command))
        return typer.main.get_command(group)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


app = typer.Typer(name="fairground", cls=LazyCommands, no_args_is_help=True, **_PLAIN)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"fairground {__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")


@app.callback()
def _fairground(version: Annotated[bool, _VERSION] = False) -> None:
    """Compare deep metric learning methods fairly: losses, miners, samplers and regularisers with all else equal.

    Start with `fairground demo`, then `fairground train loss=triplet`.
    """


def main() -> None:
    """Run the command line; a user's mistake is a sentence and exit code 2, never a traceback."""
    prepare_streams()
    keep_memory()
    with suppress(FileNotFoundError):
        # Last, so that no file of the working folder hides a module: `loss=my_lab.losses:Mine` finds the one here.
        sys.path.append(str(Path.cwd()))
    # Looking for garbage among all that torch and numba hold takes longer than many commands do.
    atexit.register(gc.freeze)
    if sys.argv[1:2] in (["compare"], ["report"]):  # which hold thousands of records, and none of them is garbage
        gc.set_threshold(2_000_000)
    try:
        app()
    except FairgroundError as error:
        complain(str(error))
        if isinstance(error, PictureError):
            print("`fairground data check` names every picture that cannot be read; move them away.", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader has read enough: `fairground list runs | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # the disk, not the program: full, read-only, gone
        complain(f"{error.filename or 'the disk'}: {error.strerror or error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
