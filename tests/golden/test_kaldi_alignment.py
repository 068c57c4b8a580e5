"""Kaldi's own model aligns AN4 as Kaldi did: transition ids, in the archive and order that Kaldi's tools read.

Kaldi added random dither to the sound and scaled the probability of staying in a state by 0.1, so a few boundaries move by a
frame: nine ids in ten must be equal, and every path must be one of Kaldi's topology.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import kaldi_native_io as kio

shared = pathlib.Path(os.environ["TRELLIS_SHARED"])
golden, an4 = shared / "golden/kaldi/an4-mono", shared / "data/an4"
if not golden.is_dir() or not an4.is_dir():
    print("skipped: Kaldi's alignments or AN4 are not there")
    sys.exit(77)


def trellis(*arguments):
    return subprocess.run([os.environ["TRELLIS"], *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout


def copy_speaker(folder, speaker):
    folder.mkdir()
    for name in ("text", "utt2spk", "wav.scp"):
        lines = [line for line in (an4 / "train" / name).read_text().splitlines() if line.startswith(speaker)]
        (folder / name).write_text("\n".join(lines).replace(" audio/", f" {an4}/audio/") + "\n")


expected = {}
for line in (golden / "ali5_transition_ids.txt").read_text().splitlines():
    name, *ids = line.split()
    expected[name.replace("-b", "-fash-b")] = [int(x) for x in ids]

with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    description = trellis("features", "--set", "cmvn=speaker", "--set", "deltas=2", "--set", "energy=none", "--describe")
    (folder / "frontend.conf").write_bytes(description)
    trellis("model", "convert", golden, "-o", folder / "kaldi.trm", "--to", "trellis", "--frontend", folder / "frontend.conf")
    copy_speaker(folder / "fash", "fash")
    trellis("align", folder / "kaldi.trm", folder / "fash", an4 / "lexicon.txt", "-o", folder / "out", "--to", "kaldi", "-q")
    ours = {key: list(value) for key, value in kio.SequentialInt32VectorReader(f"ark:{folder}/out/ali.ark")}
    assert (folder / "out/tree").read_bytes() == (golden / "tree").read_bytes(), "another tree"

same = total = 0
for key, ids in expected.items():
    assert len(ours[key]) == len(ids), f"{key}: {len(ours[key])} frames instead of {len(ids)}"
    same += sum(a == b for a, b in zip(ours[key], ids))
    total += len(ids)
assert total == 860 and same >= 0.9 * total, f"only {same} of {total} transition ids are Kaldi's"
print(f"{same} of {total} transition ids are Kaldi's")
