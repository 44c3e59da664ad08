"""Options that several commands share, each declared once."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fairground.commands import AnyPath, require
from fairground.studies.executors.executor import Executor, Watch, executor_named

Spawn = Callable[[str, Watch], Executor]
AsJson = Annotated[bool, "--json", "Print JSON instead of text."]
Quiet = Annotated[bool, "-q", "No progress output."]
Metric = Annotated[str | None, "-m", "Metric to rank by (default: the one used for selection)."]
Overrides = Annotated[Sequence[str], "[KEY=VALUE]...", "Overrides: loss=triplet loss.margin=0.1 seed=3"]
Chosen = Annotated[
    Sequence[str], "[STUDY|RUN...]", "A study or methods by hash, a study or runs by name (default: all)."
]
Metrics = Annotated[str | None, "-m", "Metrics, separated by commas: recall@1,map@r,nmi."]
Average = Annotated[Literal["queries", "classes"], "Average over queries, or over class means."]
Rerank = Annotated[
    Literal["none", "k_reciprocal", "query_expansion"],
    "Also measure lists re-ranked by what is near what in the whole gallery. Such scores are transductive.",
]
Config = Annotated[AnyPath | None, "-c", "TOML file with a full or partial spec."]
Loggers = Annotated[Sequence[str], "--logger", "Also log to tensorboard, wandb (offline) or mlflow. May be repeated."]
WithDoctor = Annotated[
    bool,
    "--doctor/--no-doctor",
    "Warn about training problems such as collapse and suggest a remedy. Does not change results.",
]
Device = Annotated[
    str,
    "Where to compute: cpu, cuda, cuda:1, mps, or auto: an accelerator if there is one. The run's name leaves it out.",
]
Threads = Annotated[int | None, "CPU threads (default: all). Results are reproducible for a fixed number.", {"min": 1}]
Again = Annotated[bool, "Train from the beginning, stored or not; the old record stays in the run's history."]
StudyAgain = Annotated[bool, "Make again what was made with other data or code; old records stay in the history."]
ExecutorName = Annotated[str, "Where runs are made: inline, processes (this machine), ray or slurm (clusters)."]
Workers = Annotated[int, "Number of runs at once.", {"min": 1}]
WorkerThreads = Annotated[int, "CPU threads per run. Results are reproducible for a fixed number.", {"min": 1}]
GpusPerRun = Annotated[
    float | None,
    "GPUs per run; below 1, a share of one (default: processes share all evenly, with ray and slurm none).",
    {"min": 0},
]
Slurm = Annotated[
    Sequence[str],
    "--slurm",
    "With slurm: a setting of sbatch, like partition=gpu; time is in minutes. May be repeated.",
]
Address = Annotated[str | None, "Ray cluster's address (default: this machine's)."]


def executor_of(
    executor: ExecutorName = "processes",
    *,
    workers: Workers = 2,
    threads: WorkerThreads = 1,
    gpus_per_run: GpusPerRun = None,
    address: Address = None,
    slurm: Slurm = (),
    device: Device = "auto",
) -> Spawn:
    """Return what starts such an executor for a job, given by its dotted path, and a function that hears of events."""
    require(workers >= 1, f"workers must be at least 1; got {workers}")
    require(threads >= 1, f"threads must be at least 1; got {threads}")
    own = {"gpus_per_run": gpus_per_run, "address": address, "slurm": tuple(slurm)}

    def spawn(job: str, watch: Watch) -> Executor:
        return executor_named(executor, job, workers=workers, threads=threads, watch=watch, device=device, **own)

    return spawn


def split_names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
