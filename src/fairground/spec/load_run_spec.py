"""From TOML and overrides to a checked RunSpec: nothing is dropped and nothing is guessed."""

from pathlib import Path

from fairground.spec import Overrides, RunSpec, SpecDraft, Value, flat_tables, protocol_names, read_toml

DEFAULT_PROTOCOL = "laptop"
#: where overrides come from by default; errors begin with it
COMMAND_LINE = "the command line"
#: stands for what only the user can say
UNSAID = "(yours to say)"


def load_run(
    *,
    protocol: str | None = None,
    file: Path | None = None,
    overrides: Overrides | None = None,
    unsaid: str | None = None,
    origin: str = COMMAND_LINE,
) -> RunSpec:
    """Return the spec of a protocol, a TOML file and overrides, in that order; errors name the `origin` of the last.

    A required setting that is missing is refused or, to show a spec that is not to be run, replaced by `unsaid`.
    """
    written = read_toml(file) if file else {}
    chosen = protocol or str(written.pop("protocol", DEFAULT_PROTOCOL))
    draft = SpecDraft()
    draft.apply_protocol(chosen, list(protocol_names()))
    draft.apply(flat_tables(written, str(file)), str(file))
    draft.apply(overrides or {}, origin)
    draft.values["protocol"] = (chosen, origin)
    return draft.build(unsaid)


def run_from_plain(
    data: dict[str, Value], overrides: Overrides | None = None, *, origin: str = COMMAND_LINE
) -> RunSpec:
    """Return the spec that `to_plain` wrote down, with what the overrides change."""
    draft = SpecDraft()
    draft.apply(flat_tables(data, "the stored spec"), "the stored spec")
    draft.apply(overrides or {}, origin)
    return draft.build()
