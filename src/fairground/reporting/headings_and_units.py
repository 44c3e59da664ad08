"""How names and numbers are written for readers: headings, units, lengths, durations, sizes."""

from fairground import comparison
from fairground.spec.metric_names import declared_metric, is_share


def heading(metric: str) -> str:
    """Return the metric's name as papers print it; a user's own metric keeps its name."""
    declared = declared_metric(metric)
    return metric if declared is None else declared.title


def show(metric: str, value: float) -> str:
    """Return one score as text: a share in per cent with two decimals, anything else with four digits."""
    return f"{100 * value:.2f}" if is_share(metric) else f"{value:.4g}"


def with_unit(metric: str, value: float) -> str:
    return show(metric, value) + unit(metric)


def show_interval(metric: str, interval: "comparison.Interval") -> str:
    """Return `mean ± half width`, or the mean alone when one value has no interval."""
    half = interval.half_width
    return show(metric, interval.mean) + ("" if half is None else f" ± {show(metric, half)}")


def unit(metric: str) -> str:
    return " %" if is_share(metric) else ""


def clean(name: str) -> str:
    """Return a name in one line without control characters and changes of text direction."""
    return "".join(sign for sign in " ".join(name.split()) if sign.isprintable())


def shorten(name: str, width: int) -> str:
    flat = clean(name)
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def squeeze(name: str, width: int) -> str:
    """Return a clean name of at most `width` characters, shortened in the middle: methods often differ at the end."""
    flat = clean(name)
    tail = (width - 1) // 2
    return flat if len(flat) <= width else f"{flat[: width - 1 - tail]}…{flat[-tail:]}"


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def size(n_bytes: float) -> str:
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
