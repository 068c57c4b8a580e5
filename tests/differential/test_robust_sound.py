"""Sound as people have it: padded with zeros, interrupted, offset, faint, clipped, coarse, of a narrow band. What a model of clean recordings makes
of it, recognised and aligned, beside what it makes of the same recordings as they were. Synthesised voices; bench/robustness.py does the same with real ones.

The bounds are a few words of 343, where the change should cost nothing; where it takes something away from the sound, they only say that the rest is used.
"""
import os
import shutil
import sys

import numpy as np

SOURCE = os.environ["TRELLIS_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "tests"), os.path.join(SOURCE, "bench")]
from command_runs import TRELLIS, folder, path, run  # noqa: E402
import robustness  # noqa: E402

GAP = 3.0  # seconds of zeros between two words
BEGIN = {"zeros at both ends": 0.5, "noise of one unit at both ends": 0.5}  # seconds put before everything

# How much the word error rate may rise, in points, and what share of word boundaries may move by more than 30 ms.
BOUNDS = {
    "zeros at both ends": (2, 0.02),
    "noise of one unit at both ends": (2, 0.02),
    "zeros between words": (8, 0.10),  # most words are not said apart: they are torn
    "offset": (0.6, 0.01),
    "20 dB quieter": (4, 0.05),
    "clipped": (30, 0.25),
    "8 bits": (15, 0.25),
    "telephone": (45, 0.40),
}


class Words:
    """Recordings that are recognised and aligned again and again, in a folder that changes."""

    def __init__(self):
        run(sys.executable, os.path.join(SOURCE, "scripts", "make-demo-corpus"), path("corpus"))
        self.lexicon = path("corpus/lexicon.txt")
        run(TRELLIS, "corpus", "split", path("corpus"), path("train"), path("test"), "--list", path("corpus/held-out.txt"))
        run(TRELLIS, "train", path("train"), self.lexicon, "-o", path("m.trm"), "--components", "8", "-q")
        run(TRELLIS, "graph", path("m.trm"), self.lexicon, "--loop", "-o", path("loop.trg"), "-q")
        self.test = robustness.Corpus(folder.name, "test")

    def write(self, change, rate=robustness.RATE):
        """`change` gets samples, a random generator and the utterance's id."""
        shutil.rmtree(path("changed"), ignore_errors=True)
        shutil.copytree(path("test"), path("changed"))
        with open(path("changed/wav.scp"), "w", encoding="utf-8") as table:
            for number, (key, sound, _, _) in enumerate(self.test.items):
                samples = change(robustness.read_sound(sound), np.random.default_rng(number), key)
                robustness.write_sound(path(f"changed/{key}.wav"), samples, rate)
                table.write(f"{key} {key}.wav\n")

    def word_errors(self, *options):
        done = run(TRELLIS, "decode", path("m.trm"), path("loop.trg"), path("changed"), "-o", path("words.txt"), "--no-confidence", *options)
        return robustness.word_errors(self.test, path("words.txt")), done.stderr.decode()

    def boundaries(self):
        """Id -> rows of begin and end of each word, in seconds."""
        shutil.rmtree(path("aligned"), ignore_errors=True)
        run(TRELLIS, "align", path("m.trm"), path("changed"), self.lexicon, "-o", path("aligned"), "--to", "ctm", "-q")
        times = {}
        for line in open(path("aligned/words.ctm"), encoding="utf-8"):
            key, _, start, length, *_ = line.split()
            times.setdefault(key, []).append((float(start), float(start) + float(length)))
        return {key: np.array(rows) for key, rows in times.items()}


def changes(times):
    """Name -> what is done to the samples. `times`: where the words are."""

    def between_words(x, dice, key):
        at = int(cut(times[key]) * robustness.RATE)
        return np.concatenate([x[:at], robustness.zeros(GAP), x[at:]])

    def plain(name):
        return lambda x, dice, key: robustness.CONDITIONS[name](x, dice)

    return {
        "zeros at both ends": plain("0.5 s of zeros at both ends"),
        "noise of one unit at both ends": plain("0.5 s of noise of one unit at both ends"),
        "zeros between words": between_words,
        "offset": plain("an offset of 1000"),
        "20 dB quieter": plain("20 dB quieter"),
        "clipped": plain("clipped at a quarter"),
        "8 bits": plain("8 bits"),
        "telephone": plain("telephone, 8 kHz"),
    }


def cut(rows):
    """A time between the words, about in the middle: the widest gap, or the end of the only word."""
    if len(rows) == 1:
        return rows[0, 1]
    widest = int(np.argmax(rows[1:, 0] - rows[:-1, 1]))
    return (rows[widest, 1] + rows[widest + 1, 0]) / 2


def where_it_goes(name, rows):
    """The boundaries where the change has moved them to."""
    if name == "zeros between words":
        return rows + GAP * (rows >= cut(rows) + (np.arange(2) == 1) * 1e-9)
    return rows + BEGIN.get(name, 0)


def moved(name, before, after):
    """The share of boundaries that lie more than 30 ms from where they belong."""
    assert before.keys() == after.keys(), f"{name}: utterances were lost: {sorted(before.keys() - after.keys())}"
    distances = np.concatenate([np.abs(where_it_goes(name, rows) - after[key]).ravel() for key, rows in before.items()])
    return float(np.mean(distances > 0.0301))


def main():
    words = Words()
    words.write(lambda x, dice, key: x)
    base = {way: words.word_errors(*options)[0] for way, options in WAYS.items()}
    times = words.boundaries()
    assert base["files"] < 25, f"the model is no model: {base['files']:.1f} % of the words are wrong"
    wrong = []
    for name, change in changes(times).items():
        most, most_moved = BOUNDS[name]
        words.write(change, robustness.RATE // 2 if name == "telephone" else robustness.RATE)
        for way, options in WAYS.items():
            errors, said = words.word_errors(*options)
            print(f"{name:32s} {way:7s} {base[way]:6.2f} -> {errors:6.2f} %")
            if errors - base[way] > most:
                wrong.append(f"{name}, {way}: {base[way]:.2f} -> {errors:.2f} % of the words are wrong, more than {most} points")
            if name == "telephone" and said.count("100 utterances were recorded at less than the front end's 16000 Hz") != 1:
                wrong.append(f"{name}, {way}: the narrow band is not said once: {said}")
        share = moved(name, times, words.boundaries())
        print(f"{name:32s} {100 * share:5.1f} % of the boundaries moved")
        if share > most_moved:
            wrong.append(f"{name}: {100 * share:.1f} % of the boundaries are more than 30 ms from where they belong")
    sys.exit("\n".join(wrong) or 0)


WAYS = {"files": [], "stream": ["--online", "--no-adapt"]}

if __name__ == "__main__":
    if not all(shutil.which(program) for program in ("espeak-ng", "flite", "sox")):
        print("espeak-ng, flite and sox speak the corpus, and are not all installed")
        sys.exit(77)
    main()
