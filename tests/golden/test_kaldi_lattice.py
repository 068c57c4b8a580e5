#!/usr/bin/env python3
"""Lattices that Kaldi wrote, as text: read, and written in every form, they have the same paths, costs, transitions and frames. Decoded with
Kaldi's likelihoods and graph, lattices of our own have every word string that Kaldi's have within the beam, at the same cost."""
import math
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TRELLIS_SOURCE_DIR"], "tests"))
import kaldi_lattices
from command_runs import TRELLIS, path
from kaldi_lattices import faults, wrong

GOLDEN = os.path.join(os.environ["TRELLIS_SHARED"], "golden/kaldi/an4-mono")
if not os.path.isdir(GOLDEN):
    print("skipped: Kaldi's lattices of AN4 are not here (../shared/golden/kaldi/an4-mono)")
    sys.exit(77)


def run(*arguments, code=0):
    done = subprocess.run([TRELLIS, *arguments], capture_output=True)
    if done.returncode != code:
        wrong(f"exit code {done.returncode} of {' '.join(arguments)}: {done.stderr.decode()}")
    return done


def compare(kaldi, ours, tolerance, what):
    if list(kaldi) != list(ours):
        wrong(f"{what}: utterances {list(kaldi)} and {list(ours)}")
    for name in kaldi:
        difference = kaldi_lattices.same_paths(kaldi[name], ours[name], tolerance)
        if difference:
            wrong(f"{what}: {name}: {difference}")


with open(os.path.join(GOLDEN, "lattice_sample.txt"), encoding="utf-8") as file:
    sample = file.read()
whole = sample[: sample.rindex("\n\n") + 2]  # the last one is cut off
with open(path("kaldi.txt"), "w", encoding="utf-8") as file:
    file.write(whole)
lattices = kaldi_lattices.read_text(whole)

# Costs are floats here, decimals there.
run("lattice", "copy", "-q", path("kaldi.txt"), "-o", path("lat.ark"))
with open(path("lat.ark"), "rb") as file:
    binary = kaldi_lattices.read_binary(file.read())
compare(lattices, binary, 1e-6, "binary")
run("lattice", "copy", "-q", path("kaldi.txt"), "-o", "lattice:" + path("plain.ark"))
with open(path("plain.ark"), "rb") as file:
    compare(binary, kaldi_lattices.read_binary(file.read(), compact=False), 1e-7, "plain")

# As text and back: nothing changes any more.
run("lattice", "copy", "-q", path("lat.ark"), "-o", "ark,t:" + path("lat.txt"))
with open(path("lat.txt"), encoding="utf-8") as file:
    compare(lattices, kaldi_lattices.read_text(file.read()), 1e-6, "text")
run("lattice", "copy", "-q", path("lat.txt"), "-o", path("again.ark"))
with open(path("lat.ark"), "rb") as one, open(path("again.ark"), "rb") as two:
    if one.read() != two.read():
        wrong("binary, text, binary: not the same bytes")

# As many frames as the features of these utterances have.
frames, name = {}, None
with open(os.path.join(GOLDEN, "feats3.txt"), encoding="utf-8") as file:
    for line in file:
        if "[" in line:
            name = line.split()[0]
            frames[name] = 0
        else:
            frames[name] += 1
for line in run("lattice", "info", "--each", path("lat.ark")).stdout.decode().splitlines():
    fields = line.split()
    if frames[fields[0]] != int(fields[5]):
        wrong(f"{fields[0]} has {fields[5]} frames, its features {frames[fields[0]]}")

# A lattice that is cut off is refused with its place.
done = run("lattice", "info", os.path.join(GOLDEN, "lattice_sample.txt"), code=3)
if b"lattice_sample.txt:61: " not in done.stderr or b"utterance fcaw-an408-b" not in done.stderr:
    wrong(f"no place in: {done.stderr.decode()}")

# Our own lattices of these utterances. Likelihoods are rounded in the file, so costs are not quite the same.
SCALE, BEAM = 0.1, 6.0


def strings(lattice):
    """The best cost of each word string, and whether one is there twice."""
    best, twice = {}, False
    for words, _, graph, acoustic in lattice.paths():
        twice |= words in best
        best[words] = min(best.get(words, math.inf), graph + SCALE * acoustic)
    return best, twice


run("model", "convert", GOLDEN, "-o", path("mono.trm"), "-q")
hclg = ["--hclg", os.path.join(GOLDEN, "HCLG.fst"), "--symbols", os.path.join(GOLDEN, "words.txt")]
run("graph", path("mono.trm"), *hclg, "-o", path("mono.trg"), "-q")
os.mkdir(path("corpus"))
with open(path("corpus/wav.scp"), "w", encoding="utf-8") as file:
    for name in lattices:
        file.write(f"{name} {name}.wav\n")
        with open(path(f"corpus/{name}.wav"), "wb"):  # never read
            pass
likelihoods = ["--likelihoods", "ark:" + os.path.join(GOLDEN, "likes3_mono.txt"), "--lattice-beam", str(BEAM)]
run("decode", path("mono.trm"), path("mono.trg"), path("corpus"), *likelihoods, "--lattice", path("ours.ark"), "-o", path("words"), "-q")
with open(path("ours.ark"), "rb") as file:
    ours = kaldi_lattices.read_binary(file.read())
compared = 0
for name, lattice in lattices.items():
    (theirs, _), (found, twice) = strings(lattice), strings(ours[name])
    if twice:
        wrong(f"{name}: a word string has two paths")
    if any(len(transitions) != frames[name] for _, transitions, _, _ in ours[name].paths()):
        wrong(f"{name}: a path does not have as many transitions as there are frames")
    for words, cost in theirs.items():
        if cost - min(theirs.values()) > BEAM - 0.1:
            continue
        compared += 1
        if abs(found.get(words, math.inf) - cost) > 0.02:
            wrong(f"{name}: {words} costs {found.get(words)} instead of {cost}")

paths = sum(len(lattice.paths()) for lattice in lattices.values())
print(f"{len(lattices)} lattices, {paths} paths, {compared} of them in our own, {len(faults)} faults")
sys.exit(1 if faults or len(lattices) != 2 or paths < 100 or compared < 20 else 0)
