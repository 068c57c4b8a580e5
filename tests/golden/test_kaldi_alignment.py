"""Kaldi's own models align AN4 as Kaldi did: transition ids, in the archive and order that Kaldi's tools read.

Kaldi added random dither to the sound and scaled the probability of staying in a state by 0.1, so a few boundaries move by a
frame: nine ids in ten of the monophones' must be equal, and every path must be one of Kaldi's topology. There is no
alignment by the triphones: their phones must be the monophones', nearly all of them at the same frames, and the tied
states those that the tree gives for each phone between its neighbours.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import kaldi_native_io as kio

shared = pathlib.Path(os.environ["TRELLIS_SHARED"])
golden, triphones, an4 = shared / "golden/kaldi/an4-mono", shared / "golden/kaldi/an4-tri1", shared / "data/an4"
if not golden.is_dir() or not triphones.is_dir() or not an4.is_dir():
    print("skipped: Kaldi's alignments or AN4 are not there")
    sys.exit(77)


def trellis(*arguments, **more):
    return subprocess.run([os.environ["TRELLIS"], *map(str, arguments)], check=True, stdout=subprocess.PIPE, **more).stdout


def copy_speaker(folder, speaker):
    folder.mkdir()
    for name in ("text", "utt2spk", "wav.scp"):
        lines = [line for line in (an4 / "train" / name).read_text().splitlines() if line.startswith(speaker)]
        (folder / name).write_text("\n".join(lines).replace(" audio/", f" {an4}/audio/") + "\n")


def align(folder, kaldi, name):
    """Transition ids by utterance, and everything else."""
    trellis("model", "convert", kaldi, "-o", folder / f"{name}.trm", "--to", "trellis", "--frontend", folder / "frontend.conf")
    trellis("align", folder / f"{name}.trm", folder / "fash", an4 / "lexicon.txt", "-o", folder / name, "--to", "kaldi,jsonl", "-q")
    records = map(json.loads, (folder / name / "alignments.jsonl").read_text().splitlines())
    ids = {key: list(value) for key, value in kio.SequentialInt32VectorReader(f"ark:{folder}/{name}/ali.ark")}
    return ids, {record["id"]: record for record in records}


def phones_of(record):
    """Each phone, with its place in the word as Kaldi's units have it, and its first frame."""
    for word in record["words"]:
        last = len(word["phones"]) - 1
        for i, phone in enumerate(word["phones"]):
            place = "" if not word["word"] else "_S" if last == 0 else "_B" if i == 0 else "_E" if i == last else "_I"
            yield phone["phone"] + place, round((phone["start"] - 0.0075) / 0.01) if phone["start"] > 0 else 0


def by_frame(phones, frames):
    ends = [first for name, first in phones[1:]] + [frames]
    return [name for (name, first), end in zip(phones, ends) for _ in range(first, end)]


def transitions_of(model, unit):
    """Transition id -> (state, tied state)."""
    states = json.loads(trellis("model", "show", model, unit, "--json"))["states"]
    return {t["id"]: (s["state"], s["tied_state"]) for s in states for t in s["transitions"]}


def check_contexts(model, ids, record):
    phones = list(phones_of(record))
    names = ["#", *(name for name, first in phones), "#"]
    windows = "".join(" ".join(names[i : i + 3]) + "\n" for i in range(len(phones)))
    answers = trellis("model", "show", model, "--context", "-", input=windows.encode()).decode().splitlines()
    ends = [first for name, first in phones[1:]] + [len(ids)]
    for (name, first), end, answer in zip(phones, ends, answers, strict=True):
        tied = [int(x) for x in answer.rsplit(":", 1)[1].split()]
        known = transitions_of(model, name)
        for t in range(first, end):
            state, got = known[ids[t]]
            assert tied[state] == got, f"{record['id']}, frame {t}: tied state {got} of {name}, where the tree says {answer}"


expected = {}
for line in (golden / "ali5_transition_ids.txt").read_text().splitlines():
    name, *ids = line.split()
    expected[name.replace("-b", "-fash-b")] = [int(x) for x in ids]

with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    description = trellis("features", "--set", "cmvn=speaker", "--set", "deltas=2", "--set", "energy=none", "--describe")
    (folder / "frontend.conf").write_bytes(description)
    copy_speaker(folder / "fash", "fash")
    ours, mono = align(folder, golden, "mono")
    assert (folder / "mono/tree").read_bytes() == (golden / "tree").read_bytes(), "another tree"
    ids, tri = align(folder, triphones, "tri")
    for key in expected:
        check_contexts(folder / "tri.trm", ids[key], tri[key])

same = total = 0
for key, ids in expected.items():
    assert len(ours[key]) == len(ids), f"{key}: {len(ours[key])} frames instead of {len(ids)}"
    same += sum(a == b for a, b in zip(ours[key], ids))
    total += len(ids)
assert total == 860 and same >= 0.9 * total, f"only {same} of {total} transition ids are Kaldi's"
print(f"{same} of {total} transition ids are Kaldi's")

same = total = 0
for key, record in mono.items():
    here, there = (by_frame(list(phones_of(r)), r["frames"]) for r in (record, tri[key]))
    same += sum(a == b for a, b in zip(here, there, strict=True))
    total += len(here)
    assert tri[key]["log_likelihood"] > record["log_likelihood"] + 2, f"{key}: triphones say it no better"
assert same >= 0.9 * total, f"only {same} of {total} frames are in the same phone with triphones"
print(f"{same} of {total} frames are in the same phone with triphones")
