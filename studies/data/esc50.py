"""ESC-50 for the studies: 2,000 sounds of 50 kinds, as simple features.

Formula
    log of the power in 64 mel bands (50 Hz to 16 kHz; windows of 46 ms, half overlapping); its mean and standard
    deviation over time, and those of its change from window to window: 256 numbers, standardised by training classes

Clips cut from one recording are a group: a query searches other recordings only. 25 kinds train, in order of the
SHA-256 of their names, the others test.
"""

import csv
from pathlib import Path

import numpy as np
from picture_set import Half, digest
from scipy.io import wavfile
from scipy.signal import stft
from vectors import Vectors, run

WINDOW, BANDS, LOWEST, HIGHEST = 2048, 64, 50.0, 16000.0
SOURCE = "karolpiczak/ESC-50, commit 33c8ce9eb2cf0b1c2f8bcf322eb349b6be34dbb6; licence CC BY-NC 3.0"
HALF = Half(classes=25, images=1000)


def vectors(repository: Path) -> Vectors:
    """Return the features of a copy of the repository."""
    with (repository / "meta" / "esc50.csv").open(encoding="utf-8", newline="") as opened:
        rows = sorted(csv.DictReader(opened), key=lambda row: row["filename"])
    learnt = set(sorted({row["category"] for row in rows}, key=digest)[:25])
    is_train = np.array([row["category"] in learnt for row in rows])
    features = np.array([sound_features(repository / "audio" / row["filename"]) for row in rows])
    features = (features - features[is_train].mean(0)) / features[is_train].std(0)
    return Vectors(
        features=features,
        names=[row["category"] for row in rows],
        is_train=is_train,
        files=[row["filename"] for row in rows],
        groups=[row["src_file"] for row in rows],
    )


def sound_features(path: Path) -> np.ndarray:
    """Return the 256 numbers of one sound."""
    rate, samples = wavfile.read(path)
    frequencies, _, spectrum = stft(samples.astype(np.float32) / 32768, fs=rate, nperseg=WINDOW)
    bands = np.log(mel_bands(frequencies) @ np.abs(spectrum) ** 2 + 1e-10)
    change = np.diff(bands, axis=1)
    return np.concatenate([bands.mean(1), bands.std(1), change.mean(1), change.std(1)])


def mel_bands(frequencies: np.ndarray) -> np.ndarray:
    """Return triangular filters (bands, frequencies) with centres equally far apart on the mel scale."""
    mel_ends = 2595 * np.log10(1 + np.array([LOWEST, HIGHEST]) / 700)
    edges = 700 * (10 ** (np.linspace(*mel_ends, BANDS + 2) / 2595) - 1)
    low, centre, high = (edges[start : start + BANDS, np.newaxis] for start in range(3))
    return np.clip(np.minimum((frequencies - low) / (centre - low), (high - frequencies) / (high - centre)), 0, None)


if __name__ == "__main__":
    run("esc50", SOURCE, HALF, vectors)
