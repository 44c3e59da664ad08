"""The first page of results: findings, two pictures, answers in one table, cost, and what is outstanding."""

from collections import Counter
from collections.abc import Collection, Sequence

from studies.results.findings import findings
from studies.results.page import DATA, SHORT, Page, cpu_hours, listed, table
from studies.results.plans import plans
from studies.results.records import JOINED, ExportedRun
from studies.results.select import finals

#: every claim of the programme as a statement, whether it has a page yet or not
CLAIMS = {
    "c01_saturation": "C1. Losses are saturated",
    "c12_selection_on_test": "C12. Reporting the best test epoch inflates Recall@1, and more with more looks",
    "c13_single_seeds": "C13. Tables of single runs name the wrong winner",
    "c02_structure": "C2. Flat spectra of the training classes (low ρ) go with recall, and flattening them helps",
    "c04_samplers": "C4. SPC-2 and FRD batches beat SPC-4",
    "c05_factors": "C5. Batch size, weight decay, dimension and augmentation matter",
    "c06_selection_metric": "C6. MAP@R selects better epochs than Recall@1",
    "c07_nmi": "C7. NMI rewards many classes, AMI does not",
    "c08_concatenation": "C8. Joining the models of four folds adds",
    "c09_metrics": "C9. Recall@1 and MAP@R rank methods alike",
    "c10_mixup": "C10. Mixup compresses embeddings and costs Recall@1",
    "c11_untrained": "C11. The trunk matters more than the loss",
    "c14_tuning": "C14. Tuning matters more than the loss",
    "c15_transfer": "C15. The ranking of losses carries over to other data",
    "c16_search": "C16. Eight trials are enough of a search",
    "c17_finetuning": "C17. Fine-tuning confirms what heads on frozen features say",
    "c18_epochs": "C18. Eight epochs are enough of a training",
    "c20_splits": "C20. The standard split is a sample of random ones",
    "c21_variance": "C21. A table of losses is mostly about its losses",
    "c23_since2020": "C23. Losses published since 2020 keep their gain",
    "c24_looking": "C24. Choosing the epoch on the test set pays, and long training costs",
    "c25_sets": "C25. The order of losses at their defaults carries over to other data",
    "c26_foretelling": "C26. Cheap studies of heads predict fine-tuning",
}
INSTRUMENT = """\
Heads of 128 dimensions on frozen features, points of MAP@R, and gains over the untrained network on its 128 principal
axes, unless a line says otherwise.
"""
#: studies of all methods on one data set
FIELDS = ("c1_", "c17_", "c25_")
PICTURES = ("c01_gains", "c21_variance")
#: pages whose headline says what is not known
OPEN = ("c17_finetuning", "c15_transfer")
HEAD = """# What heads on frozen features and small networks say about deep metric learning

Two papers of 2020 said that deep metric learning had not moved: Musgrave, Belongie and Lim (*A Metric Learning
Reality Check*, ECCV) and Roth et al. (*Revisiting Training Strategies and Generalization Performance in Deep Metric
Learning*, ICML). Their claims, and some of the field since, are tested here on real data with `fairground`: equal
searches or none, fresh seeds, validation classes that select, test classes that do not.
"""
RULE = """\
A difference *matters* if it is more than a tenth of what the best method gains over the untrained network on that
data. A claimed difference *holds*, *the opposite holds*, there is *no difference* (the whole interval is within what
matters), or the runs *cannot tell*. This rule was written after the runs of C1 to C18 (each page says when its first
rule was), those of C20 and later before their runs.

The intervals that decide the verdicts of a page hold at once at 95 % (in C20 the three of one data set at 94 %, in
C23 those against one reference; C11 has none); in tables and figures an interval is one at 95 % unless its page says
more. **Nothing is corrected across pages**: where the intervals cover what they say, chance alone upsets a verdict on
at most one page in twenty, so expect about one of these {n_pages} pages to be wrong somewhere; losses that are alike
make some intervals too narrow. Intervals speak of seeds or of losses, whichever the page names; only those of C20, C21
and C23 cover other splits of classes.
"""
#: what is said of fine-tuning while there is no page of it, and once there is one
STAND_INS = "Heads on frozen EfficientNet-Lite0 features and a small network from scratch are cheap stand-ins"
TUNED = {
    False: f"{STAND_INS}; whether their answers hold for a network that is fine-tuned is open.",
    True: (
        f"{STAND_INS}. Fine-tuning was tried at 96 pixels and for one pass alone ([C17](c17_finetuning.md)); whether "
        "the answers hold for ResNet-50 at full size on a graphics card is open."
    ),
}
RECORDS = """\
All pages are made from `records/*.csv.gz` by `make results`, without training. Scores of every test class are in
`STUDY.classes.csv.gz`, so that anybody can draw classes again, but not of {lacking}, which ran before they were kept.
"""
CANNOT = """\
- **Overlap.** The features come from weights trained on ImageNet-1k. 22 pictures of CUB are among its training
  pictures; six car categories, 15 fruits and most pet breeds are among its classes, so that pets say little about
  unseen classes.
- **Other splits.** Except in C20, C21 and C23, all runs of a data set share one split of classes.
"""


def front_page(pages: Sequence[Page], runs: Sequence[ExportedRun], with_classes: Collection[str] = ()) -> str:
    """Return the first page as Markdown; `with_classes` are the studies that have the scores of test classes."""
    done = {page.name: page for page in pages}
    rows = [
        [f"[{title}]({name}.md)", done[name].verdicts, done[name].short]
        for name, title in CLAIMS.items()
        if name in done
    ]
    missing = [title for name, title in CLAIMS.items() if name not in done]
    pictures = [picture for name in PICTURES for page in pages for picture in page.pictures if picture.name == name]
    lines = [
        HEAD,
        "## In short",
        "",
        INSTRUMENT,
        findings(pages, folder=""),
        "",
        "## Two pictures",
    ]
    for picture in pictures:
        lines += ["", f"![{picture.caption}](figures/{picture.name}.svg)", "", f"*{picture.caption}*"]
    rule = RULE.format(n_pages=len(pages))
    lines += ["", "## Answers", "", rule, table(["claim", "verdict", "the number"], rows, n_text=3)]
    lacking = sorted({run.study for run in runs} - set(with_classes), key=_number)
    families = listed(list(dict.fromkeys(f"`{study.partition('_')[0]}`" for study in lacking)))
    lines += ["", "## Data, methods and runs", "", RECORDS.format(lacking=f"the studies {families}")]
    lines += [_field(runs), "", "## What it cost", "", _cost(runs)]
    lines += ["", "## What it cannot say", "", f"- **Fine-tuned networks.** {TUNED['c17_finetuning' in done]}"]
    lines += [findings(pages, folder="", order=OPEN)]
    lines += [f"{CANNOT}- **Long searches.** {_searches(runs)} per method are not the fifty of Musgrave et al.", ""]
    outstanding = [*_outstanding(runs), *(f"- {title}" for title in missing)]
    lines += ["## Outstanding", "", *(outstanding or ["Nothing: every study has all the seeds its file asks for."]), ""]
    return "\n".join(lines)


def _number(study: str) -> int:
    return int(study.partition("_")[0].removeprefix("c"))


def _searches(runs: Sequence[ExportedRun]) -> str:
    """Return how many trials a method had in C1: "8 trials (CUB) and 4 trials (Cars, icons)"."""
    found: dict[int, list[str]] = {}
    for data, name in SHORT.items():
        counts = Counter(
            run.method for run in runs if run.data == data and run.kind == "trial" and run.study.startswith("c1_")
        )
        if counts:
            found.setdefault(max(counts.values()), []).append(name)
    return " and ".join(f"{n} trials ({', '.join(names)})" for n, names in sorted(found.items(), reverse=True))


def _field(runs: Sequence[ExportedRun]) -> str:
    rows = []
    for data, title in DATA.items():
        # A run of one set among splits is labelled by its split, or as features: its study is named after its set.
        some = [run for run in runs if run.data == data or (run.data not in DATA and f"_{data}" in run.study)]
        compared = finals([run for run in some if run.study.startswith(FIELDS)])
        if some:
            methods, seeds = {run.method for run in compared}, {run.seed for run in compared}
            rows.append([title, str(len(methods)), str(len(seeds)), str(len(some))])
    header = ["data", "methods compared", "seeds each", "runs of all studies, searches included"]
    return table(header, rows)


def _cost(runs: Sequence[ExportedRun]) -> str:
    studies = sorted({run.study for run in runs})
    rows = []
    for study in studies:
        some = [run for run in runs if run.study == study]
        rows.append([f"`{study}`", str(len(some)), f"{cpu_hours(some):.2f}"])
    n_uncounted = sum(run.cpu_seconds == 0 and run.kind != JOINED for run in runs)
    said = table(["study", "runs", "CPU hours"], [*rows, ["all", str(len(runs)), f"{cpu_hours(runs):.2f}"]])
    return f"{said}\n\n{n_uncounted} runs have no processor time on record and are taken for the mean of their kind."


def _outstanding(runs: Sequence[ExportedRun]) -> list[str]:
    """Return a line for every study with a home that has fewer seeds than its file asks for."""
    found = []
    for plan in plans():
        missing = [home for home in plan.homes if plan.n_done(runs, home) < plan.seeds]
        if len(plan.homes) == 1 and missing:
            found.append(f"- `{plan.study}`: {plan.n_done(runs, plan.study)} of {plan.seeds} seeds of all its methods.")
        elif missing:
            named = listed([f"`{home}`" for home in missing])
            found.append(f"- `{plan.study}`: {len(missing)} of {len(plan.homes)} homes are not complete, {named}.")
    return found
