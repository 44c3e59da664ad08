"""The trials of a study, kept by Optuna's storage: SQLite in the study's folder, or PostgreSQL by URL.

A trial is entered with its settings in one transaction before any of its runs starts, so that a resumed search asks
nothing twice. Optuna notices dead workers only inside its own loop; here a trial without an end is simply taken up
again, and one driver at a time has the lock.
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from fairground.errors import InputError, StoreError, require
from fairground.spec.settings import Value
from fairground.spec.space import Range
from fairground.studies.suggest import frozen
from fairground.studies.trial import ENDED, Trial

if TYPE_CHECKING:
    import optuna

FILE_NAME = "search.sqlite"


class TrialStore:
    """The trials of one study, job by job. `url` is SQLAlchemy's, as in postgresql+psycopg://host/database.

    `higher_is_better` is for Optuna's own tools, which may look at the file; here every trial says so itself.
    """

    def __init__(
        self, url: str, *, study: str, is_read_only: bool = False, higher_is_better: bool | None = True
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.url, self._study, self._is_read_only = url, study, is_read_only
        self._direction: Literal["minimize", "maximize"] = "minimize" if higher_is_better is False else "maximize"
        self._known: dict[str, optuna.Study] = {}
        arguments = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
        try:
            self._storage = optuna.storages.RDBStorage(
                url, engine_kwargs=arguments, skip_compatibility_check=is_read_only, skip_table_creation=is_read_only
            )
        except ImportError as error:
            raise InputError(f"{_shown(url)} needs a driver: pip install 'fairground[postgres]' ({error})") from error
        except Exception as error:
            raise StoreError(f"cannot open the search at {_shown(url)}: {_first_line(error)}") from error

    @classmethod
    def in_folder(cls, folder: Path, *, study: str, higher_is_better: bool | None = True) -> "TrialStore":
        """Return the trials kept in the study's own folder."""
        url = f"sqlite:///{(folder / FILE_NAME).absolute()}"
        return cls(url, study=study, higher_is_better=higher_is_better)

    @classmethod
    def read_only(cls, folder: Path, *, study: str) -> "TrialStore | None":
        """Return the trials in a study's folder for reading alone, so that a running search is not disturbed."""
        path = (folder / FILE_NAME).absolute()
        if not path.exists():
            return None
        # Asked of its name: opening a pipe would wait for ever, and closing a file lets go of SQLite's locks on it.
        require(path.is_file(), f"the search at {path} cannot be read: it is not a plain file", StoreError)
        url = f"sqlite:///file:{quote(str(path))}?mode={{}}&uri=true"
        try:
            return cls(url.format("ro"), study=study, is_read_only=True)
        except StoreError:
            # A driver that was killed leaves a transaction half done, which only a writer may take back.
            return cls(url.format("rw"), study=study, is_read_only=True)

    def trials(self, job: str) -> list[Trial]:
        """Return the trials of a job by number."""
        if self._is_read_only and not self._is_entered(job):
            return []
        found = self._optuna(job).get_trials(deepcopy=False)
        return [_read(trial) for trial in sorted(found, key=lambda trial: trial.number)]

    def enter(self, job: str, ranges: Mapping[str, Range], settings: Mapping[str, Value]) -> None:
        """Write down that these settings will be tried."""
        trial = frozen(ranges, Trial(number=0, settings=settings))
        self._optuna(job).add_trial(trial)

    def end(self, job: str, trial: Trial) -> None:
        """Write down how a trial ended; one that has ended already stays as it is."""
        import optuna

        study = self._optuna(job)
        stored = study.get_trials(deepcopy=False)[trial.number]
        if stored.state.is_finished():
            return
        assert trial.state in ENDED
        # Optuna is given the score last: a kill before that leaves the trial to be ended again.
        entry = {
            "folds": dict(trial.folds),
            "failure": trial.failure,
            "seconds": trial.seconds,
            "higher_is_better": trial.higher_is_better,
        }
        self._storage.set_trial_user_attr(stored._trial_id, "fairground", json.dumps({"state": trial.state, **entry}))
        if trial.state == "done":
            study.tell(trial.number, trial.score)
            return
        if trial.state == "pruned":
            for step, value in frozen({}, Trial(number=0, settings={}, folds=trial.folds)).intermediate_values.items():
                self._storage.set_trial_intermediate_value(stored._trial_id, step, value)
        is_pruned = trial.state == "pruned"
        study.tell(trial.number, state=getattr(optuna.trial.TrialState, "PRUNED" if is_pruned else "FAIL"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of a shared storage while the block lasts; on this machine the study's folder has its own."""
        if not self.url.startswith("postgresql"):
            yield
            return
        import sqlalchemy

        engine = sqlalchemy.create_engine(self.url, isolation_level="AUTOCOMMIT")
        # The server releases such a lock when the connection ends, however its owner died.
        with engine.connect() as connection:
            query = sqlalchemy.text("SELECT pg_try_advisory_lock(:key)")
            is_ours = connection.execute(query, {"key": int(self._study, 16) % 2**62}).scalar()
            require(bool(is_ours), f"study {self._study} is being searched by another driver", StoreError)
            yield
        engine.dispose()

    def close(self) -> None:
        """Close the connections."""
        self._storage.remove_session()
        self._storage.engine.dispose()

    def _is_entered(self, job: str) -> bool:
        name = f"{self._study}/{job}"
        return any(study.study_name == name for study in self._storage.get_all_studies())

    def _optuna(self, job: str) -> "optuna.Study":
        import optuna

        if job not in self._known and self._is_read_only:
            self._known[job] = optuna.load_study(study_name=f"{self._study}/{job}", storage=self._storage)
        if job not in self._known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                self._known[job] = optuna.create_study(
                    study_name=f"{self._study}/{job}",
                    storage=self._storage,
                    direction=self._direction,
                    load_if_exists=True,
                )
        return self._known[job]


def _read(trial: "optuna.trial.FrozenTrial") -> Trial:
    entry = json.loads(trial.user_attrs["fairground"]) if trial.state.is_finished() else {}
    return Trial(
        number=trial.number,
        settings=dict(trial.params),
        state=entry.get("state", "asked"),
        folds={int(fold): score for fold, score in entry.get("folds", {}).items()},
        failure=entry.get("failure"),
        seconds=entry.get("seconds", 0.0),
        # Trials from before scores had a direction were all ranked as if more were better.
        higher_is_better=entry.get("higher_is_better", True),
    )


def _shown(url: str) -> str:
    """Return a URL without what must not be printed."""
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://...{at}{after}" if at else url


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
