#!/usr/bin/env python3
"""Sphinx's binary language models, read by trellis and by Sphinx.

Small models of random n-grams, of every order that Sphinx has and in both forms, are read by the Python package pocketsphinx too: each
n-gram, and each random sequence of words, has the same logarithm. Then the model of Debian's package pocketsphinx-en-us: thousands of
n-grams, seen and random, and the perplexity of a text beside that of sphinx_lm_eval.

Sphinx cuts logarithms (base 1.0001) to integers, so its scores lie up to 1 above ours, and 0.02 more for sums of floats. Where it reads the
older form it sorts and quantises once more, with a comparison that cuts to integers: there 2 either way.
"""
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import sphinx_lm_writer
from command_runs import TRELLIS, path, run

try:
    import pocketsphinx
except ImportError:
    print("skipped: the Python package pocketsphinx is not installed (scripts/setup test installs it)")
    sys.exit(77)

STOCK = "/usr/share/pocketsphinx/model/en-us/en-us.lm.bin"
BACKOFF = 2**31 - 1
SANITIZED = bool(os.environ.get("TRELLIS_SANITIZE"))  # slow
LOG_BASE = math.log(1.0001)


class Machine:
    """The acceptor of a language model, from a file of OpenFst's const kind."""

    def __init__(self, name):
        run(TRELLIS, "fst", "arpa", "-q", "--backoff", str(BACKOFF), "--save-words", path("words"), "--fst-type", "const", name, "-o", path("lm.fst"))
        self.label = {word: int(number) for word, number in (line.rsplit("\t", 1) for line in open(path("words"), encoding="utf-8").read().splitlines())}
        run(TRELLIS, "fst", "symbols", "-q", "--clear-isymbols", "--clear-osymbols", "--fst-type", "const", path("lm.fst"), "-o", path("bare.fst"))
        data = open(path("bare.fst"), "rb").read()
        at = 4
        for _ in range(2):
            at += 4 + struct.unpack_from("<i", data, at)[0]
        _, flags, _, self.start, states, arcs = struct.unpack_from("<iiQqqq", data, at)
        unit = 16 if flags & 4 else 1  # of alignment
        at = (at + 40 + unit - 1) // unit * unit
        self.states = np.frombuffer(data, np.dtype([("final", "f4"), ("first", "u4"), ("arcs", "u4"), ("ieps", "u4"), ("oeps", "u4")]), states, at)
        at = (at + 20 * states + unit - 1) // unit * unit
        self.arcs = np.frombuffer(data, np.dtype([("label", "i4"), ("out", "i4"), ("cost", "f4"), ("next", "i4")]), arcs, at)
        self.root = self.start
        while self.arc(self.root, BACKOFF) is not None:
            self.root = int(self.arc(self.root, BACKOFF)["next"])

    def arc(self, state, label):
        first, count = int(self.states[state]["first"]), int(self.states[state]["arcs"])
        labels = self.arcs["label"][first : first + count]
        i = int(np.searchsorted(labels, label))
        return self.arcs[first + i] if i < count and labels[i] == label else None

    def step(self, state, word):
        """Cost of the word in a state, and the state behind it."""
        cost = 0.0
        while True:
            if word == "</s>" and not math.isinf(self.states[state]["final"]):
                return cost + float(self.states[state]["final"]), None
            arc = self.arc(state, self.label[word]) if word != "</s>" else None
            if arc is not None:
                return cost + float(arc["cost"]), int(arc["next"])
            arc = self.arc(state, BACKOFF)
            cost, state = cost + float(arc["cost"]), int(arc["next"])

    def score(self, words):
        """The logarithm, base 1.0001, of the words and the end behind them. (An arc may have the back-off weights of the next word.)"""
        state, cost = self.root, 0.0
        if words and words[0] == "<s>":
            state, words = self.start, words[1:]
        for word in words + ["</s>"]:
            more, state = self.step(state, word)
            cost += more
        return -cost / LOG_BASE


def contexts(words, order):
    """Each word, and the end, with its history."""
    words = words + ["</s>"]
    return [words[max(0, i + 1 - order) : i + 1] for i in range(words[0] == "<s>", len(words))]


def compare(machine, model, order, sequences, low, high, what):
    worst, events = [0.0, 0.0], 0
    for words in sequences:
        grams = contexts(words, order)
        difference = (sum(model.prob(gram[::-1]) for gram in grams) - machine.score(words)) / len(grams)
        worst = [min(worst[0], difference), max(worst[1], difference)]
        events += len(grams)
        assert low <= difference <= high, f"{what}: {' '.join(words)} differs by {difference:.3f} per word"
    print(f"{what}: {events} n-grams, differences from {worst[0]:.3f} to {worst[1]:.3f}")


def peer(name):
    return pocketsphinx.NGramModel(pocketsphinx.Config(loglevel="FATAL"), pocketsphinx.LogMath(), name)


def random_model(generator, order):
    """N-grams whose prefixes and suffixes are there too."""
    words = ["<s>", "</s>"] + [f"w{i}" for i in range(generator.randint(2, 60 if order < 4 else 6))]
    value = lambda: (-generator.uniform(0.1, 5), generator.uniform(-1.5, 0.1))
    ngrams = {(word,): value() for word in words}
    for k in range(2, order + 1):
        shorter = {gram for gram in ngrams if len(gram) == k - 1}
        for gram in sorted(shorter):
            for _ in range(generator.randint(int(order > 3), 4)):
                longer = gram + (generator.choice(words[1:]),)
                if longer[1:] in shorter and "</s>" not in longer[:-1]:
                    ngrams[longer] = value()
    return words, ngrams


def defined(ngrams, gram):
    """What n-grams mean: the logarithm, base 10, of the last word after the others (Katz 1987)."""
    gram = tuple(gram)
    if gram in ngrams:
        return ngrams[gram][0]
    return (ngrams[gram[:-1]][1] if gram[:-1] in ngrams else 0.0) + defined(ngrams, gram[1:])


def sphinx_knows(ngrams, sequence, order):
    """Sphinx backs off wrongly from n-grams of four words in models of five: such must be in the model."""
    return all(len(gram) < 4 or len(gram) == order or tuple(gram) in ngrams for gram in contexts(sequence, order))


def check_small(seed):
    generator = random.Random(seed)
    words, ngrams = random_model(generator, 1 + seed % 5)
    order = max(map(len, ngrams))
    sequences = [list(gram) for gram in ngrams if "</s>" not in gram]
    for _ in range(200):
        sequences.append(["<s>"] * generator.randint(0, 1) + [generator.choice(words[2:]) for _ in range(generator.randint(1, 5))])
    forms = {"trie": (sphinx_lm_writer.trie(ngrams, surplus=generator.choice((0, 6))), -0.02, 1.02)}
    if order <= 3:
        forms["dmp"] = (sphinx_lm_writer.dmp(ngrams), -2, 2)
        forms["dmp of another computer"] = (sphinx_lm_writer.dmp(ngrams, big=True), -2, 2)
    for form, (data, low, high) in forms.items():
        name = path(f"{seed}.lm")
        with open(name, "wb") as file:
            file.write(data)
        machine = Machine(name)
        for sequence in sequences:
            expected = sum(defined(ngrams, gram) for gram in contexts(sequence, order))
            found = machine.score(sequence) * LOG_BASE / math.log(10)
            assert abs(found - expected) < 2e-5, f"{form} of order {order}: {sequence} has {found}, not {expected}"
        if order > 1:  # Sphinx does not read models of single words
            known = [sequence for sequence in sequences if sphinx_knows(ngrams, sequence, order)]
            compare(machine, peer(name), order, known, low, high, f"{form} of order {order}")


def random_walk(machine, generator, names):
    """Words along arcs, so that most of the n-grams are in the model."""
    at_start = generator.random() < 0.5
    state, words = machine.start if at_start else machine.root, ["<s>"] if at_start else []
    for _ in range(generator.randint(1, 4)):
        first, count = int(machine.states[state]["first"]), int(machine.states[state]["arcs"])
        arc = machine.arcs[first + generator.randrange(count)]
        if arc["label"] != BACKOFF:
            words.append(names[int(arc["label"])])
        state = int(arc["next"])
    return words


def check_stock():
    machine, model = Machine(STOCK), peer(STOCK)
    generator = random.Random(8)
    names = {label: word for word, label in machine.label.items()}
    words = [word for word in machine.label if word != "<eps>"]
    sequences = [[generator.choice(words) for _ in range(generator.randint(1, 4))] for _ in range(1000)]
    sequences += [sequence for sequence in (random_walk(machine, generator, names) for _ in range(4000)) if sequence]
    compare(machine, model, 3, sequences, -0.02, 1.02, "the stock model")
    return words


def check_perplexity(words):
    generator = random.Random(9)
    lines = ["he was not the only one", "the president said that there would be no change in policy", "i don't know what you want to do about it"]
    lines += [" ".join(generator.choice(words) for _ in range(generator.randint(1, 12))) for _ in range(40)]
    for name, form in (("plain", "{}\n"), ("marked", "<s> {} </s>\n")):
        with open(path(name), "w", encoding="utf-8") as file:
            file.writelines(form.format(line) for line in lines)
    ours = run(TRELLIS, "lm", "perplexity", STOCK, path("plain")).stdout.decode()
    log10, events = (float(re.search(rf"^{key}\s+(\S+)", ours, re.M).group(1)) for key in ("log10 probability", "events"))
    theirs = subprocess.run(["sphinx_lm_eval", "-lm", STOCK, "-lsn", path("marked")], capture_output=True, text=True)
    text = theirs.stdout + theirs.stderr
    score = int(re.search(r"lm score: (-?\d+)", text).group(1))
    perplexity = float(re.search(r"perplexity: ([\d.]+)", text).group(1))
    assert f"{len(lines)} context cues removed" in text and " 0 OOVs" in "\n " + text.replace("\n", "\n "), text
    cut = score - log10 * math.log(10) / LOG_BASE
    print(f"perplexity: ours {10 ** (-log10 / events):.3f}, sphinx_lm_eval's {perplexity}; its integers cut {cut / events:.3f} of each of {events:.0f} events")
    assert 0 <= cut <= 1.02 * events
    assert abs(-log10 / events * math.log(10) - math.log(perplexity)) < 2.5 * LOG_BASE


for seed in range(6 if SANITIZED else 12):
    check_small(seed)
if not os.path.exists(STOCK):
    print("without the stock model: Debian's package pocketsphinx-en-us is not installed")
else:
    known = check_stock()
    if shutil.which("sphinx_lm_eval"):
        check_perplexity(known)
    else:
        print("without perplexity: sphinx_lm_eval is not installed (Debian's sphinxbase-utils)")
