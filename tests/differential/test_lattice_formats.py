#!/usr/bin/env python3
"""Random lattices between trellis and others: plain ones through kaldifst (Kaldi's own code for OpenFst machines), compact ones
through a reader and writer made here from the definition of the format, word machines through OpenFst's tools."""
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TRELLIS_SOURCE_DIR"], "tests"))
import kaldi_lattices
from command_runs import TRELLIS, path
from kaldi_lattices import Arc, Lattice, faults, wrong

try:
    import kaldifst
except ImportError:
    print("skipped: kaldifst is not installed (scripts/setup test installs it)")
    sys.exit(77)

LATTICES = 60


def run(*command):
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        wrong(f"exit code {done.returncode}: {' '.join(command)}: {done.stderr.decode()}")
    return done.stdout


def cost(r):
    return r.randrange(-512, 4096) / 64


def random_lattice(r):
    """Every state has a time, so all paths have the same number of frames. States in no order."""
    states = r.randint(2, 8)
    times = [0] + sorted(r.randint(0, 20) for _ in range(states - 2)) + [20]
    names = list(range(states))
    r.shuffle(names)
    lattice = Lattice(names[0])

    def transitions(count):
        return tuple(r.randint(1, 2000) for _ in range(count))

    for s in range(states - 1):
        for _ in range(r.randint(1, 3)):
            n = r.randint(s + 1, min(s + 3, states - 1))
            lattice.arcs.append(Arc(names[s], names[n], r.randint(0, 9), cost(r), cost(r), transitions(times[n] - times[s])))
        if r.random() < 0.2:
            lattice.finals[names[s]] = (cost(r), cost(r), transitions(20 - times[s]))
    lattice.finals[names[-1]] = (cost(r), cost(r), ())
    return lattice


def compare(one, other, what):
    if list(one) != list(other):
        wrong(f"{what}: utterances {list(one)[:3]} … and {list(other)[:3]} …")
        return
    for name in one:
        difference = kaldi_lattices.same_paths(one[name], other[name], 0)
        if difference:
            wrong(f"{what}: {name}: {difference}")


def load(name):
    with open(path(name), "rb") as file:
        return file.read()


def from_kaldifst(name):
    """Costs are as kaldifst prints them, with six digits."""
    machine, lattice = kaldifst.Lattice.read(name), Lattice()
    lattice.start = machine.start
    for fields in (line.split() for line in machine.to_str(show_weight_one=True).splitlines()):
        graph, acoustic = map(float, fields[-1].split(","))
        if len(fields) == 2:
            lattice.finals[int(fields[0])] = (graph, acoustic, ())
        elif len(fields) == 5:
            source, target, transition, word = map(int, fields[:4])
            lattice.arcs.append(Arc(source, target, word, graph, acoustic, (transition,) if transition else ()))
    return lattice


def to_kaldifst(lattice, name):
    """Arcs with many transitions become chains."""
    machine = kaldifst.Lattice()

    def chain(at, word, weight, transitions, end):
        for i, transition in enumerate(transitions or (0,)):
            last = i + 1 >= len(transitions)
            target = end if last and end is not None else machine.add_state()
            machine.add_arc(at, kaldifst.LatticeArc(transition, word if i == 0 else 0, kaldifst.LatticeWeight(*(weight if i == 0 else (0, 0))), target))
            at = target
        return at

    for _ in range(max(max(a.source, a.next) for a in lattice.arcs) + 1):
        machine.add_state()
    machine.start = lattice.start
    for arc in lattice.arcs:
        chain(arc.source, arc.word, (arc.graph, arc.acoustic), arc.transitions, arc.next)
    for state, (graph, acoustic, transitions) in lattice.finals.items():
        end = chain(state, 0, (graph, acoustic), transitions, None) if transitions else state
        machine.set_final(end, kaldifst.LatticeWeight(*((0, 0) if transitions else (graph, acoustic))))
    if not machine.write(name):
        wrong(f"kaldifst could not write {name}")


random_source = random.Random(7)
lattices = {f"utt{i:03}": random_lattice(random_source) for i in range(LATTICES)}
with open(path("theirs.txt"), "w", encoding="utf-8") as text:
    text.write(kaldi_lattices.write_text(lattices))

# Text in, every form out.
run(TRELLIS, "lattice", "copy", "-q", path("theirs.txt"), "-o", path("compact.ark"))
compare(lattices, kaldi_lattices.read_binary(load("compact.ark")), "compact")
run(TRELLIS, "lattice", "copy", "-q", path("compact.ark"), "-o", "ark,t:" + path("compact.txt"))
compare(lattices, kaldi_lattices.read_text(load("compact.txt").decode()), "compact text")
run(TRELLIS, "lattice", "copy", "-q", path("compact.ark"), "-o", "lattice:" + path("plain.ark"))
compare(lattices, kaldi_lattices.read_binary(load("plain.ark"), compact=False), "plain")

# One machine at a time: kaldifst reads ours, and we read what it wrote.
with open(path("kaldifst.ark"), "wb") as archive:
    for name, lattice in lattices.items():
        one = kaldi_lattices.write_text({name: lattice})
        done = subprocess.run([TRELLIS, "lattice", "copy", "-q", "-", "-o", "lattice:-"], input=one.encode(), capture_output=True)
        with open(path("one.fst"), "wb") as file:
            file.write(done.stdout[len(name) + 1 :])
        difference = kaldi_lattices.same_paths(lattice, from_kaldifst(path("one.fst")), 1e-4)
        if difference:
            wrong(f"kaldifst reads {name}: {difference}")
        to_kaldifst(lattice, path("one.fst"))
        archive.write(name.encode() + b" " + load("one.fst"))
run(TRELLIS, "lattice", "copy", "-q", path("kaldifst.ark"), "-o", path("from.ark"))
compare(lattices, kaldi_lattices.read_binary(load("from.ark")), "from kaldifst")

# OpenFst's tools read the machines of words: the best path has the least score.
if shutil.which("fstshortestdistance"):
    with open(path("words.txt"), "w", encoding="utf-8") as table:
        table.write("<eps> 0\n" + "".join(f"word{i} {i}\n" for i in range(1, 10)))
    run(TRELLIS, "lattice", "copy", "-q", path("compact.ark"), "--words", path("words.txt"), "--lm-scale", "8", "--word-penalty", "0.5",
        "-o", "fst:" + path("machines"))
    for name, lattice in lattices.items():
        least = min(graph + acoustic / 8 + 0.5 * len(words) for words, _, graph, acoustic in lattice.paths())
        lines = run("fstshortestdistance", "--reverse", os.path.join(path("machines"), name + ".fst")).decode().split("\n")
        found = float(lines[0].split("\t")[1])
        if abs(found - least) > 1e-3:
            wrong(f"{name}: the best path of the machine costs {found}, that of the lattice {least}")
        if b"input symbol table                                words" not in run("fstinfo", os.path.join(path("machines"), name + ".fst")):
            wrong(f"{name}.fst has no table")
    run(TRELLIS, "lattice", "copy", "-q", path("compact.ark"), "--words", path("words.txt"), "-o", "fst,t:" + path("machines"))
    for name, lattice in lattices.items():
        with open(os.path.join(path("machines"), name + ".txt"), encoding="utf-8") as file:
            arcs = [line.split("\t") for line in file if line.count("\t") >= 2]
        if any(not fields[2].startswith(("word", "<eps>")) for fields in arcs):
            wrong(f"{name}.txt has no words")

print(f"{LATTICES} lattices, {len(faults)} faults")
sys.exit(1 if faults else 0)
