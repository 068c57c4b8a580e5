"""Kaldi's tree of AN4's triphones: read with its model and written again, it answers every window and state as the file that Kaldi wrote,
which is parsed and asked here by its definition; and so does `trellis model show --context`. And a tree beside monophones."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(os.environ["TRELLIS_SOURCE_DIR"]) / "tests/differential"))
import kaldi_tree_definition as kaldi  # noqa: E402

golden = pathlib.Path(os.environ["TRELLIS_SHARED"]) / "golden/kaldi/an4-tri1"
if not golden.is_dir():
    print("skipped: Kaldi's triphone model of AN4 is not there")
    sys.exit(77)


def trellis(*arguments, text=None):
    return subprocess.run([os.environ["TRELLIS"], *map(str, arguments)], input=text, check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout


names = {}
for line in (golden / "phones.txt").read_text().splitlines():
    name, number = line.split()
    if not name.startswith("#"):
        names[int(number)] = name
phones = max(names)
width, centre, root = kaldi.read(golden / "tree")
assert (width, centre, phones) == (3, 1, 137)
states = {p: 5 if names[p].split("_")[0] == "SIL" else 3 for p in range(1, phones + 1)}
reached = set().union(*(kaldi.reach(root, 1, p, s) for p in states for s in range(states[p])))
assert reached == set(range(480))

with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    trellis("model", "convert", golden, "-o", folder / "m.trm", "-q")
    for form in ("kaldi", "kaldi-text"):
        trellis("model", "convert", folder / "m.trm", "--to", form, "-o", folder / form, "-q")
    neighbours = np.stack(np.meshgrid(range(phones + 1), range(phones + 1), indexing="ij"), axis=-1).reshape(-1, 2)
    binary, text = (kaldi.read(folder / form / "tree") for form in ("kaldi", "kaldi-text"))
    assert binary == text and binary[:2] == (3, 1)
    for phone in states:
        windows = np.stack([neighbours[:, 0], np.full(len(neighbours), phone), neighbours[:, 1]], axis=1)
        for s in range(states[phone]):
            assert (kaldi.ask(root, windows, s) == kaldi.ask(binary[2], windows, s)).all(), f"{names[phone]}, state {s}"
            assert kaldi.reach(root, 1, phone, s) == kaldi.reach(binary[2], 1, phone, s)
    dice = random.Random(1)
    windows = [[dice.randint(0, phones), dice.randint(1, phones), dice.randint(0, phones)] for _ in range(20000)]
    lines = [" ".join(names[p] if p else "#" for p in w) for w in windows]
    expected = [kaldi.ask(root, np.array(windows), s) for s in range(5)]
    answers = trellis("model", "show", folder / "m.trm", "--context", "-", text="\n".join(lines) + "\n").splitlines()
    assert len(answers) == len(lines)
    for at, answer in enumerate(answers):
        pdfs = " ".join(str(expected[s][at]) for s in range(states[windows[at][1]]))
        assert answer == f"{lines[at]}: {pdfs}", answer

# A tree beside monophones tells nothing, but must be theirs.
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    mono = golden.parent / "an4-mono"
    for name in ("final.mdl", "phones.txt"):
        (folder / name).write_bytes((mono / name).read_bytes())
    for tree, code in ((mono / "tree").read_bytes(), 0), ((mono / "tree").read_bytes()[:30], 3), ((golden / "tree").read_bytes(), 3):
        (folder / "tree").write_bytes(tree)
        shown = subprocess.run([os.environ["TRELLIS"], "model", "show", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               encoding="utf-8")
        assert shown.returncode == code and (code == 0 or "tree: " in shown.stderr), shown.stderr
print("480 pdfs, all windows and states as in Kaldi's file")
