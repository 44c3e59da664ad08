"""The first page of results: question, answers in one table, three pictures, cost, and what is outstanding."""

from collections.abc import Sequence

from studies.results.page import DATA, Page, cpu_hours, table
from studies.results.records import ExportedRun

#: every claim of the programme, whether it has a page yet or not
CLAIMS = {
    "c01_saturation": "C1. Are the losses saturated?",
    "c12_selection_on_test": "C12. What does selection on the test set add?",
    "c13_single_seeds": "C13. What is a single seed worth?",
    "c02_structure": "C2. Does structure tell how an embedding generalises?",
    "c03_rho_regularisation": "C3. Does ρ-regularisation help?",
    "c04_samplers": "C4. Do batch samplers matter (Roth et al., figure 3)?",
    "c05_factors": "C5. Batch size, weight decay, dimension, augmentation (Roth et al., figure 2)",
    "c06_selection_metric": "C6. Is MAP@R the steadier metric to select by?",
    "c07_nmi": "C7. Does NMI reward many classes, and AMI not?",
    "c08_concatenation": "C8. What does concatenating fold models add?",
    "c09_metrics": "C9. Do the metrics rank methods alike?",
    "c10_mixup": "C10. Does mixup compress embeddings?",
    "c11_untrained": "C11. What do untrained trunks reach?",
    "c14_tuning": "C14. Tuned or default?",
    "c15_transfer": "C15. Does the ranking of losses carry over?",
}
PICTURES = ("c01_methods", "c02_structure", "c07_nmi")
HEAD = """# What is true of deep metric learning on real data

Two papers of 2020 said that deep metric learning had not moved: Musgrave, Belongie and Lim (*A Metric Learning
Reality Check*, ECCV) and Roth et al. (*Revisiting Training Strategies and Generalization Performance in Deep Metric
Learning*, ICML). Their claims, and some of the field since, are tested here on real data with `fairground`: equal
searches, fresh seeds, validation classes that select, test classes that do not, intervals that hold at once, and
what would count as holding written down first (each page says when).

A verdict is *holds*, *does not hold* or *cannot tell*; each page has the number that decides, its table, its cost
and its limits. All pages are made from `records/*.csv.gz` by `make results`, in seconds and without training.
"""
CANNOT = """\
- **Fine-tuned networks.** Heads on frozen EfficientNet-Lite0 features and a small network from scratch are cheap
  stand-ins; whether their answers hold for ResNet-50 fine-tuned on a graphics card is open. Fine-tuning Lite0 on
  CUB and Cars is outstanding.
- **Overlap.** The features come from weights trained on ImageNet-1k. 22 pictures of CUB are among its training
  pictures; six car categories, 15 fruits and most pet breeds are among its classes, so that pets say little about
  unseen classes.
- **Other splits.** All runs of a data set share one split of classes; intervals speak of seeds.
- **Long searches.** Eight trials a method (four on icons and Cars) are not the fifty of Musgrave et al.
"""


def front_page(pages: Sequence[Page], runs: Sequence[ExportedRun]) -> str:
    """Return the first page as Markdown."""
    done = {page.name: page for page in pages}
    rows = [
        [f"[{title}]({name}.md)", done[name].verdicts, done[name].short]
        for name, title in CLAIMS.items()
        if name in done
    ]
    missing = [title for name, title in CLAIMS.items() if name not in done]
    pictures = [picture for name in PICTURES for page in pages for picture in page.pictures if picture.name == name]
    lines = [HEAD, "## Answers", "", table(["claim", "verdict", "in one sentence"], rows), "", "## Three pictures"]
    for picture in pictures:
        lines += ["", f"![{picture.caption}](figures/{picture.name}.svg)", "", f"*{picture.caption}*"]
    lines += ["", "## The field", "", _field(runs), "", "## What it cost", "", _cost(runs)]
    lines += ["", "## What it cannot say", "", CANNOT, "## Outstanding", "", *_begun(runs)]
    lines += [
        *(f"- {title}" for title in missing),
        "- Fine-tuning EfficientNet-Lite0 on CUB and Cars196 photographs.",
        "",
    ]
    return "\n".join(lines)


def _field(runs: Sequence[ExportedRun]) -> str:
    rows = []
    for data, title in DATA.items():
        some = [run for run in runs if run.data == data]
        if some:
            methods = {run.method for run in some}
            seeds = {run.seed for run in some if run.is_final}
            rows.append([title, str(len(methods)), str(len(seeds)), str(len(some))])
    return table(["data", "methods and variants", "seeds", "runs"], rows)


def _cost(runs: Sequence[ExportedRun]) -> str:
    studies = sorted({run.study for run in runs})
    rows = []
    for study in studies:
        some = [run for run in runs if run.study == study]
        rows.append([f"`{study}`", str(len(some)), f"{cpu_hours(some):.2f}"])
    return table(["study", "runs", "CPU hours"], [*rows, ["all", str(len(runs)), f"{cpu_hours(runs):.2f}"]])


def _begun(runs: Sequence[ExportedRun]) -> list[str]:
    """Return a line for the data sets of C1 that have no finished methods yet."""
    done = {run.data for run in runs if run.is_final and run.study.startswith("c1_")}
    missing = [title for data, title in DATA.items() if data in ("cars196", "icons") and data not in done]
    return [f"- C1, C2, C6, C9, C12, C13 and C15 on further data: {'; '.join(missing)}."] if missing else []
