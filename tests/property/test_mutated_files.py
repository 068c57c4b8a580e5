"""A file of each kind that the command reads, changed at random, half of the times with its checksums put right behind the change. Whatever it is, the command
ends with 0 to 3, soon, with as much memory as the files justify; on failure it names a file. Sanitizers, where they are built in, find nothing.

TRELLIS_RUNS=N (2000) changes in all; TRELLIS_SEED=N another series of them; TRELLIS_ONLY=NAME one kind. What failed is in the build's folder `mutated`.
"""

import collections
import gzip
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["TRELLIS_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests"))
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1:exitcode=99"  # leaks are looked for by the tests of readers
import small_corpus
from command_server import MEMORY, Server, share_out
from mutations import mutate

SANITIZED = bool(os.environ.get("TRELLIS_SANITIZE"))
RUNS = int(os.environ.get("TRELLIS_RUNS", "100000" if os.environ.get("TRELLIS_LONG") else "2000" if SANITIZED else "1000"))
SEED = os.environ.get("TRELLIS_SEED", "1")
SECONDS = 60  # nobody waits so long
MEGABYTES = 64  # above what the file as it was takes; and for each megabyte of input:
FACTOR = 200
kept = pathlib.Path(os.environ["TRELLIS_BUILD_DIR"], "mutated")

folder = tempfile.TemporaryDirectory(dir=MEMORY)
data = pathlib.Path(folder.name, "data")
small_corpus.make(data)
sounds, lexicon, arpa, sound = data / "sounds", data / "lexicon.txt", data / "lm.arpa", data / "sounds/anna/anna0.wav"
first = Server(pathlib.Path(folder.name, "first"))


def make(*command, files=(), **results):
    """Runs a command and returns its results: make("train", …)["m.trm"]."""
    outcome = first.run(*command, "-q", "-t", 1, files=files)
    if outcome.how != "exit" or outcome.code > 1:
        sys.exit(f"{command}: {outcome}")
    return first.results()


def put(name, content):
    (data / name).write_bytes(content)
    return data / name


def seeds(name):
    """The files that the fuzz target of this name begins with."""
    return [file.read_bytes() for file in sorted((SOURCE / "tests/fuzz/corpus" / name).iterdir())]


KINDS = {}  # name -> a list of (files by name, the one that changes, command)


def kind(name, content, *commands, others=(), file=None):
    """The file is called like its kind, with blanks for dashes."""
    file = file or name.replace(" ", "-")
    for one in content if isinstance(content, list) else [content]:
        for command in commands:
            KINDS.setdefault(name, []).append(({**dict(others), file: one}, file, [file if word == "@" else word for word in command]))


# ---- A small world ----
train = ["train", sounds, lexicon, "--components", 2, "--iterations", 1, "-o", "m.trm"]
trained = make(*train, "--keep")
model = put("m.trm", trained["m.trm"])
sat_trained = make(*train, "--stages", "mono,tri,lda,sat", "--keep")
sat = put("s.trm", sat_trained["m.trm"])
graph = put("g.trg", make("graph", model, lexicon, arpa, "-o", "g.trg")["g.trg"])
nbest = put("n.jsonl", make("decode", model, graph, sounds, "--to", "nbest-jsonl", "-o", "n")["n"])
decoded = make("decode", model, graph, sounds, "--to", "text", "-o", "hyp", "--lattice", "l.ark")
text = put("hyp.txt", decoded["hyp"])
aligned = make("align", model, sounds, lexicon, "-o", "out", "--to", "textgrid,ctm,jsonl,mlf,kaldi", "--states")
features = {name: make("features", sounds, "-o", place)["f." + name] for name, place in
            [("trf", "f.trf"), ("ark", "ark:f.ark"), ("txt", "ark,t:f.txt")]}  # fmt: skip
packed = put("f.trf", make("features", sounds, "--model", model, "-o", "f.trf")["f.trf"])
estimation = ["--min-frames", 10, "--max-frames", 12]
mapped = make("bam", "map", model, sounds, lexicon, "-o", "r.bam")["r.bam"]
sorted_stream = make("bam", "sort", put("r.bam", mapped), "-o", "r.bam")["r.bam"]
mixtures = make("bam", "reduce", put("s.bam", sorted_stream), *estimation, "-o", "r.bam")["r.bam"]
store = make("bam", "train", model, sounds, lexicon, *estimation, "-o", "store")
lists = make("bam", "rescore", model, sounds, lexicon, nbest, "--self", "--to", "lists", "-o", "l")["l"]
fst_text = b"0 1 1 2 0.5\n1 2 2 1 0.25\n1 1 3 3 1\n2 2 1 1 2\n2 0.5\n"
fst = put("f.fst", make("fst", "compile", put("f.txt", fst_text), "-o", "f.fst")["f.fst"])
symbols = b"<eps> 0\na 1\nb 2\nc 3\n"
trt = make("fst", "index", fst, "-o", "f.trt")["f.trt"]
codes = make("fst", "encode", fst, "codes", "--encode-labels", "-o", "e.fst")
kaldi = {
    "text": b"u1 AE SO\nu2 EE AE\n",
    "wav.scp": f"r1 {sound}\nr2 {sounds}/anna/anna1.wav\n".encode(),
    "segments": b"u1 r1 0 0.4\nu2 r2 0.1 0.5\n",
    "utt2spk": b"u1 anna\nu2 anna\n",
}
kaldi_model = make("model", "convert", model, "--to", "kaldi", "-o", "k")
kaldi_text = make("model", "convert", sat, "--to", "kaldi-text", "-o", "k")
htk = make("model", "convert", model, "--to", "htk", "-o", "m.mmf")["m.mmf"]
htk_binary = make("model", "convert", model, "--to", "htk-binary", "-o", "m.mmf")["m.mmf"]

# ---- Sound and features ----
for name in ("sound", "sound_stream"):
    kind(name, seeds(name), ["features", "@", "-o", "out.trf"], ["corpus", "check", "@", "--text-optional"])
kind("wav", sound.read_bytes(), ["decode", model, graph, "@", "-o", "out", "--to", "jsonl", "--partial"], ["features", "@", "-o", "o.ark"])
readers = [["features", "show", "@", "--json"], ["features", "copy", "@", "out.trf"]]
kind("packed features", [features["trf"], *seeds("packed")], *readers, file="f.trf")
kind("archive", [features["ark"], features["txt"], *seeds("ark")], *readers, file="f.ark")
kind("script", b"anna0 f.ark:6\nben0 f.ark:40\n", *readers, others={"f.ark": features["ark"]}, file="f.scp")
kind("htk features", seeds("htk"), *readers, file="f.htk")
kind("npy", seeds("npy"), *readers, file="f.npy")
kind("frontend", seeds("frontend"), ["features", sounds, "--config", "@", "-o", "out.trf"])
rows = [" ".join("1" if column == row else "0.5" for column in range(13)) for row in range(3)]
kind("transform", f" [ {chr(10).join(rows)} ]\n".encode(), ["features", sounds, "--transform", "@", "-o", "out.trf"])

# ---- Corpora ----
for name in kaldi:
    kind("kaldi " + name, kaldi[name], ["corpus", "check", ".", "--lexicon", lexicon], ["features", ".", "-o", "o.trf"], others=kaldi, file=name)
kind("manifest", [f"path\ttext\tstart\tend\n{sound}\tAE SO\t0\t0.4\n".encode(), *seeds("manifest")], ["corpus", "check", "@"], file="m.tsv")
grid = seeds("textgrid") + [aligned["out/anna0.TextGrid"]]
kind("textgrid", grid, ["corpus", "check", "."], others={"a.wav": sound.read_bytes()}, file="a.TextGrid")
kind("mlf", [*seeds("mlf"), b'#!MLF!#\n"*/anna0.lab"\nAE\nSO\n.\n'], ["corpus", "check", sounds, "--mlf", "@"], file="w.mlf")
kind("lab", b"AE SO\n", ["corpus", "check", "."], others={"a.wav": sound.read_bytes()}, file="a.lab")
words = [lexicon.read_bytes(), *seeds("lexicon")]
kind("lexicon", words, ["corpus", "check", sounds, "--lexicon", "@"], ["graph", model, "@", arpa, "-o", "g.trg"], ["align", model, sounds, "@", "-o", "out"])

# ---- Models ----
for name, content in [("model", model.read_bytes()), ("sat model", sat.read_bytes())]:
    kind(name, content, ["model", "show", "@", "--json", "--gaussians"], ["model", "draw", "@", "-o", "o.dot"],
         ["align", "@", sounds, lexicon, "-o", "out"], ["decode", "@", graph, sounds, "-o", "out"],
         ["bam", "map", "@", sounds, lexicon, "-o", "o.bam"], ["report", "@", "-o", "o.html"])  # fmt: skip
kind("seed model", seeds("model"), ["model", "stat", "@", "--json"])
kind("mmf", [htk, htk_binary, *seeds("mmf")], ["model", "convert", "@", "-o", "o.trm"])
for name in ("final.mdl", "tree", "phones.txt"):
    for at, files in enumerate([kaldi_model, kaldi_text]):
        files = {file: content for file, content in files.items() if file.startswith("k/")}
        kind("kaldi " + name, files["k/" + name], ["model", "convert", "k", "-o", "o.trm"], ["model", "show", "k/final.mdl", "--json"], others=files, file="k/" + name)
kind("kaldi seed model", seeds("kaldi_model"), ["model", "stat", "@"], file="final.mdl")
kind("questions", seeds("questions"), [*train, "--stages", "mono,tri", "--questions", "@"])
for name, content in sat_trained.items():
    if name.startswith("m.trm.work/"):
        kind("work " + name.split("/")[1], content, [*train, "--stages", "mono,tri,lda,sat", "--resume"], others=sat_trained, file=name)
kind("journal", trained["m.trm.journal"], ["report", model, "--journal", "@", "-o", "o.html"])
kind("training features", packed.read_bytes(), [*train, "--features", "@"], file="f.trf")
kind("likelihoods", make("model", "likelihoods", model, packed, "-o", "l.ark")["l.ark"], ["decode", model, graph, sounds, "--likelihoods", "@", "-o", "o"], file="l.ark")

# ---- Grammars, graphs, words ----
kind("arpa", [arpa.read_bytes(), *seeds("arpa")], ["graph", model, lexicon, "@", "-o", "g.trg", "--skip-missing"], ["lm", "perplexity", "@", text], ["fst", "arpa", "@", "-o", "o.fst"])
kind("packed arpa", gzip.compress(arpa.read_bytes(), mtime=0), ["lm", "perplexity", "@", text], file="lm.arpa.gz")
kind("sphinx lm", seeds("sphinx_lm"), ["fst", "arpa", "@", "-o", "o.fst"], ["lm", "perplexity", "@", text])
kind("jsgf", [b"#JSGF V1.0;\ngrammar g;\npublic <a> = AE [SO] <b>*;\n<b> = EE | AE SO;\n", *seeds("jsgf")], ["graph", model, lexicon, "--jsgf", "@", "-o", "g.trg", "--skip-missing"])
kind("phrases", b"AE SO\nEE\n", ["graph", model, lexicon, "--words", "@", "-o", "g.trg"])
fly = make("graph", model, lexicon, arpa, "--on-the-fly", "-o", "g.trg")["g.trg"]
kind("graph", [graph.read_bytes(), fly], ["decode", model, "@", sounds, "-o", "o", "--to", "jsonl"], file="g.trg")
kind("seed graph", seeds("graph"), ["decode", model, "@", sounds, "-o", "o"], file="g.trg")
kind("text", seeds("text"), ["lm", "@", "-o", "o.arpa"])
scored = [text.read_bytes(), nbest.read_bytes(), aligned["out/alignments.jsonl"]]
for name in ("transcripts", "ctm", "stm", "trn"):
    scored += seeds(name)
kind("transcripts", scored, ["score", "@", text, "--json", "o.json"], ["score", text, "@"])

# ---- Transducers and lattices ----
operations = [["fst", "info", "@"], ["fst", "print", "@"], ["fst", "determinize", "@", "-o", "o"], ["fst", "compose", "@", fst, "-o", "o"], ["fst", "minimize", "@", "-o", "o"]]
operations += [["fst", "rmepsilon", "@", "-o", "o"], ["fst", "shortestpath", "@", "-o", "o"], ["fst", "index", "@", "-o", "o.trt"], ["fst", "push", "@", "--push-weights", "-o", "o"]]
kind("fst", [fst.read_bytes(), *seeds("fst_binary")], *operations)
kind("fst text", [fst_text, *seeds("fst_text")], ["fst", "compile", "@", "-o", "o.fst"], ["fst", "info", "@"])
kind("symbols", [symbols, *seeds("symbols")], ["fst", "print", fst, "--isymbols", "@"], ["fst", "symbols", fst, "--isymbols", "@", "-o", "o.fst"])
kind("codes", [codes["codes"], *seeds("fst_codes")], ["fst", "decode", put("e.fst", codes["e.fst"]), "@", "-o", "o.fst"])
kind("transducer", [trt, *seeds("transducer")], ["fst", "viterbi", "@", put("in.txt", b"1 2\n1 3 2\n")], ["fst", "forward", "@", data / "in.txt"], ["fst", "train", "@", put("pairs", b"1 2\t2 1\n"), "-o", "o.fst"])
kind("strings", b"1 2\n1 3 2\n", ["fst", "viterbi", fst, "@"])
lattices = [["lattice", "info", "@", "--json"], ["lattice", "nbest", "@", "--words", graph, "-n", 3], ["lattice", "words", "@", "--words", graph, "--mbr"], ["lattice", "copy", "@", "-o", "o.ark"],
            ["lattice", "rescore", "@", "--words", graph, "--add", arpa, "-o", "o.ark"], ["lattice", "oracle", text, "@", "--words", graph]]  # fmt: skip
kind("lattice", [decoded["l.ark"], *seeds("lattice")], *lattices, file="l.ark")

# ---- Back-off models ----
rescore = ["bam", "rescore", model, sounds, lexicon]
kind("lists", [nbest.read_bytes(), *seeds("bam_lists")], [*rescore, "@", "--self"])
kind("scored lists", lists, ["bam", "eval", text, "@", "--hits"], ["bam", "tune", text, "@"])
kind("stream", [mapped, *seeds("bam_stream")], ["bam", "show", "@", "--frames"], ["bam", "sort", "@", "-o", "o.bam"], file="r.bam")
kind("sorted stream", sorted_stream, ["bam", "reduce", "@", *estimation, "-o", "o.bam"], file="s.bam")
kind("mixtures", mixtures, ["bam", "store", "@", *estimation, "-o", "store"], ["bam", "show", "@"], file="x.bam")
for name, content in store.items():
    if name.startswith("store/"):
        part = "store " + ("part" if "part" in name else "index")
        kind(part, content, ["bam", "info", "store"], ["bam", "export", "store"], [*rescore, nbest, "store", "-o", "o"], others=store, file=name)

# ---- The runs ----
EXAMPLES = {}  # (kind, number of the example) -> memory of the file as it is


def measure(server, item):
    name, number = item
    files, _, command = KINDS[name][number]
    outcome = server.run(*command, "-q", "-t", 1, files=files, seconds=SECONDS)
    EXAMPLES[item] = outcome.most
    what = "exit code 2" if outcome.code == 2 else fault(outcome, files, command)
    if what and what != "memory":
        wrong.append((name, "as it is", what, command, outcome.text))


def fault(outcome, files, command):
    """What is wrong with an outcome, or None."""
    if outcome.how == "memory":
        return "memory"
    if outcome.how == "signal":
        return "takes too long" if outcome.code == 14 else f"signal {outcome.code}"
    if "Sanitizer" in outcome.text or "runtime error:" in outcome.text:
        return "a sanitizer's finding"
    if outcome.code not in (0, 1, 2, 3):
        return f"exit code {outcome.code}"
    names = [file.name for file in sounds.rglob("*.wav")] + [pathlib.PurePath(word).name for word in (*files, *command) if word in files or isinstance(word, pathlib.Path)]
    if outcome.code > 1 and not any(name in outcome.text for name in names):
        return "no file is named"
    return None


def run(server, item):
    number, name = item
    source = random.Random(f"{SEED} {number} {name}")
    example = source.randrange(len(KINDS[name]))
    files, changed, command = KINDS[name][example]
    content = mutate(source, files[changed])
    repair = changed if source.random() < 0.5 else "-"
    size = sum(map(len, files.values())) - len(files[changed]) + len(content)
    most = MEGABYTES + (EXAMPLES[name, example] >> 20) + (FACTOR * size >> 20)
    outcome = server.run(*command, "-q", "-t", 1, files={**files, changed: content}, repair=repair, seconds=SECONDS, megabytes=most)
    what = fault(outcome, files, command)
    if not what:
        return
    place = kept / f"{name.replace(' ', '-')}-{SEED}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    for file in files:  # as the command has seen them
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        now = server.place / file
        (place / file).write_bytes(now.read_bytes() if file == changed and now.exists() else files[file])
    where = server.place / ".where"
    said = outcome.text.strip() + ("\n" + where.read_text() if outcome.how == "memory" and where.exists() else "")
    wrong.append((name, number, what, f"in {place}: {' '.join(map(str, command))}", said))


wrong = []
only = os.environ.get("TRELLIS_ONLY")
names = [name for name in KINDS if only in (None, name)]
share_out([(name, number) for name in names for number in range(len(KINDS[name]))], measure)
share_out(((number, names[number % len(names)]) for number in range(RUNS)), run)
said_before = collections.Counter()
for name, number, what, where, said in wrong:
    said_before[name, what] += 1
    if said_before[name, what] > 3:
        continue
    print(f"{name}, {number}: {what}, {where}\n{said}\n")
print(f"seed {SEED}: {RUNS} files of {len(names)} kinds, {len(wrong)} faults")
sys.exit(bool(wrong))
