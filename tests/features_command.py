"""For the Python tests of the front end: sounds, folders of them, and what `trellis features` makes of them."""

import os
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

shared = Path(os.environ.get("TRELLIS_SHARED", "/nonexistent"))


def features(corpus, settings, *words):
    """Frames by utterance id. Settings: `preset=plp deltas=2 …`; without a preset mfcc."""
    options = []
    for setting in settings.split():
        options += ["--preset", setting[7:]] if setting.startswith("preset=") else ["--set", setting]
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ["TRELLIS"], "features", corpus, "-q", "-o", f"npy:{folder}", *options, *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        return {path.stem: np.load(path).astype(np.float64) for path in Path(folder).iterdir()}


def write_wav(path, samples, rate):
    """16-bit samples."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(np.asarray(samples, "<i2").tobytes())


def speech_like(rate, seconds, seed):
    """16-bit samples of a gliding voice with syllables, formant-like slope and breath noise: energy in every mel bin."""
    random = np.random.default_rng(seed)
    t = np.arange(int(rate * seconds)) / rate
    phase = np.cumsum(2 * np.pi * (110 + 10 * seed + 30 * np.sin(4 * t)) / rate)
    voice = sum(np.sin(h * phase) / h for h in range(1, 25))
    syllables = 0.05 + np.sin(2 * np.pi * 2.3 * t) ** 2
    return np.round(4000 * syllables * voice + 100 * random.standard_normal(len(t))).astype(np.int16)


def an4(folder, count):
    """A Kaldi folder of `count` AN4 utterances spread over the speakers, and their samples; None where AN4 is absent."""
    root = shared / "data/an4"
    if not (root / "train/wav.scp").is_file():
        return None
    lines = [line.split() for part in ("train", "test") for line in (root / part / "wav.scp").read_text().splitlines()]
    chosen = lines[:: len(lines) // count][:count]
    folder = Path(folder)
    (folder / "wav.scp").write_text("".join(f"{id} {root / path}\n" for id, path in chosen))
    return {id: root / path for id, path in chosen}


def decode(path, rate=16000):
    """The samples of a sound file, 16-bit, by sox."""
    raw = subprocess.run(["sox", path, "-t", "s16", "-r", str(rate), "-"], capture_output=True, check=True).stdout
    return np.frombuffer(raw, "<i2")


def assert_close(got, expected, tolerance, what):
    assert got.shape == expected.shape, f"{what}: {got.shape} instead of {expected.shape}"
    difference = np.abs(got - expected)
    excess = difference - tolerance
    if not (excess <= 0).all():  # NaN too
        t, i = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), got.shape)
        raise AssertionError(f"{what}: frame {t}, coefficient {i}: {got[t, i]} instead of {expected[t, i]}")
