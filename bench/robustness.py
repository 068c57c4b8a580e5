"""What do silence, offset, level, clipping, coarse samples and narrow bands cost? Word errors of the same utterances, changed in one way at a time.

usage: build/venv/bin/python bench/robustness.py [--quick] [--trellis PROGRAM] [--shared DIR] [--folder DIR] [--json FILE]
                                                 [--models mono,sat,en-us] [--condition NAME …] [--utterances N] [--development]

Models: mono is `trellis train`, sat is `--stages mono,tri,lda,sat`, both of the corpus's own training part and with defaults; en-us is
Debian's (package pocketsphinx-en-us; left out where it is not installed). "padded" models are trained on the training part with half a
second of zeros before and behind each file.

Corpora: AN4 (130 utterances; any word of its lexicon may follow any), and, without --quick, speechocean762 (2500 utterances; a trigram model
of its training texts, Europarl and Multi30k over the words of its lexicon). --development takes the last eighth of the training part's speakers
instead of the test part, and trains on the others: for choosing constants.

Each condition is decoded from files (offline), where means are those of the speaker and sat adapts to him, and as a stream (online), without
adaptation. Changes are to "as it is", in points of word error rate.
"""
import argparse
import collections
import ctypes
import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
import wave

import numpy as np
import scipy.signal

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATE = 16000
STAGES = {"mono": [], "sat": ["--stages", "mono,tri,lda,sat"]}


# ---- Sound

class SoundInfo(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), ("rate", ctypes.c_int), ("channels", ctypes.c_int), ("format", ctypes.c_int),
                ("sections", ctypes.c_int), ("seekable", ctypes.c_int)]


SNDFILE = ctypes.CDLL(ctypes.util.find_library("sndfile"))
SNDFILE.sf_open.restype = ctypes.c_void_p
SNDFILE.sf_readf_short.restype = ctypes.c_int64


def read_sound(path):
    """The samples of a file of one channel at RATE, in units of 16 bits."""
    info = SoundInfo()
    file = SNDFILE.sf_open(path.encode(), 0x10, ctypes.byref(info))
    if not file or info.rate != RATE or info.channels != 1:
        sys.exit(f"{path}: can't be read, or is not one channel at {RATE} Hz")
    samples = np.zeros(info.frames, np.int16)
    got = SNDFILE.sf_readf_short(ctypes.c_void_p(file), samples.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(info.frames))
    SNDFILE.sf_close(ctypes.c_void_p(file))
    return samples[:got].astype(float)


def write_sound(path, samples, rate=RATE):
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes())


# ---- What is done to it: samples and a random generator -> samples

def zeros(seconds):
    return np.zeros(int(seconds * RATE))


def pad(x, dice):
    return np.concatenate([zeros(0.5), x, zeros(0.5)])


def pad_faintly(x, dice):
    """Gaussian noise whose deviation is one unit."""
    return np.concatenate([dice.normal(size=RATE // 2), x, dice.normal(size=RATE // 2)])


def insert(x, at):
    return np.concatenate([x[:at], zeros(3), x[at:]])


def gap_anywhere(x, dice):
    """In the very middle, more often than not within a word, which it tears in two."""
    return insert(x, len(x) // 2)


def clip(x, dice):
    most = 0.25 * np.abs(x).max()
    return np.clip(x, -most, most)


def band(x, dice):
    return scipy.signal.sosfiltfilt(scipy.signal.butter(6, [300, 3400], "bandpass", fs=RATE, output="sos"), x)


BETWEEN = "3 s of zeros between two words"
CONDITIONS = {
    "as it is": lambda x, dice: x,
    "0.5 s of zeros at both ends": pad,
    "0.5 s of noise of one unit at both ends": pad_faintly,
    BETWEEN: None,  # where that is depends on the utterance
    "3 s of zeros in the very middle": gap_anywhere,
    "an offset of 1000": lambda x, dice: x + 1000,
    "20 dB quieter": lambda x, dice: x / 10,
    "clipped at a quarter": clip,
    "8 bits": lambda x, dice: 256 * np.rint(x / 256),
    "telephone, 8 kHz": lambda x, dice: scipy.signal.resample_poly(x, 1, 2),
    "300 to 3400 Hz": band,
}
RATES = {"telephone, 8 kHz": RATE // 2}


# ---- Corpora

class Corpus:
    """Utterances of a Kaldi folder: id, sound file, speaker, words."""

    def __init__(self, root, part):
        table = {name: dict(line.rstrip("\n").split(" ", 1) if " " in line else line.rstrip("\n").split("\t", 1)
                            for line in open(os.path.join(root, part, name), encoding="utf-8"))
                 for name in ("wav.scp", "utt2spk", "text")}
        self.items = [(key, os.path.join(root, sound), table["utt2spk"][key], table["text"][key])
                      for key, sound in table["wav.scp"].items()]
        self.between = {}  # id -> a sample between two words

    def only(self, wanted):
        self.items = [item for item in self.items if wanted(item[2])]
        return self

    def speakers(self):
        return sorted({item[2] for item in self.items})

    def texts(self):
        return [item[3] for item in self.items]

    def write(self, folder, condition):
        """The corpus with its sound changed, as a Kaldi folder."""
        os.makedirs(folder, exist_ok=True)
        rows = collections.defaultdict(list)
        for number, (key, path, speaker, text) in enumerate(self.items):
            sound = read_sound(path)
            samples = (insert(sound, self.between.get(key, len(sound))) if condition == BETWEEN else
                       CONDITIONS[condition](sound, np.random.default_rng(number)))
            write_sound(os.path.join(folder, key + ".wav"), samples, RATES.get(condition, RATE))
            rows["wav.scp"].append(f"{key} {key}.wav")
            rows["utt2spk"].append(f"{key} {speaker}")
            rows["text"].append(f"{key} {text}")
        for name, lines in rows.items():
            write_text(os.path.join(folder, name), lines)


def write_text(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def divide(root, development):
    """Training and test parts."""
    if not development:
        return Corpus(root, "train"), Corpus(root, "test")
    held = set(Corpus(root, "train").speakers()[-len(Corpus(root, "train").speakers()) // 8:])
    return Corpus(root, "train").only(lambda s: s not in held), Corpus(root, "train").only(lambda s: s in held)


def read_lines(path):
    opened = subprocess.run(["xz" if path.endswith(".xz") else "gzip", "-dc", path], check=True, stdout=subprocess.PIPE)
    return opened.stdout.decode("utf-8").splitlines()


def bare_lexicon(path, out):
    """Phones without stress, as those of en-us are."""
    lines = []
    for line in open(path, encoding="utf-8"):
        word, *phones = line.split()
        lines.append(" ".join([word] + [phone.rstrip("012") for phone in phones]))
    write_text(out, list(dict.fromkeys(lines)))
    return out


class Task:
    """A corpus, its lexicon, and what may be said."""

    def __init__(self, name, run, shared, folder, development):
        self.name, self.folder = name, folder
        root = os.path.join(shared, "data", name)
        self.train, self.test = divide(root, development)
        self.lexicon = bare_lexicon(os.path.join(root, "lexicon.txt"), os.path.join(folder, "lexicon.txt"))
        self.grammar = ["--loop"]
        self.scales = []
        if name == "speechocean762":
            text = os.path.join(folder, "texts.txt")
            data = os.path.join(shared, "data", "text")
            sentences = read_lines(os.path.join(data, "europarl.train150k.en.xz")) + read_lines(os.path.join(data, "multi30k.train.en.gz"))
            write_text(text, self.train.texts() + ["".join(c if c.isalnum() or c in "' " else " " for c in s.upper()) for s in sentences])
            self.grammar = [os.path.join(folder, "trigram.arpa")]
            run("lm", text, "--vocabulary", self.lexicon, "--closed", "--cutoff", "0,1", "-o", self.grammar[0])


# ---- Word errors

def count_errors(reference, found):
    row = list(range(len(found) + 1))
    for i, word in enumerate(reference, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(found, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (word != other))
    return row[-1]


def word_errors(test, path):
    found = {line.split()[0]: line.split()[1:] for line in open(path, encoding="utf-8") if line.strip()}
    errors = sum(count_errors(text.split(), found.get(key, [])) for key, _, _, text in test.items)
    return 100 * errors / sum(len(text.split()) for text in test.texts())


# ---- The run

class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rates = {}  # (corpus, model, way, condition) -> word error rate, %

    def run(self, *arguments):
        done = subprocess.run([self.options.trellis, *arguments, "-q"], stderr=subprocess.PIPE, check=False)
        if done.returncode > 1:
            sys.exit(f"trellis {' '.join(arguments)}: {done.stderr.decode()}")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def models(self, task):
        """Name -> model and graph."""
        made = {}
        for name in self.options.models:
            trained, _, padded = name.partition("-padded")
            model = self.path(task.name, name + ".trm") if trained in STAGES else name
            graph = self.path(task.name, name + ".trg")
            if trained in STAGES and not os.path.exists(model):
                sound = self.path(task.name, "train")
                task.train.write(sound, "0.5 s of zeros at both ends" if name != trained else "as it is")
                self.run("train", sound, task.lexicon, "-o", model, *STAGES[trained])
                subprocess.run(["rm", "-r", sound], check=True)
            if not os.path.exists(graph):
                self.run("graph", model, task.lexicon, *task.grammar, "-o", graph, "--skip-missing")
            made[name] = (model, graph)
        return made

    def find_boundaries(self, task, model):
        """By forced alignment: of the places between two words that nearest to the middle of the words; behind all where there is one word."""
        sound, aligned = self.path(task.name, "test"), self.path(task.name, "aligned")
        task.test.write(sound, "as it is")
        self.run("align", model, sound, task.lexicon, "-o", aligned, "--to", "ctm")
        words = collections.defaultdict(list)
        for line in open(os.path.join(aligned, "words.ctm"), encoding="utf-8"):
            key, _, start, length = line.split()[:4]
            words[key].append((float(start), float(start) + float(length)))
        for key, spans in words.items():
            places = [(end + start) / 2 for (_, end), (start, _) in zip(spans, spans[1:])] or [spans[-1][1]]
            middle = (spans[0][0] + spans[-1][1]) / 2
            task.test.between[key] = int(RATE * min(places, key=lambda place: abs(place - middle)))
        subprocess.run(["rm", "-r", sound, aligned], check=True)

    def decode(self, task, models, condition):
        sound, words = self.path(task.name, "test"), self.path(task.name, "words.txt")
        task.test.write(sound, condition)
        for name, (model, graph) in models.items():
            for way, extra in (("offline", []), ("online", ["--online", "--no-adapt"])):
                self.run("decode", model, graph, sound, "-o", words, "--no-confidence", *extra)
                rate = self.rates[task.name, name, way, condition] = word_errors(task.test, words)
                base = self.rates[task.name, name, way, "as it is"]
                print(f"{task.name:15s} {name:12s} {way:8s} {condition:42s} {rate:6.2f} {rate - base:+6.2f}", flush=True)
        subprocess.run(["rm", "-r", sound], check=True)

    def measure(self, corpus):
        os.makedirs(self.path(corpus), exist_ok=True)
        task = Task(corpus, self.run, self.options.shared, self.path(corpus), self.options.development)
        if self.options.utterances:
            task.test.items = task.test.items[::max(1, len(task.test.items) // self.options.utterances)]
        models = self.models(task)
        self.find_boundaries(task, next(iter(models.values()))[0])
        for condition in CONDITIONS:
            if condition == "as it is" or not self.options.conditions or condition in self.options.conditions:
                self.decode(task, models, condition)

    def table(self):
        """Markdown: a row for each condition, a column for each corpus, model and way."""
        columns = list(dict.fromkeys(key[:3] for key in self.rates))
        print("\n| | " + " | ".join(" ".join(column) for column in columns) + " |")
        print("|---|" + "---|" * len(columns))
        for condition in CONDITIONS:
            if (*columns[0], condition) not in self.rates:
                continue
            cells = [f"{self.rates[(*c, condition)]:.2f}" if condition == "as it is" else
                     f"{self.rates[(*c, condition)] - self.rates[(*c, 'as it is')]:+.2f}" for c in columns]
            print(f"| {condition} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trellis", default=os.path.join(SOURCE, "build", "release", "programs", "trellis"))
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(SOURCE), "shared"))
    parser.add_argument("--folder", help="keeps models there, and takes those that are there")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="AN4 alone")
    parser.add_argument("--models", default="mono,mono-padded,sat,sat-padded,en-us", type=lambda s: s.split(","))
    parser.add_argument("--condition", dest="conditions", action="append", help="beside the sound as it is; may be repeated; default: all")
    parser.add_argument("--utterances", type=int, help="of the test part, about; default: all")
    parser.add_argument("--development", action="store_true")
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.shared, "data", "an4")):
        print(f"{options.shared}/data/an4 is not there: name the folder of the data with --shared")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, options.folder or temporary)
        for corpus in ["an4"] if options.quick else ["an4", "speechocean762"]:
            bench.measure(corpus)
        bench.table()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([{"corpus": c, "model": m, "way": w, "condition": k, "wer": rate} for (c, m, w, k), rate in bench.rates.items()],
                      file, indent=1)


if __name__ == "__main__":
    main()
