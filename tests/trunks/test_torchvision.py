import importlib
import sys

import pytest

from fairground.trunks._torchvision import import_torchvision


def test_torchvision_can_be_imported_and_its_networks_made() -> None:
    import_torchvision()
    import_torchvision()
    assert sys.modules["torchvision"].models.resnet18 is not None


def test_any_other_trouble_is_left_to_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(RuntimeError, match="something else"):
        import_torchvision()
