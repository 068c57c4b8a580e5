"""Kaldi's own feature files (binary, text, compressed) decode to the exact numbers."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

golden = Path(os.environ.get("TRELLIS_SHARED", "/nonexistent")) / "golden/kaldi/an4-mono"
if not golden.is_dir():
    print(f"skipped: there is no {golden}")
    sys.exit(77)
try:
    import kaldi_native_io as kio
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def by_trellis(place, folder):
    out = Path(folder) / "npy"
    subprocess.run([os.environ["TRELLIS"], "features", "copy", "-q", str(place), f"npy:{out}"], check=True)
    return {path.stem: np.load(path) for path in out.iterdir()}


def parse_text(path):
    """Words, not a copy of any reader: the id before '[', the rows after it."""
    result = {}
    for line in path.read_text().splitlines():
        if line.endswith("["):
            rows = result.setdefault(line.split()[0], [])
        else:
            rows.append([np.float32(word) for word in line.replace("]", "").split()])
    return {key: np.array(rows, np.float32) for key, rows in result.items()}


def same(name, a, b):
    assert sorted(a) == sorted(b) and len(a) == 3, (name, sorted(a), sorted(b))
    for key in a:
        assert a[key].shape == b[key].shape and a[key].dtype == np.float32, (name, key)
        assert a[key].tobytes() == b[key].tobytes(), (name, key)


with tempfile.TemporaryDirectory() as folder:
    text = by_trellis(f"ark:{golden}/feats3.txt", folder)
    same("text", text, parse_text(golden / "feats3.txt"))
    binary = by_trellis(golden / "feats3.ark", folder)
    same("binary", binary, {key: np.array(value) for key, value in kio.SequentialFloatMatrixReader(f"ark:{golden}/feats3.ark")})
    for key in binary:  # the text has seven digits
        printed = np.array([[np.float32(f"{x:.7g}") for x in row] for row in binary[key].astype(float)], np.float32)
        assert np.array_equal(printed, text[key]), key
    compressed = by_trellis(golden / "feats3_compressed.ark", folder)
    same("compressed", compressed,
         {key: np.array(value) for key, value in kio.SequentialFloatMatrixReader(f"ark:{golden}/feats3_compressed.ark")})
    for key in compressed:  # and lossy, but near
        assert np.abs(compressed[key] - binary[key]).max() < 0.02 * np.ptp(binary[key]), key
print("three utterances, binary, text and compressed: the same numbers")
