"""The `fairground` command.

Nothing heavy is imported here or at the top of a command's file, so that `--help` answers at once.
"""

import sys

import typer

from fairground.api.terminal import guard_streams
from fairground.cli import (
    compare,
    data,
    demo,
    embed,
    evaluate,
    export,
    index,
    list_show,
    protocol,
    published,
    query,
    recommend,
    report,
    reproduce,
    score,
    store,
    study,
    train,
    watch,
    weights,
)
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
app.command("demo")(demo.demo)
app.command("recommend")(recommend.recommend)
app.command("train")(train.train)
app.command("resume")(train.resume)
app.command("evaluate")(evaluate.evaluate)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("study")(study.study)
app.command("watch")(watch.watch)
app.command("reproduce")(reproduce.reproduce)
app.command("export")(export.export)
app.command("embed")(embed.embed)
app.command("index")(index.index)
app.command("query")(query.query)
app.command("list")(list_show.list_things)
app.command("show")(list_show.show)
app.command("protocol")(protocol.protocol)
app.command("published")(published.published)
app.add_typer(data.app, name="data")
app.add_typer(store.app, name="store")
app.add_typer(weights.app, name="weights")


def main() -> None:
    """Run the command line; a mistake of the user's is a sentence and exit code 2, never a traceback."""
    guard_streams()
    try:
        app()
    except FairgroundError as error:
        print(f"fairground: {error}", file=sys.stderr)
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
