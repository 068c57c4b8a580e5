"""What Kaldi itself computed of two recordings (commands in COMMANDS.txt beside them): within 1e-3 per coefficient."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import features_command as command
from features_command import np

GOLDEN = command.shared / "golden/kaldi"
CASES = {
    "mfcc16k": ("16k", ""),
    "mfcc16k_c0_htk": ("16k", "energy=none layout=htk"),
    "mfcc8k": ("8k", "rate=8000 energy=none"),
    "fbank16k": ("16k", "preset=fbank mel_bins=40"),
    "plp16k": ("16k", "preset=plp"),
    "plp8k": ("8k", "preset=plp rate=8000"),
    "mfcc16k_hamming_nosnip": ("16k", "window=hamming snip_edges=0"),
    "mfcc16k_deltas": ("16k", "deltas=2"),
    "mfcc16k_cmvn": ("16k", "cmvn=utterance cmvn_variance=1"),
    "mfcc16k_splice4": ("16k", "splice_left=4 splice_right=4"),
}

if not (GOLDEN / "mfcc16k.txt").is_file():
    print(f"skipped: there is no {GOLDEN}")
    sys.exit(77)


def read(path):
    """A text archive with a single matrix."""
    lines = path.read_text().replace("]", "").split("[")[1].strip().splitlines()
    return np.array([[float(word) for word in line.split()] for line in lines])


for name, (sound, settings) in CASES.items():
    expected = read(GOLDEN / f"{name}.txt")
    got = command.features(GOLDEN / f"speech{sound}.wav", settings)
    assert list(got) == [f"speech{sound}"] and len(expected) > 50
    command.assert_close(got[f"speech{sound}"], expected, 1e-3, name)
    print(f"{name}: {expected.shape[0]} x {expected.shape[1]} agree")
