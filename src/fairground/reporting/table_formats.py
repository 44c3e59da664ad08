"""The result table written out: for the terminal, Markdown, CSV and LaTeX."""

import csv
import io
import re
import textwrap
from collections.abc import Callable, Sequence

from fairground.reporting import ResultTable, TableCell, caption, clean, heading, shorten, show_interval

MARKS = {"best": "★", "equivalent": "≈", "unsettled": "?", "": ""}
LATEX_MARKS = {"best": "", "equivalent": r"$^{\approx}$", "unsettled": "$^{?}$", "": ""}


def text(table: ResultTable, *, width: int | None = None) -> str:
    return f"{text_table(_grid(table), width=width)}\n{folded(caption(table), width)}\n"


def _grid(table: ResultTable, escape: Callable[[str], str] = str) -> list[list[str]]:
    """Return the headings, then each method's name, number of runs and cells."""
    grid, is_latex = [[escape(name) for name in ("method", "n", *map(heading, table.metrics))]], escape is _escape_latex
    for row in (*table.rows, *table.imported):
        count = str(row.n_done) if row.n_done == row.n_runs else f"{row.n_done} of {row.n_runs}"
        cells = [_cell(metric, row.cells[metric], is_latex=is_latex) for metric in table.metrics]
        grid.append([escape(row.label), count, *cells])
    return grid


def text_table(grid: Sequence[Sequence[str]], *, width: int | None = None) -> str:
    """Return a heading, a rule and rows, numbers to the right; in several tables where `width` is too small."""
    grid = [[shorten(line[0], 48), *line[1:]] for line in grid]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    parts = []
    for columns in _column_groups(widths, width):
        lines = [
            "  ".join(line[i].rjust(widths[i]) if i else line[i].ljust(widths[i]) for i in columns) for line in grid
        ]
        lines.insert(1, "  ".join("-" * widths[i] for i in columns))
        parts.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(parts)


def folded(lines: str, width: int | None) -> str:
    """Return lines of at most `width` characters; wrapped lines keep their indent."""
    if width is None:
        return lines
    found = []
    for line in lines.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        further = f"{indent}  " if indent else ""
        found += textwrap.wrap(line, width, subsequent_indent=further, break_on_hyphens=False) or [line]
    return "\n".join(found)


def _column_groups(widths: list[int], width: int | None) -> list[list[int]]:
    """Return the columns of each table: the first two in each, and as many others as fit."""
    groups, room = [[0, 1]], widths[0] + 2 + widths[1]
    used = room
    for column in range(2, len(widths)):
        if width is not None and used + 2 + widths[column] > width and len(groups[-1]) > 2:
            groups.append([0, 1])
            used = room
        groups[-1].append(column)
        used += 2 + widths[column]
    return groups


def markdown(table: ResultTable) -> str:
    names, *rows = _grid(table, _escape_markdown)
    lines = [names, ["---", *(["---:"] * (len(names) - 1))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{caption(table)}\n"


def csv_text(table: ResultTable) -> str:
    """Return the table as CSV with unrounded numbers: mean, low and high of each metric."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [f"{metric} {part}" for metric in table.metrics for part in ("mean", "low", "high")]
    writer.writerow(["method", "runs done", "runs", "split", "level", *columns])
    for row in (*table.rows, *table.imported):
        numbers: list[float | None] = []
        for metric in table.metrics:
            interval = row.cells[metric].interval
            numbers += [None] * 3 if interval is None else [interval.mean, interval.low, interval.high]
        writer.writerow([_disarm(clean(row.label)), row.n_done, row.n_runs, table.split, table.level, *numbers])
    return out.getvalue()


def latex(table: ResultTable) -> str:
    names, *rows = [" & ".join(line) + r" \\" for line in _grid(table, _escape_latex)]
    begin = r"\begin{tabular}{l" + "r" * (len(table.metrics) + 1) + "}"
    end = [r"\bottomrule", r"\end{tabular}", "% " + caption(table)]
    return "\n".join([begin, r"\toprule", names, r"\midrule", *rows, *end]) + "\n"


def _cell(metric: str, cell: TableCell, *, is_latex: bool) -> str:
    if cell.interval is None:
        return "--" if is_latex else "-"
    number = show_interval(metric, cell.interval)
    if not is_latex:
        return f"{number} {MARKS[cell.mark]}".rstrip()
    number = number.replace("±", r"\pm")
    bold = rf"\mathbf{{{number}}}" if cell.mark == "best" else number
    return f"${bold}${LATEX_MARKS[cell.mark]}"


def _escape_markdown(label: str) -> str:
    marks = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", clean(label))
    return marks.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escape_latex(label: str) -> str:
    words = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^&%$#_{}]", lambda m: words.get(m[0], "\\" + m[0]), clean(label))


def _disarm(label: str) -> str:
    """Keep a spreadsheet from running a label as a formula."""
    return f"'{label}" if label.startswith(("=", "+", "-", "@")) else label


FORMATS: dict[str, Callable[[ResultTable], str]] = {"text": text, "md": markdown, "tex": latex, "csv": csv_text}
