"""Whole commands in which one allocation fails, each of a small run once: the result is the same all the same, or the command says that memory
ran out and exits with 3. Never another result, a crash, or a message that blames a file. The same of a sample where all behind it fail too, and
with several threads.

TRELLIS_EVERY=N tries every N-th only, TRELLIS_ONLY=NAME one command; builds with sanitizers try a sample.
"""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, os.environ["TRELLIS_SOURCE_DIR"] + "/tests")
import small_corpus
from command_server import MEMORY, Server, share_out

SANITIZED = bool(os.environ.get("TRELLIS_SANITIZE"))
LONG = bool(os.environ.get("TRELLIS_LONG"))
EVERY = int(os.environ.get("TRELLIS_EVERY", "100" if SANITIZED and not LONG else "1"))
SHOWN = 10

folder = tempfile.TemporaryDirectory(dir=MEMORY)
data = pathlib.Path(folder.name, "data")
small_corpus.make(data)
sounds, lexicon, arpa = data / "sounds", data / "lexicon.txt", data / "lm.arpa"
first = Server(pathlib.Path(folder.name, "first"))


def make(command, **results):
    """Runs a command and keeps results: make("train …", model="m.trm")."""
    outcome = first.run(*command, "-q", "-t", 1)
    if (outcome.how, outcome.code) != ("exit", 0):
        sys.exit(f"{command}: {outcome}")
    for name, file in results.items():
        (data / name).write_bytes((first.place / file).read_bytes())


train = ["train", sounds, lexicon, "--components", 2, "--iterations", 1, "-o", "m.trm"]
make(train, **{"m.trm": "m.trm", "m.journal": "m.trm.journal"})
make([*train, "--stages", "mono,tri,lda,sat"], **{"s.trm": "m.trm"})
model, sat, graph, hypotheses = data / "m.trm", data / "s.trm", data / "g.trg", data / "n.jsonl"
make(["graph", model, lexicon, arpa, "-o", "g.trg"], **{"g.trg": "g.trg"})
make(["graph", sat, lexicon, arpa, "-o", "g.trg"], **{"sat.trg": "g.trg"})
make(["decode", model, graph, sounds, "--to", "nbest-jsonl", "-o", "n.jsonl"], **{"n.jsonl": "n.jsonl"})
make(["decode", model, graph, sounds, "--to", "text", "-o", "t", "--lattice", "l.ark"], **{"hyp.txt": "t", "l.ark": "l.ark"})
estimation = ["--min-frames", 10, "--max-frames", 12]
make(["bam", "map", model, sounds, lexicon, "-o", "mapped.bam"], **{"mapped.bam": "mapped.bam"})
make(["bam", "sort", data / "mapped.bam", "-o", "s.bam"], **{"sorted.bam": "s.bam"})
make(["bam", "reduce", data / "sorted.bam", *estimation, "-o", "r.bam"], **{"mixtures.bam": "r.bam"})
make(["features", sounds, "-o", "f.ark"], **{"f.ark": "f.ark"})
sound = sounds / "anna" / "anna0.wav"

COMMANDS = {
    "corpus check": ["corpus", "check", sounds, "--lexicon", lexicon, "--json", "found.json"],
    "features": ["features", sounds, "-o", "f.trf"],
    "features show": ["features", "show", data / "f.ark", "--json"],
    "train": train,
    "train stages": [*train, "--stages", "mono,tri,lda,sat"],
    "align": ["align", model, sounds, lexicon, "-o", "out", "--to", "textgrid,ctm,jsonl,kaldi,mlf,vtt"],
    "align sat": ["align", sat, sounds, lexicon, "-o", "out", "--to", "jsonl"],
    "graph": ["graph", model, lexicon, arpa, "-o", "g.trg"],
    "decode": ["decode", model, graph, sounds, "-o", "h.jsonl", "--to", "jsonl", "--lattice", "l.ark"],
    "decode sat": ["decode", sat, data / "sat.trg", sounds, "-o", "h.jsonl", "--to", "jsonl", "--mbr"],
    "decode live": ["decode", model, graph, sound, "-o", "h.jsonl", "--to", "jsonl", "--partial"],
    "score": ["score", hypotheses, data / "hyp.txt", "--json", "score.json"],
    "lattice nbest": ["lattice", "nbest", data / "l.ark", "-n", 3, "-o", "n.txt"],
    "lm": ["lm", data / "hyp.txt", "-o", "new.arpa"],
    "report": ["report", model, "--journal", data / "m.journal", "-o", "page.html"],
    "model show": ["model", "show", model, "--json"],
    "bam map": ["bam", "map", model, sounds, lexicon, "-o", "mapped.bam"],
    "bam sort": ["bam", "sort", data / "mapped.bam", "-o", "s.bam"],
    "bam reduce": ["bam", "reduce", data / "sorted.bam", *estimation, "-o", "r.bam"],
    "bam store": ["bam", "store", data / "mixtures.bam", *estimation, "-o", "store"],
    "bam train": ["bam", "train", model, sounds, lexicon, *estimation, "-o", "store"],
    "bam rescore": ["bam", "rescore", model, sounds, lexicon, hypotheses, "--self", "--to", "lists", "-o", "l.jsonl"],
}
VARY = (".journal",)  # have times


def steady(results):
    return {name: content for name, content in results.items() if not name.endswith(VARY)}


def who_asked(where):
    """The line of the backtrace behind the allocation's: whose it is."""
    lines = where.splitlines()
    asked = [i for i, line in enumerate(lines[:5]) if re.search(r"\((malloc|calloc|realloc)\+", line)]
    return lines[asked[-1] + 1] if asked else ""


def fault(outcome, results, expected, code, where):
    """What is wrong with an outcome, or None."""
    died = outcome.how == "signal" or "AddressSanitizer:DEADLYSIGNAL" in outcome.text
    if died and "libsndfile" in who_asked(where):
        return None  # its own: it uses the list of chunks that it could not make longer
    if "AddressSanitizer: CHECK failed" in outcome.text and "pthread_getattr_np" in who_asked(where):
        return None  # the sanitizer's own, where a thread begins
    if outcome.how != "exit":
        return f"{outcome.how} {outcome.code}"
    if outcome.code == code:
        if steady(results) == expected:
            return None
        return "another result: " + ", ".join(
            sorted(n for n in {*results, *expected} if not n.endswith(VARY) and results.get(n) != expected.get(n))
        )
    if outcome.code != 3:
        return f"exit code {outcome.code}"
    if "out of memory" not in outcome.text and "Cannot allocate memory" not in outcome.text:
        return "no word of memory"
    left = [name for name in results if name.endswith(".tmp")]
    return f"left behind: {left}" if left else None


def check(name, command):
    outcome = first.run(*command, "-q", "-t", 1)
    expected, code, wrong = steady(first.results()), outcome.code, []
    if outcome.how != "exit" or code > 1:
        print(f"{name}: {outcome}")
        return [outcome]

    def inject(server, item):
        number, mode, threads = item
        injected = server.run(*command, "-q", "-t", threads, fail=number, mode=mode)
        place = server.place / ".where"
        where = place.read_text() if place.exists() else ""
        what = fault(injected, server.results(), expected, code, where)
        if what:
            wrong.append((item, what, injected.text.strip(), where))

    last = outcome.allocations + 1
    work = [(number, "one", 1) for number in range(1, last, EVERY)]
    work += [(number, "all", 1) for number in range(1 + EVERY // 2, last, 7 * EVERY)]
    work += [(number, "one", 3) for number in range(1 + EVERY // 3, last, 11 * EVERY)]
    share_out(work, inject)
    for (number, mode, threads), what, text, where in sorted(wrong)[:SHOWN]:
        print(f"{name}, allocation {number} of {outcome.allocations}, {mode}, -t {threads}: {what}: {text}\n{where}")
    print(f"{name}: {outcome.allocations} allocations, {len(wrong)} faults", flush=True)
    return wrong


only = os.environ.get("TRELLIS_ONLY")
sys.exit(any([check(name, command) for name, command in COMMANDS.items() if only in (None, name)]))
