"""How far a study is can be read while it works, without touching its search."""

from fairground.spec.space import Real
from fairground.studies.trial import Trial
from fairground.studies.trial_store import TrialStore

RANGES = {"loss.margin": Real(low=0.0, high=1.0)}


def test_a_book_to_look_into_reads_trials_and_changes_nothing(tmp_path):
    folder = tmp_path / "a folder, 100 %"
    folder.mkdir()
    assert TrialStore.read_only(folder, study="abcd") is None
    trial_store = TrialStore.in_folder(folder, study="abcd")
    trial_store.enter("icons/Triplet", RANGES, {"loss.margin": 0.5})
    trial_store.enter("icons/Triplet", RANGES, {"loss.margin": 0.25})
    trial_store.end("icons/Triplet", Trial(number=0, settings={"loss.margin": 0.5}, state="done", folds={0: 0.5}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    looked = TrialStore.read_only(folder, study="abcd")
    assert [(trial.state, trial.settings["loss.margin"]) for trial in looked.trials("icons/Triplet")] == [
        ("done", 0.5),
        ("asked", 0.25),
    ]
    # A cell whose search has not begun is not entered by being looked at.
    assert looked.trials("icons/Margin") == []
    looked.close()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    trial_store.close()
