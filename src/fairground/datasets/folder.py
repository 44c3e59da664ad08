"""A folder of your own: one folder of images for each class, perhaps divided into train, validation and test.

Formula
    root/<class>/.../<image>                       all images, divided by the split you name
    root/{train,validation|val,test}/<class>/...   each image's part is listed, for split=listed

Paper
    None.

Departures from the paper
    Hidden files and folders are passed over. A link to a folder that is read anyway, or that this folder is in, is
    refused. What else is left out, such as a text file among the images, is noted in the record.
"""

import numpy as np

from fairground.contracts.dataset import DataError, ImageTable, require
from fairground.loading import PARTS, PhotoDataset, class_folder_table, held_out, photo_table, scan_classes, sub_folders


class FolderDataset(PhotoDataset):
    """`root` has the class folders, or folders called train, validation (or val) and test that have them."""

    source = "Give a folder that has one folder of images for each class"

    def photos(self) -> ImageTable:
        root = self.folder()
        complaint = f"folder.root: no images in class folders below {root}. {self.source}"
        inside = {name: PARTS[name.lower()] for name in sub_folders(root) if name.lower() in PARTS}
        if not {"train"} < set(inside.values()):
            whole = scan_classes(root)
            require(len(whole.paths) > 0, complaint, DataError)
            return class_folder_table(root, whole)
        inside = dict(sorted(inside.items(), key=lambda item: (list(PARTS.values()).index(item[1]), item[0])))
        found = {name: scan_classes(root / name) for name in inside}
        names = sorted({name for part in found.values() for name in part.names})
        number = {name: label for label, name in enumerate(names)}
        labels = [number[part.names[label]] for part in found.values() for label in part.labels]
        parts = np.array([inside[name] for name, part in found.items() for _ in part.paths], dtype="<U10")
        require(len(labels) > 0, complaint, DataError)
        strangers = [name for name in sub_folders(root) if name not in inside]
        notes = tuple(note for part in found.values() for note in part.notes)
        if strangers:
            notes += (f"data: left out {len(strangers)} folders beside train and test; the first is '{strangers[0]}'",)
        return photo_table(
            root,
            [f"{name}/{path}" for name, part in found.items() for path in part.paths],
            np.array(labels),
            class_names=tuple(names),
            official_test=held_out(parts),
            listed_parts=parts,
            notes=notes,
        )
