"""Settings out of range are refused in one sentence; wrong choices of a `Literal` are the contract suite's."""

import re

import pytest

from fairground.errors import InputError
from tests.contracts.losses import build

OUT_OF_RANGE = {
    "adaface": {"margin": 2, "concentration": -1, "scale": 0, "rate": 0},
    "adasp": {"temperature": 0},
    "angular": {"alpha": 90, "angular_weight": -1, "npair_weight": -1, "norm_weight": -1},
    "arc_face": {"margin": 4, "scale": -1, "clamp_min": 1.0},
    "centre": {"weight": -1, "n_classes": 0},
    "circle": {"margin": 2, "gamma": 0},
    "contrastive": {"positive_margin": 3, "negative_margin": -2.5},
    "cos_face": {"margin": 2.5, "scale": 0},
    "cross_batch_memory": {"size": 0, "start": -1},
    "elasticface": {"margin": 4, "deviation": -1, "scale": 0},
    "fast_ap": {"bins": 1},
    "generalised_lifted_structure": {"norm_weight": -1},
    "hierarchical_ap": {"temperature": 0, "slope": 0, "offset": -1.0, "alpha": 0, "positive_margin": 2},
    "hist": {"tau": 0, "alpha": -1, "hypergraph_weight": -1, "hidden": 0},
    "histogram": {"nodes": 2},
    "lifted_structure": {"margin": 3},
    "magface": {"low_norm": 0, "high_norm": 10, "low_margin": 2, "high_margin": 0.4, "scale": 0, "norm_weight": -1},
    "margin": {"margin": 3, "beta": -3, "beta_weight": -1},
    "multi_similarity": {"alpha": 0, "beta": -1, "base": 2, "epsilon": -0.1},
    "n_pair": {"norm_weight": -1},
    "nca": {"scale": 0},
    "normalised_softmax": {"temperature": 0, "n_classes": 0, "embedding_dim": 0},
    "nt_xent": {"temperature": 0, "log_floor": 2.0, "decoupled_sigma": 0},
    "pairwise_cross_entropy": {"temperature": 0, "curvature": 0, "longest": 0, "epsilon": -1},
    "proxy_anchor": {"n_classes": 0, "embedding_dim": 0, "margin": 2, "alpha": 0},
    "proxy_nca": {"scale": 0},
    "proxy_nca_pp": {"temperature": -1},
    "quadruplet": {"margin": 3, "second_margin": -3},
    "ranked_list": {"alpha": 3, "margin": 1.3, "negative_weight": 2, "negative_temperature": -1},
    "recall_at_k": {"ks": (0, 1), "rank_temperature": 0, "count_temperature": 0},
    "self_distillation": {"weight": -1, "temperature": 0, "feature_weight": -1, "feature_start": -1},
    "sigmoid_pairs": {"scale": 0},
    "smooth_ap": {"temperature": 0},
    "snr": {"positive_margin": -1, "negative_margin": -1, "zero_mean_weight": -1},
    "soft_triple": {"n_classes": 0, "n_centres": 0, "scale": 0, "gamma": 0, "margin": 3, "reg_weight": -1},
    "sphere_face": {"margin": 1.5, "cosine_weight": -1, "scale": 0},
    "sub_centre_arc_face": {"n_centres": 0, "margin": -1, "scale": 0},
    "sup_con": {"temperature": 0, "decoupled_sigma": 0},
    "triplet": {"margin": 3},
    "tuplet_margin": {"margin": 100, "scale": 0},
    "unified_cross_entropy": {"margin": 3, "scale": 0, "negative_weight": -1},
}
REFUSED = [
    *(
        (name, {setting: value}, rf"^{name}\.{setting} must .*got {re.escape(repr(value))}")
        for name, settings in OUT_OF_RANGE.items()
        for setting, value in settings.items()
    ),
    ("circle", {"gamma": None}, r"circle\.gamma must be a number; got None"),
    ("margin", {"beta_kind": "per_class", "n_classes": None}, "at least 1 for margin.beta_kind = 'per_class'; got No"),
    ("arc_face", {"margin": 200, "margin_unit": "degrees"}, r"in \[0, pi\] radians or \[0, 180\] degrees; got 200 deg"),
    ("cross_batch_memory", {"loss": "arc_face"}, "loss must be a loss on pairs or triplets; arc_face looks at"),
    ("cross_batch_memory", {"loss": "cross_batch_memory"}, "cross_batch_memory looks at the whole batch by itself"),
    ("cross_batch_memory", {"loss": "triplett"}, r"no loss 'triplett'. Did you mean 'triplet'\?"),
    ("cross_batch_memory", {"loss": "torch.nn:MSELoss"}, "wraps fairground's own losses; torch.nn:MSELoss is not one"),
    ("cross_batch_memory", {"settings": {"negative_margn": 1}}, "'negative_margn' of contrastive .* 'negative_margin'"),
    ("cross_batch_memory", {"loss": "margin", "settings": {"n_classes": 2}}, "no setting 'n_classes' of margin"),
    ("cross_batch_memory", {"miner_settings": {"low": 1}}, "cross_batch_memory.miner_settings needs a miner"),
    ("cross_batch_memory", {"loss": "triplet", "miner": "multi_similarity"}, "gives tuples that triplet does not take"),
    ("matryoshka", {"dimensions": [6]}, r"dimensions must be different whole numbers in 1\.\.5; got \[6\]"),
    ("matryoshka", {"dimensions": [2, 2]}, r"must be different whole numbers in 1\.\.5; got \[2, 2\]"),
    ("matryoshka", {"dimensions": [2, 4], "weights": [1.0]}, "weights must be one number per dimension, 2; got 1"),
    ("matryoshka", {"weights": [-1.0]}, r"matryoshka.weights must be 0 or more; got \[-1.0\]"),
    ("matryoshka", {"loss": "adaface"}, "class_weights must be 'own' for adaface, which keeps values from batch to"),
    ("matryoshka", {"settings": {"temprature": 1}}, "'temprature' of normalised_softmax in matryoshka.* 'temperature'"),
    ("multi_similarity", {"self_positive_bug": True}, "is a bug of the mining: set multi_similarity.epsilon with it"),
    ("nt_xent", {"decoupled": True, "log_floor": 0.1}, "log_floor must be left out where nt_xent.decoupled is set"),
    ("nt_xent", {"decoupled_sigma": 0.5}, "nt_xent.decoupled_sigma needs nt_xent.decoupled=true"),
    ("sup_con", {"decoupled_sigma": 0.5}, "sup_con.decoupled_sigma needs sup_con.decoupled=true"),
    ("nt_xent", {"log_floor": "small"}, "nt_xent.log_floor must be .* got 'small'"),
    ("self_distillation", {"branches": ()}, "this head has none; set head=self_distilled"),
    ("self_distillation", {"loss": "triplet", "miner": "multi_similarity"}, "gives tuples that triplet does not take"),
    ("triplet", {"margin": 5, "power": 2}, r"triplet.margin must be in \[-4, 4\], .* got 5"),
    ("weighted_sum", {"losses": []}, "weighted_sum.losses must name one loss at least"),
    ("weighted_sum", {"weights": [1.0]}, "weights must be one number per loss, 2; got 1"),
    ("weighted_sum", {"weights": [1.0, -1.0]}, "weights must be 0 or more"),
    ("weighted_sum", {"settings": {"triplet.margn": 1}}, "'margn' of triplet in weighted_sum. Did you mean 'margin'"),
    ("weighted_sum", {"settings": {"triplett.margin": 1}}, "none of its losses. Did you mean 'triplet'"),
    ("weighted_sum", {"miners": {"triplett": "semihard"}}, "miners.triplett is of none .* mean 'triplet'"),
    ("weighted_sum", {"miners": {"triplet": "multi_similarity"}}, "gives tuples that triplet does not take"),
    ("weighted_sum", {"losses": ["torch.nn:CrossEntropyLoss"]}, "wraps fairground's own losses"),
]


@pytest.mark.parametrize(("name", "settings", "complaint"), REFUSED)
def test_a_setting_out_of_range_is_refused(name, settings, complaint):
    with pytest.raises(InputError, match=complaint):
        build(name, **settings)
