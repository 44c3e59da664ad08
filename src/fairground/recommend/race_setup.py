"""What a race is about, from the choice made for the data: data, protocol, field, other settings and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairground.recommend.protocol_choice import ProtocolChoice
from fairground.spec.load import load_run
from fairground.spec.study import DataSpec, MethodSpec, StudySpec, study_to_plain
from fairground.spec.study_load import load_study


@dataclass(frozen=True, kw_only=True)
class RaceSetup:
    """`study` has data, protocol and field; `further` are other settings of its objectives; `epochs` the protocol's."""

    study: StudySpec
    further: tuple[MethodSpec, ...]
    baselines: tuple[MethodSpec, ...]
    epochs: int

    def plain(self) -> Mapping[str, Any]:
        """Return all that decides the digits, as JSON-ready data."""
        return {
            "study": study_to_plain(self.study),
            "further": [vars(method) for method in self.further],
            "baselines": [vars(method) for method in self.baselines],
        }


def race_setup(
    choice: ProtocolChoice, *, label: str, data: Sequence[str], words: Sequence[str], seed: int
) -> RaceSetup:
    """Return the setup of a race for a data set named by `data` words; `words` are the user's own and win."""
    field, settings = load_study(choice.field), load_study(f"{choice.field}-settings")
    known = {method.label for method in field.methods}
    said = {word.partition("=")[0]: word for word in (*choice.words, *words)}
    study = replace(
        field,
        name=f"recommend {label}",
        overrides=tuple(said.values()),
        data=(DataSpec(label=label, words=tuple(data)),),
        seed=seed,
    )
    spec = load_run(protocol=study.protocol, overrides=[*data, *said.values()])
    return RaceSetup(
        study=replace(study, selection=replace(study.selection, metric=spec.evaluation.select_by)),
        further=tuple(method for method in settings.methods if method.label not in known),
        baselines=choice.baselines,
        epochs=spec.training.epochs,
    )
