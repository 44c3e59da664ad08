"""Open a trained model for use: pictures or features in, embeddings out."""

import os
from dataclasses import fields
from pathlib import Path

import numpy as np

from fairground.commands import Run, counted, home_folder
from fairground.deploy import Embeddable, ModelMetadata, UsableModel, open_model, read_inputs, write_model


class LoadedModel(UsableModel):
    """A trained network with its transform and what is known of it; `metadata` says the rest."""

    def embed(self, data: Embeddable, *, raw: bool = False, quiet: bool = False) -> np.ndarray:
        """Return the embeddings (n, d) in the order given.

        `data` is a list of image files, a folder, a table, one image, a file of features, or the name of a data set.
        `raw` leaves the embeddings as the network gives them, not scaled to length one.
        """
        inputs = read_inputs(data)
        with counted("embedding", is_quiet=quiet) as tell:
            blocks = self.blocks(inputs.images, raw=raw, tell=lambda done, of: tell("embedding", done, of))
            return np.concatenate([*blocks])

    def export(self, folder: str | os.PathLike[str], *, onnx: bool = False) -> ModelMetadata:
        """Write the model as a folder that can be handed on, and return what it says of itself."""
        return write_model(self, Path(folder), onnx=onnx)


def load_model(
    source: str | os.PathLike[str] | Run,
    *,
    home: str | os.PathLike[str] | None = None,
    measured: bool = False,
    device: str = "auto",
) -> LoadedModel:
    """Return the model of a folder that `fairground export` wrote, or the selected model of a run.

    `measured` also finds a run's thresholds and intervals on its validation split, which takes a while; an exported
    folder has them already. `device` is as for `train`.
    """
    folder = source.home if isinstance(source, Run) and home is None else home_folder(home)
    name = source.name if isinstance(source, Run) else os.fspath(source)
    opened = open_model(name, home=folder, measured=measured, device=device)
    return LoadedModel(**{field.name: getattr(opened, field.name) for field in fields(opened)})
