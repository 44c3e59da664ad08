"""What stands under the result table: what its numbers are, and what the marks ★, ≈ and ? mean."""

from fairground.comparison.comparison_result import no_verdict_on
from fairground.reporting import ResultTable, heading, show, unit
from fairground.spec.metric_names import is_share


def caption(table: ResultTable) -> str:
    counts = sorted({row.n_done for row in table.rows if row.n_done})
    others = "Imported: numbers of others, as they give them; no verdict is made on them." if table.imported else ""
    if not counts:
        return others or "No run has finished, so there is no score."
    shares = "in per cent, " if all(is_share(metric) for metric in table.metrics) else ""
    seeds = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    spread = f"mean ± half of the {100 * table.level:g} % interval" if counts[-1] > 1 else "single runs, no interval"
    text = f"Scores on the {table.split} classes, {shares}{spread}, over {seeds} seed{'' if counts == [1] else 's'}."
    methods = [method for found in table.comparisons.values() for method in found.methods]
    is_adjusted = any(abs(method.mean - method.average) > 1e-9 * abs(method.average) for method in methods)
    adjusted = "Means are adjusted for the seeds that some methods lack." if is_adjusted else ""
    return " ".join(part for part in (text, adjusted, legend(table), others) if part)


def legend(table: ResultTable) -> str:
    metric = table.primary
    cells = [row.cells[metric] for row in table.rows if metric in row.cells]
    marks = {cell.mark for cell in cells}
    if not marks - {""}:
        return ""
    comparison = table.comparisons[metric]
    margin = f"±{show(metric, comparison.margin)}{unit(metric)}"
    n_pairs = len(comparison.repeated.pairs)
    corrected = f", corrected for all {n_pairs} comparisons in the table" if n_pairs > 1 else ""
    meanings = {
        "best": "★ best (significantly better than, or equivalent to, all others).",
        "equivalent": f"≈ equivalent to the best: within {margin} of it.",
        "unsettled": "? not significantly different from the best.",
    }
    found = [meaning for mark, meaning in meanings.items() if mark in marks]
    if any(not cell.mark and cell.interval is not None and cell.interval.n > 1 for cell in cells):
        found.append("Unmarked: significantly worse than some method.")
    if comparison.single:
        found.append(no_verdict_on(comparison.single))
    return " ".join([f"Marks are for {heading(metric)}{corrected}:", *found])
