"""Kaldi's likelihoods of AN4 utterances, decoded with Kaldi's graph: the best path has the words and the cost that the best path of Kaldi's
lattice has. Likelihoods are rounded in the file, so the costs of graph and sound alone may move where two paths are nearly as good. Only the first
two of the three lattices are whole.
"""


import json
import os
import pathlib
import subprocess
import sys
import tempfile

golden = pathlib.Path(os.environ["TRELLIS_SHARED"]) / "golden/kaldi/an4-mono"
if not golden.is_dir():
    print("skipped: Kaldi's graph and likelihoods are not there")
    sys.exit(77)
SCALE = 0.1


def trellis(*arguments):
    return subprocess.run([os.environ["TRELLIS"], *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout


def read_lattices(path):
    """By utterance: arcs (from, to, word, graph, acoustic), ends state -> (graph, acoustic)."""
    lattices, arcs, ends = {}, [], {}
    for line in path.read_text().splitlines():
        fields = line.split()
        if len(fields) == 1 and not fields[0][0].isdigit():
            arcs, ends = [], {}
            lattices[fields[0]] = arcs, ends
        elif len(fields) == 4:
            graph, acoustic, _ = fields[3].split(",")
            arcs.append((int(fields[0]), int(fields[1]), int(fields[2]), float(graph), float(acoustic)))
        elif len(fields) in (1, 2):
            graph, acoustic = (float(x) for x in fields[1].split(",")[:2]) if len(fields) == 2 else (0, 0)
            ends[int(fields[0])] = graph, acoustic
    return lattices


def best_path(arcs, ends):
    """Cost, words and graph cost; relaxed until nothing changes, which needs no order of states."""
    best = {0: (0.0, (), 0.0)}
    changed = True
    while changed:
        changed = False
        for a, b, word, graph, acoustic in arcs:
            if a not in best:
                continue
            cost, words, before = best[a]
            new = cost + graph + SCALE * acoustic, words + ((word,) if word else ()), before + graph
            if b not in best or new[0] < best[b][0] - 1e-9:
                best[b] = new
                changed = True
    return min((best[s][0] + g + SCALE * c, best[s][1], best[s][2] + g) for s, (g, c) in ends.items() if s in best)


lattices = read_lattices(golden / "lattice_sample.txt")
assert len(lattices) == 3, lattices.keys()
names = {int(label): word for word, label in (line.split() for line in (golden / "words.txt").read_text().splitlines())}
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    trellis("model", "convert", golden, "-o", folder / "mono.trm", "-q")
    hclg = "--hclg", golden / "HCLG.fst", "--symbols", golden / "words.txt"
    trellis("graph", folder / "mono.trm", *hclg, "-o", folder / "mono.trg", "-q")
    (folder / "corpus").mkdir()
    (folder / "corpus/wav.scp").write_text("".join(f"{name} {name}.wav\n" for name in lattices))
    for name in lattices:  # never read
        (folder / f"corpus/{name}.wav").write_bytes(b"")
    likelihoods = "--likelihoods", f"ark:{golden}/likes3_mono.txt"
    lines = trellis("decode", folder / "mono.trm", folder / "mono.trg", folder / "corpus", *likelihoods, "--to", "jsonl", "-q")
    decoded = {record["id"]: record for record in map(json.loads, lines.splitlines())}
assert decoded.keys() == lattices.keys(), decoded.keys()
whole = {name: lattice for name, lattice in lattices.items() if lattice[1]}
assert len(whole) == 2, whole.keys()
for name, (arcs, ends) in whole.items():
    cost, words, graph = best_path(arcs, ends)
    ours = decoded[name]
    said = [names[w] for w in words]
    assert [w["word"] for w in ours["words"]] == said, f"{name}: {ours['words']}, Kaldi has {said}"
    total = ours["graph_cost"] + SCALE * ours["acoustic_cost"]
    assert abs(total - cost) < 0.02, f"{name}: cost {total}, Kaldi has {cost}"
    assert abs(ours["graph_cost"] - graph) < 0.2, f"{name}: graph cost {ours['graph_cost']}, Kaldi has {graph}"
    assert ours["reached_end"] and ours["frames"] > 300, ours
