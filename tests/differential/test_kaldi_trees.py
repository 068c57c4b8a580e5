"""Random trees of Kaldi's kind, with questions and tables about phones, neighbours and pdf classes in any order: read with their model,
they answer what the definition answers; written again, they do so too."""
import os
import pathlib
import random
import subprocess
import tempfile

import numpy as np

import kaldi_tree_definition as kaldi

STATES = 3


def trellis(*arguments, text=None):
    run = subprocess.run([os.environ["TRELLIS"], *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         encoding="utf-8")
    assert run.returncode == 0, run.stderr
    return run.stdout


def random_map(dice, width, centre, phones, depth, leaves):
    """Tables have something for every phone at that place; NULL stands where none can be: below 1 for the phone itself."""
    if depth == 0 or dice.random() < 0.2:
        leaves.append(len(leaves))
        return ("CE", leaves[-1])
    key = dice.randint(-1, width - 1)
    values = list(range(STATES)) if key == -1 else list(range(phones + 1))

    def below():
        return random_map(dice, width, centre, phones, depth - 1, leaves)

    if dice.random() < 0.6:
        return ("SE", key, sorted(dice.sample(values, dice.randint(1, len(values) - 1))), below(), below())
    return ("TE", key, [None if key == centre and v == 0 else below() for v in values])


def renumber(m, names):
    if m is None:
        return None
    if m[0] == "CE":
        return ("CE", names.get(m[1], 0))
    if m[0] == "SE":
        return m[:3] + (renumber(m[3], names), renumber(m[4], names))
    return ("TE", m[1], [renumber(b, names) for b in m[2]])


def write_model(folder, phones, triples, pdfs):
    arcs = "".join(f"<State> {s} <PdfClass> {s} <Transition> {s} 0.75 <Transition> {s + 1} 0.25 </State>\n" for s in range(STATES))
    probabilities = " ".join(["0"] + ["-0.28768207 -1.3862944"] * len(triples))
    mixtures = "<DiagGMM> <WEIGHTS> [ 1 ]\n<MEANS_INVVARS> [\n 0 ]\n<INV_VARS> [\n 1 ]\n</DiagGMM>\n" * pdfs
    (folder / "final.mdl").write_text(
        "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> " + " ".join(map(str, range(1, phones + 1))) +
        f" </ForPhones>\n{arcs}<State> {STATES} </State> </TopologyEntry> </Topology>\n<Triples> {len(triples)}\n" +
        "".join(f"{p} {s} {pdf}\n" for p, s, pdf in triples) + f"</Triples>\n<LogProbs> [ {probabilities} ]\n</LogProbs>\n" +
        f"</TransitionModel> <DIMENSION> 1 <NUMPDFS> {pdfs} {mixtures}")
    (folder / "phones.txt").write_text("<eps> 0\n" + "".join(f"p{p} {p}\n" for p in range(1, phones + 1)))


def check(folder, seed):
    dice = random.Random(seed)
    width, phones, leaves = dice.randint(2, 4), dice.randint(2, 6), []
    centre = dice.randint(0, width - 1)
    root = random_map(dice, width, centre, phones, dice.randint(1, 5), leaves)
    reached = sorted(set().union(*(kaldi.reach(root, centre, p, s) for p in range(1, phones + 1) for s in range(STATES))))
    root = renumber(root, {old: new for new, old in enumerate(reached)})
    triples = [(p, s, pdf) for p in range(1, phones + 1) for s in range(STATES) for pdf in sorted(kaldi.reach(root, centre, p, s))]
    write_model(folder, phones, triples, len(reached))
    kaldi.write(folder / "tree", width, centre, root, binary=seed % 2 == 0)
    if len(triples) == phones * STATES:
        return 0  # nothing depends on context: the tree isn't needed
    windows = np.array([[dice.randint(0 if p != centre else 1, phones) for p in range(width)] for _ in range(300)])
    expected = [kaldi.ask(root, windows, s) for s in range(STATES)]
    lines = [" ".join(f"p{p}" if p else "#" for p in row) for row in windows]
    for at, line in enumerate(trellis("model", "show", folder, "--context", "-", text="\n".join(lines) + "\n").splitlines()):
        words, _, numbers = line.partition(": ")
        found = [int(n) for n in numbers.split()]
        assert words == lines[at] and found == [e[at] for e in expected], f"seed {seed}: {line}, not {[e[at] for e in expected]}"
    trellis("model", "convert", folder, "--to", "kaldi" if seed % 3 else "kaldi-text", "-o", folder / "again", "-q")
    again = kaldi.read(folder / "again/tree")
    assert again[:2] == (width, centre)
    for s in range(STATES):
        assert (kaldi.ask(again[2], windows, s) == expected[s]).all(), f"seed {seed}: the tree that was written answers otherwise"
        for p in range(1, phones + 1):
            assert kaldi.reach(again[2], centre, p, s) == kaldi.reach(root, centre, p, s), f"seed {seed}: other pdfs"
    return 1


with tempfile.TemporaryDirectory() as temporary:
    count = 0
    for seed in range(150):
        folder = pathlib.Path(temporary) / str(seed)
        folder.mkdir()
        count += check(folder, seed)
assert count > 75
print(f"{count} trees answer as defined")
