"""Hubs: a few validation images have become the neighbours of very many.

Looks at
    The analysis `hubness` of up to 512 validation embeddings: the skewness of how often a row is named among the 10
    nearest of others (Radovanović, Nanopoulos and Ivanović, JMLR 2010).

Rule
    In two check-ups in a row the skewness is above 2 and at least 1.5 times that of the untrained model.

Thresholds
    Ours: on the icons it is 1.5 before training and 0.3 to 1.3 after it, for every loss tried at its default settings;
    512 points round one direction of 64 dimensions have 3.5.

Remedy
    Fewer dimensions, for hubs grow with their number (the same paper, section 4); or smaller steps.
"""

from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, slower

SKEWNESS = 2.0
GROWTH = 1.5


class HubsSign(Sign):
    """Hubs answer every query, whether they belong to it or not."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return how skewed the neighbourhoods are."""
        history = run.history
        late = history.checkups[-2:]
        before = 0.0 if history.untrained is None else history.untrained.hubness
        limit = max(SKEWNESS, GROWTH * before)
        if len(late) < 2 or any(checkup.hubness <= limit for checkup in late):
            return None
        now = late[-1]
        sentence = (
            f"a few validation images are neighbours of very many (hubness {now.hubness:.1f}, {before:.1f} before "
            f"training; the largest hub is named {now.largest_hub:.0f} times as often as the mean)"
        )
        width = run.spec.head.settings.get("embedding_dim")
        fewer = f"lower head.embedding_dim ({width} now) or " if width else ""
        return Diagnosis(sentence, f"{fewer}{slower(run.spec)}")
