#!/usr/bin/env python3
"""Lattices that Kaldi wrote, as text: read, and written in every form, they have the same paths, costs, transitions and frames."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRELLIS_SOURCE_DIR"], "tests"))
import kaldi_lattices

TRELLIS = os.environ["TRELLIS"]
GOLDEN = os.path.join(os.environ["TRELLIS_SHARED"], "golden/kaldi/an4-mono")
if not os.path.isdir(GOLDEN):
    print("skipped: Kaldi's lattices of AN4 are not here (../shared/golden/kaldi/an4-mono)")
    sys.exit(77)

folder = tempfile.TemporaryDirectory()
faults = 0


def path(name):
    return os.path.join(folder.name, name)


def wrong(text):
    global faults
    print(f"WRONG: {text}")
    faults += 1


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

paths = sum(len(lattice.paths()) for lattice in lattices.values())
print(f"{len(lattices)} lattices, {paths} paths, {faults} faults")
sys.exit(1 if faults or len(lattices) != 2 or paths < 100 else 0)
