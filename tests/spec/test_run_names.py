"""Names of runs stay what they were when settings are added later."""

from dataclasses import replace

from fairground.spec.identity import name_of, to_plain
from fairground.spec.load import load_run, run_from_plain


def test_a_setting_that_came_later_changes_no_name_at_its_default():
    spec = load_run(overrides=["data=synthetic"])
    plain = to_plain(spec)
    assert "clustering_seeds" not in plain["evaluation"]
    assert run_from_plain(plain) == spec
    more = replace(spec, evaluation=replace(spec.evaluation, clustering_seeds=5))
    assert name_of(more) != name_of(spec)
    assert run_from_plain(to_plain(more)) == more
