import torch
from torch import nn

from fairground.heads.mlp import MlpHead


def test_layers_stand_as_the_settings_say() -> None:
    head = MlpHead(n_features=8, embedding_dim=2, hidden=(6, 5), activation="gelu", batch_norm=True)
    kinds = [type(layer) for layer in head.layers]
    assert kinds == [nn.Linear, nn.BatchNorm1d, nn.GELU, nn.Linear, nn.BatchNorm1d, nn.GELU, nn.Linear]
    assert [layer.out_features for layer in head.layers if isinstance(layer, nn.Linear)] == [6, 5, 2]


def test_a_value_by_hand() -> None:
    head = MlpHead(n_features=1, embedding_dim=1, hidden=(2,))
    with torch.no_grad():
        head.layers[0].weight.copy_(torch.tensor([[1.0], [-1.0]]))
        head.layers[0].bias.copy_(torch.tensor([0.5, 0.5]))
        head.layers[2].weight.copy_(torch.tensor([[2.0, 3.0]]))
        head.layers[2].bias.fill_(1.0)
    # 2 * relu(2 + .5) + 3 * relu(-2 + .5) + 1 = 6;  2 * relu(-1.5) + 3 * relu(2.5) + 1 = 8.5
    assert head(torch.tensor([[2.0], [-2.0]])).ravel().tolist() == [6.0, 8.5]
