"""Seeds in waves: only methods in question get more, a kill changes nothing, and every page says why it is fair."""

import dataclasses
import json

import pytest

from fairground.comparison.compare_values import compare_values
from fairground.comparison.fairness_warnings import check_fairness
from fairground.errors import InputError
from fairground.records import RunRecord, Store
from fairground.reporting import from_study, page_text, results_plain, tables_of
from fairground.spec import SeedProcedure, UntilSettledSpec, load_study, study_hash
from fairground.studies import plan_of, results_so_far, status_of, stored_study, waves_so_far
from tests.studies.test_run_study import begun_twice, kill_driver, study_results

TOML = """
question = "Which margin is best?"
protocol = "laptop"
overrides = ["training.batch_size=32", "evaluation.metrics=['map@r']"]

[data]
icons = ["data=icons"]
synthetic = ["data=synthetic"]

[methods]
near = ["loss=triplet", "loss.margin=0.50"]
nearer = ["loss=triplet", "loss.margin=0.51"]
far = ["loss=triplet", "loss.margin=-0.2"]

[until_settled]
limit = 7
margin = 0.1
"""


@pytest.fixture
def study(tmp_path):
    return write_study(tmp_path)


def write_study(folder, text=TOML):
    path = folder / "margins.toml"
    path.write_text(text)
    return load_study(str(path))


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """The study run to its end: its home and its results."""
    home = tmp_path_factory.mktemp("settled")
    return home, study_results(write_study(home), home)


def seeds_of(results):
    return {result.job.label: [run.spec["seed"] for run in result.runs] for result in results}


def numbers(results):
    plain = [
        {key: value for key, value in row.items() if key != "seconds"}
        for row in results_plain(results, tables_of(results))
    ]
    return json.dumps([plain, seeds_of(results)], sort_keys=True)


def test_only_methods_in_question_get_more_seeds_by_the_rule(settled):
    home, results = settled
    seeds = seeds_of(results)
    for data in ("icons", "synthetic"):
        assert seeds[f"{data}/far"] == [1, 2, 3]
        assert seeds[f"{data}/near"] == seeds[f"{data}/nearer"]
        assert len(seeds[f"{data}/near"]) in (5, 7)
    procedure = SeedProcedure(plan=UntilSettledSpec(limit=7, margin=0.1), metric="map@r", first_seed=1)
    for record in (record for result in results for record in result.runs):
        assert record.seed_procedure == procedure
        assert Store(home).get(record.name) == record
        assert RunRecord.from_json(record.to_json()) == record
        assert procedure.sentence in record.notes


def test_killed_in_a_wave_it_goes_on_with_the_seeds_it_would_have_had(study, settled, tmp_path):
    home = tmp_path / "killed"
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.studies.test_waves import load_study, study_results\n"
        f"study_results(load_study({str(tmp_path / 'margins.toml')!r}), Path(sys.argv[1]), 'processes')"
    )
    # Eighteen runs are the first wave of both data sets; a twentieth belongs to the second.
    kill_driver(code, home, 20)
    midway = waves_so_far(study, home=home)
    assert all(wave.state == "running" for wave in midway.values())
    assert all(set(wave.in_question) <= {"near", "nearer"} for wave in midway.values())
    assert numbers(study_results(study, home)) == numbers(settled[1])
    assert begun_twice(home) <= 4


def test_status_and_plan_say_how_many_seeds_each_method_got(study, settled, tmp_path):
    assert waves_so_far(study, home=tmp_path) == {}
    assert (plan_of(study, home=tmp_path).n_final, plan_of(study, home=tmp_path).is_most) == (6 * 7, True)
    home, results = settled
    n = {label: len(found) for label, found in seeds_of(results).items()}
    rows = status_of(study, home=home)
    assert [(row.final_done, row.final_wanted) for row in rows] == [(n[row.job], n[row.job]) for row in rows]
    wave = waves_so_far(study, home=home)["icons"]
    assert wave.seeds == {"near": n["icons/near"], "nearer": n["icons/nearer"], "far": 3}
    assert wave.state in ("settled", "limit")
    assert f"seeds: near {n['icons/near']}, nearer {n['icons/nearer']}, far 3" in wave.sentence


def test_verdicts_pay_for_every_look_on_table_and_page(settled):
    home, results = settled
    found = tables_of(results)[0].table
    once = compare_values(found.values(), margin=0.001)
    comparison = found.comparisons["map@r"]
    assert found.waves.n_looks > 1
    for pair in comparison.pairs:
        alone = once.pair(pair.a, pair.b)
        assert pair.p >= alone.p
        assert pair.more_seeds is None
    # The pair whose methods have the same seeds now and at the last look is wider than a single look would have it.
    last, single = comparison.pair("near", "nearer"), once.pair("near", "nearer")
    assert last.high - last.low > single.high - single.low
    page = page_text(from_study(results, home=home, title="margins"))
    assert "Seeds were added in waves:" in page
    assert "The intervals are wider to pay for looking after every wave" in page
    assert "an equal number is fairer" not in page
    assert "Unequal numbers of runs" not in page
    assert "over all looks" in page


def test_seeds_of_another_study_do_not_count_and_its_own_are_fixed(study, tmp_path):
    fixed = dataclasses.replace(study, until_settled=None, repeats=9)
    assert study_hash(fixed) != study_hash(study)
    before = study_results(fixed, tmp_path)
    assert {len(result.runs) for result in before} == {9}
    assert {record.seed_procedure for result in before for record in result.runs} == {None}
    results = study_results(study, tmp_path)
    assert seeds_of(results)["icons/far"] == [1, 2, 3]
    assert [r.runs for r in results_so_far(study, home=tmp_path)] == [r.runs for r in results]
    again = study_results(fixed, tmp_path)
    assert {record.seed_procedure for result in again for record in result.runs} == {None}


def test_a_table_of_some_methods_in_waves_and_some_not_is_flagged(settled):
    methods = {result.job.method.label: result.runs for result in settled[1] if result.job.data.label == "icons"}
    flags = {flag.flag: flag for flag in check_fairness(methods, metric="map@r").flags}
    assert "seeds" not in flags
    assert flags["waves"].text.startswith("Runs of each method: near ")
    assert "fixed before the first run" in flags["waves"].why
    mixed = methods | {"far": [dataclasses.replace(run, seed_procedure=None) for run in methods["far"]]}
    flags = {flag.flag: flag for flag in check_fairness(mixed, metric="map@r").flags}
    assert flags["waves"].methods == ("near", "nearer")
    assert "does not correct for it" in flags["waves"].text
    assert "seeds" in flags


def test_folds_are_averaged_before_a_look_and_a_lost_run_is_not_waited_for(tmp_path):
    text = TOML.replace('far = ["loss=triplet", "loss.margin=-0.2"]', 'lost = ["loss=triplet", "loss.margin=1.8"]')
    study = write_study(tmp_path, text + '\n[folds]\nsplit = "class_folds"\nn = 2\n')
    results = study_results(study, tmp_path)
    by_label = {result.job.label: result for result in results}
    assert [run.state for run in by_label["icons/lost"].runs] == ["diverged"] * 6
    near = by_label["icons/near"]
    assert [run.spec["seed"] for run in near.runs][:4] == [1, 1, 2, 2]
    assert len(near.joined) == len(near.runs) / 2
    page = page_text(from_study(results, home=tmp_path, title="margins"))
    assert page.count("Seeds were added in waves:") == 4


def test_what_a_study_says_of_waves_is_read_checked_and_part_of_its_name(tmp_path):
    tiny = load_study("tiny")
    assert tiny.until_settled is None
    assert load_study("tiny", changes={"until_settled": False}) == tiny
    waves = load_study("tiny", changes={"until_settled": True})
    changed = load_study("tiny", changes={"until_settled.limit": 9, "until_settled.level": 0.9})
    assert waves.until_settled == UntilSettledSpec()
    assert changed.until_settled == UntilSettledSpec(limit=9, level=0.9)
    assert changed.repeat_seeds == tuple(range(1, 10))
    assert len({study_hash(tiny), study_hash(changed), study_hash(waves)}) == 3
    study = write_study(tmp_path)
    assert load_study(str(tmp_path / "margins.toml"), changes={"until_settled": True}) == study
    study_results(study, tmp_path)
    assert stored_study(next((tmp_path / "studies").glob("*/study.json"))) == study
    with pytest.raises(InputError, match=r"no key 'until_settled\.waves'.*Did you mean 'wave'"):
        load_study("tiny", changes={"until_settled.waves": 2})
    with pytest.raises(InputError, match="until_settled is a table"):
        load_study("tiny", changes={"until_settled": 3})
