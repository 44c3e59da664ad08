"""Find out which method suits a data set within a time: ends in advice, a page and a model."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fairground import commands, records, training
from fairground.commands import Answer, AnyPath, data_overrides, options, options_of, run_directory, search_progress
from fairground.commands.keyword_overrides import Setting, keyword_overrides
from fairground.files import read_json
from fairground.recommendation.recommendation_folder import RecommendationFolder
from fairground.recommendation.request import make_request
from fairground.recommendation.time_budget import Budget, seconds_of
from fairground.reporting.table_formats import text_table
from fairground.spec import Overrides, load_run, parse_overrides


@dataclass(frozen=True, kw_only=True, repr=False)
class RecommendResult:
    """What to use and why, with the paths of its model and page.

    `result` is what `fairground recommend --json` prints. `is_new` is false where the answer was there already. After
    Ctrl-C (`is_stopped`) the test classes are still sealed, and the same call continues.
    """

    result: Mapping[str, Any]
    page: Path
    model: Path
    seconds: float
    is_new: bool

    @property
    def chosen(self) -> str:
        return str(self.result["chosen"])

    @property
    def advice(self) -> tuple[str, ...]:
        """The advice in sentences, the most important first."""
        return tuple(self.result["advice"])

    @property
    def is_frozen(self) -> bool:
        """Tell whether training did not help, so that the network is used as it is."""
        return bool(self.result["is_frozen"])

    @property
    def is_stopped(self) -> bool:
        return bool(self.result["is_stopped"])

    def load_model(self) -> "commands.LoadedModel":
        from fairground.commands.load_model import load_model

        return load_model(self.model)

    def to_dict(self) -> dict[str, Any]:
        return {**self.result, "page": str(self.page), "model": str(self.model), "seconds": self.seconds}

    def __str__(self) -> str:
        heads = [column.replace(" on validation", "").replace(",", "") for column in self.result["columns"]]
        table = text_table([heads, *self.result["rows"]], width=commands.terminal_width())
        return "\n".join([*self.advice, "", table])

    def __repr__(self) -> str:
        return f"<RecommendResult {self.result['name']}: {self.chosen}, page {self.page}>"


def recommend(
    data: AnyPath,
    *,
    time: Annotated[str | float, "-t", "Time limit: 90s, 30m, 2h."] = "30m",
    by: Annotated[str, "The metric that decides: recall@1, map@r, r_precision, ..."] = "recall@1",
    more: Annotated[str | float | None, "Continue after an answer for this long: 30m."] = None,
    protocol: Annotated[str | None, "laptop, photographs or features (default: by the data)."] = None,
    seed: Annotated[int, "Seed of the split into halves and folds.", {"min": 0}] = 0,
    device: options.Device = "auto",
    home: run_directory.AnyHome = None,
    quiet: options.Quiet = False,
    **settings: Setting,
) -> RecommendResult:
    """Find out which method suits your data, within a time; return the advice, the page and the model.

    `data` is a folder of class folders, a CSV or Parquet table, a file of features, or "icons". `time` is "90s", "30m",
    "2h" or seconds for everything, kept within 10 %; on a busy machine it may take one training more. `more` continues
    for so long after an answer. `by` is the metric that decides. `settings` are overrides such as `trunk="resnet50"`.
    """
    asked: dict[str, Any] = {"by": by, "protocol": protocol, "seed": seed}
    folder = run_directory.home_folder(home)
    how: dict[str, Any] = {"time": time, "more": more, "quiet": quiet, "device": device}
    return _recommend(os.fspath(data), keyword_overrides(settings), folder, **how, **asked)


def _recommend(
    data: str,
    overrides: Overrides,
    home: Path,
    *,
    time: str | float,
    more: str | float | None,
    quiet: bool,
    device: str,
    **asked: Any,
) -> RecommendResult:
    seconds = seconds_of(time)
    extra = None if more is None else seconds_of(more)
    budget = Budget(seconds)
    with search_progress(budget, is_quiet=quiet) as progress:
        path = None if data == "icons" and not Path(data).exists() else Path(data)
        named, label = ("icons", "icons") if path is None else (None, _label(path))
        request = make_request(label, data_overrides(path, named), overrides, **asked)
        for sentence in request.sentences:
            progress.say(sentence)
        folder = RecommendationFolder(home, request.identity())
        with folder.opened():
            spec = load_run(overrides=request.base)
            if what := folder.begin(records.content_of(spec, lambda: training.content_of_data(spec))):
                progress.say(f"Earlier sessions do not count, because data or code changed: {what}.")
            result, spent = folder.plan["result"], folder.plan["spent"]
            is_new = extra is not None or result is None or result["is_stopped"]
            if is_new:
                from fairground.recommendation.recommendation import Recommendation

                folder.write(title=request.title)
                budget.seconds = max(seconds - spent, 0.0) if extra is None else extra
                result = Recommendation(request, folder, budget, progress, device).run()
            else:
                progress.news("This was answered before; --more 30m continues from here.")
    used = round(budget.used(), 1)
    return RecommendResult(result=result, page=folder.page, model=folder.model, seconds=used, is_new=is_new)


def _label(path: Path) -> str:
    """Return what to call the data: a folder called images says less than its parent."""
    path = path.absolute()
    return path.parent.name if path.is_dir() and path.name in ("images", "data", "train") else path.stem or path.name


@options_of(recommend)
def recommend_command(
    home: Path,
    data: Annotated[
        str, "DATA", "A folder of class folders, a CSV or Parquet table, a file of features (.npz), or icons."
    ],
    words: Annotated[list[str] | None, "[KEY=VALUE]...", "Overrides for every method, like trunk=small_conv."] = None,
    **settings: Any,
) -> Answer:
    """Find out which method suits your data, within a time: ends in advice, a report page and one model to use.

    A pretrained network and the side of its images are chosen on a sample; heads in closed form come first, then the
    network is fine-tuned on one part of the classes and judged on another, and what wins is trained again on all. The
    time is kept within 10 %; on a busy machine it may take one training more. Ctrl-C ends with the best so far, and the
    same command continues. docs/recommend.md says how it chooses.

    Try: fairground recommend icons --time 5m

    Or: fairground recommend my_photos/ --time 30m

    Or: fairground recommend features.npz --time 2m --by map@r
    """
    stopped = "stopped; nothing is lost. The same command continues from here."
    try:
        result = _recommend(data, parse_overrides(words or []), home, **settings)
    except KeyboardInterrupt:  # before the first answer, or while the model is trained: what was measured is kept
        return Answer(None, failure=stopped, exit_code=130)
    model = result.model.absolute()
    yours = "YOUR_IMAGES" if read_json(model / "model.json")["is_picture"] else "YOUR_FEATURES.npz"
    lines = [
        *str(result).split("\n"),
        f"page:  {result.page.absolute()}  (open it in any browser)",
        f"model: {model}  (try: fairground embed {model} {yours} -o embeddings.npz)",
    ]
    is_stopped = result.is_stopped and result.is_new
    return Answer(result.to_dict(), lines, stopped if is_stopped else "", 130 if is_stopped else 0)
