#!/usr/bin/env python3
"""Kaldi's own graphs (const and vector files): read, and printed as OpenFst prints them; a unigram's G has the probabilities of its ARPA file."""
import math
import os
import shutil
import subprocess
import sys

TRELLIS = os.environ["TRELLIS"]
GOLDEN = os.path.join(os.environ["TRELLIS_SHARED"], "golden/kaldi/an4-mono")
ARPA = os.path.join(os.environ["TRELLIS_SHARED"], "data/an4/lm/an4_full.flat_unigram.arpa")

if not os.path.isdir(GOLDEN) or not os.path.exists(ARPA):
    print("skipped: Kaldi's graphs of AN4 are not here (../shared/golden/kaldi/an4-mono)")
    sys.exit(77)
if not shutil.which("fstprint"):
    print("skipped: OpenFst's tools are not installed (scripts/setup test installs them)")
    sys.exit(77)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


faults = 0
for name in ("HCLG", "G", "L"):
    file = os.path.join(GOLDEN, name + ".fst")
    if run(TRELLIS, "fst", "print", file) != run("fstprint", file):
        print(f"WRONG: {name}.fst is printed differently")
        faults += 1

logarithms = {}
with open(ARPA, encoding="utf-8") as lines:
    for line in lines:
        fields = line.split()
        if len(fields) in (2, 3) and fields[0].startswith("-") and fields[1] != "<s>":
            logarithms[fields[1]] = float(fields[0])
model = subprocess.run([TRELLIS, "fst", "arpa", ARPA], check=True, capture_output=True).stdout
text = subprocess.run([TRELLIS, "fst", "print", "--acceptor"], input=model, check=True, capture_output=True).stdout.decode()
found = {}
for fields in (line.split("\t") for line in text.splitlines()):
    if fields[0] == fields[1] or len(fields) == 2:
        found[fields[2] if len(fields) == 4 else "</s>"] = float(fields[-1])
for word, logarithm in logarithms.items():
    if abs(found.get(word, math.inf) + logarithm * math.log(10)) > 1e-4:
        print(f"WRONG: {word} costs {found.get(word)}, log10 of its probability is {logarithm}")
        faults += 1
print(f"{len(logarithms)} words, {faults} faults")
sys.exit(1 if faults or len(logarithms) < 50 else 0)
