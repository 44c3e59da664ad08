"""The command lines of Roth et al. and ours: the page's flags, read as a translator would, must say what ours say."""

import re

import pytest

from fairground.spec import load_run, parse_overrides
from tests.migration.page import blocks, quoted, section, table, value_at

PAGE = section("Revisiting Deep Metric Learning")
FLAGS = {flag: ours for flags, _, ours in table(PAGE, "flag", "default", "ours") for flag in quoted(flags)}
DEFAULTS = {flags: said for flags, said, _ in table(PAGE, "flag", "default", "ours")}
WORDS = {said: ours for words, ours in table(PAGE, "word", "ours") for said in quoted(words)}
LINES = re.findall(r"# (python main\.py .*)\nfairground train (.*)\n", blocks(PAGE, "sh")[0])
#: every flag of their parameters.py
THEIRS = """
dataset use_tv_split tv_split_by_samples tv_split_perc augmentation lr fc_lr decay n_epochs kernels bs seed scheduler
gamma tau optim loss batch_mining embed_dim not_pretrained arch no_train_metrics evaluate_on_gpu evaluation_metrics
storage_metrics evaltypes gpu savename source_path save_path log_online wandb_key project group
loss_contrastive_pos_margin loss_contrastive_neg_margin loss_triplet_margin loss_margin_margin loss_margin_beta_lr
loss_margin_beta loss_margin_nu loss_margin_beta_constant loss_proxynca_lrmulti loss_npair_l2 loss_angular_alpha
loss_angular_npair_ang_weight loss_angular_npair_l2 loss_multisimilarity_pos_weight loss_multisimilarity_neg_weight
loss_multisimilarity_margin loss_multisimilarity_thresh loss_lifted_neg_margin loss_lifted_l2
loss_quadruplet_margin_alpha_1 loss_quadruplet_margin_alpha_2 loss_softtriplet_n_centroids
loss_softtriplet_margin_delta loss_softtriplet_gamma loss_softtriplet_lambda loss_softtriplet_reg_weight
loss_softtriplet_lrmulti loss_softmax_lr loss_softmax_temperature loss_histogram_nbins loss_snr_margin
loss_snr_reg_lambda loss_arcface_lr loss_arcface_angular_margin loss_arcface_feature_scale miner_distance_lower_cutoff
miner_distance_upper_cutoff miner_rho_distance_lower_cutoff miner_rho_distance_upper_cutoff miner_rho_distance_cp
data_sampler samples_per_class data_batchmatch_bigbs data_batchmatch_ncomps data_storage_no_update
data_d2_coreset_lambda data_gc_coreset_lim data_sampler_lowproj_dim data_sim_measure data_gc_softened
data_idx_full_prec data_mb_mom data_mb_lr
"""
#: data set there -> here
SETS = {"cub200": "cub200", "cars196": "cars196", "online_products": "sop"}


def flags_of(line):
    """Return their flags with their values, True for a flag without one."""
    found = {}
    for said in re.split(r"\s--", line)[1:]:
        name, _, value = said.partition(" ")
        found[f"--{name}"] = value.strip() or True
    return found


def translated(flag, value):
    """Return our words for one flag of theirs, by the page's tables; none where it has no counterpart."""
    if flag in ("--loss", "--batch_mining", "--data_sampler"):
        return [word for said in quoted(WORDS[f"{flag} {value}"])[:1] for word in said.split()]
    if flag == "--arch":
        trunk, *suffixes = value.split("_")
        frozen = "stats" if "frozen" in suffixes else "none"
        return [*quoted(WORDS[f"--arch {trunk}"]), f"training.freeze_batch_norm={frozen}"]
    if flag == "--source_path":
        return []
    ours = FLAGS[flag]
    if ours.startswith(("no ", "see ", "as above", "`fairground")) or ours.startswith("`--"):
        return []
    assert "times" not in ours
    return [word.replace("N", str(value)) for word in quoted(ours)[0].split()]


@pytest.mark.parametrize(("theirs", "ours"), LINES, ids=[str(number) for number in range(len(LINES))])
def test_a_line_of_theirs_says_what_ours_says(theirs, ours):
    words = ours.split()
    assert words[0] == "--protocol"
    spec = load_run(protocol=words[1], overrides=parse_overrides(words[2:]))
    flags = flags_of(theirs)
    assert words[1] == f"roth2020-{SETS[flags['--dataset']]}"
    assert value_at(spec, "data.root") == f"data/{flags['--dataset']}"
    checked = 0
    for flag, value in flags.items():
        for word in translated(flag, value):
            key, _, expected = word.partition("=")
            found = value_at(spec, key)
            expected = expected.partition("@roth")[0]
            checked += 1
            if expected in ("none", "true", "false"):
                # A part left out is none; batch norm that is not frozen is called so.
                assert str(found).lower() == expected, word
            elif isinstance(found, int | float):
                assert found == pytest.approx(float(expected)), word
            else:
                assert found == expected, word
    assert checked > 4


def test_every_flag_of_theirs_is_spoken_of():
    assert {f"--{flag}" for flag in THEIRS.split()} == set(FLAGS)


def test_their_defaults_are_the_protocols():
    spec = load_run(protocol="roth2020-cub200", overrides={"data.root": "data", "loss": "margin@roth"})
    for flag in ("--n_epochs", "--bs", "--samples_per_class", "--lr", "--decay", "--embed_dim", "--loss_margin_beta"):
        (word,) = translated(flag, DEFAULTS[f"`{flag}`"])
        key, _, expected = word.partition("=")
        assert value_at(spec, key) == pytest.approx(float(expected)), word


@pytest.mark.parametrize("said", [said for said in WORDS if said.startswith("--")])
def test_every_word_of_theirs_is_one_of_ours_or_has_none(said):
    ours = WORDS[said]
    if ours.startswith("no counterpart"):
        return
    words = quoted(ours)[0].split()
    spec = load_run(protocol="roth2020-cub200", overrides=parse_overrides(["data.root=data", *words]))
    key, _, name = words[0].partition("=")
    assert value_at(spec, key) == (None if name == "none" else name.partition("@")[0])
