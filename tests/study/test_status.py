"""How far a study is can be read while it works, without touching its search."""

from fairground.spec.space import Real
from fairground.study.trial import Trial
from fairground.study.trial_store import TrialStore

RANGES = {"loss.margin": Real(low=0.0, high=1.0)}


def test_a_book_to_look_into_reads_trials_and_changes_nothing(tmp_path):
    folder = tmp_path / "a folder, 100 %"
    folder.mkdir()
    assert TrialStore.to_look(folder, study="abcd") is None
    book = TrialStore.in_folder(folder, study="abcd")
    book.enter("icons/Triplet", RANGES, {"loss.margin": 0.5})
    book.enter("icons/Triplet", RANGES, {"loss.margin": 0.25})
    book.end("icons/Triplet", Trial(number=0, settings={"loss.margin": 0.5}, state="done", folds={0: 0.5}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    looked = TrialStore.to_look(folder, study="abcd")
    assert [(trial.state, trial.settings["loss.margin"]) for trial in looked.trials("icons/Triplet")] == [
        ("done", 0.5),
        ("asked", 0.25),
    ]
    # A cell whose search has not begun is not entered by being looked at.
    assert looked.trials("icons/Margin") == []
    looked.close()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    book.close()
