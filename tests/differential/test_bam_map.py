"""The records of `trellis bam map` are those that the definition gives for the alignments of `trellis align`: the longest M-phone of each state with its frames, then what it backs
off to, one symbol less at both ends or at the longer one."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TRELLIS_SOURCE_DIR"], "tests"))
import tone_corpus
from command_runs import TRELLIS, path, run


def chain(left, right):
    """Context sizes from the longest to the shortest."""
    yield left, right
    while max(left, right) > 1:
        left, right = left - (left >= right), right - (right >= left)
        yield left, right


def key(phone, state, before, behind):
    return " ".join([f"{phone}_{state + 1} /", *before, "___", *behind])


def records(alignment, order, boundaries):
    """Lines of an utterance: M-phone, and how many frames from which on; None where it only is what others back off to."""
    symbols, places = [], []
    for number, word in enumerate(alignment["words"]):
        if boundaries and number > 0:
            symbols.append("#")
        for phone in word["phones"]:
            places.append(len(symbols))
            symbols.append(phone["phone"])
    ends = [(state["state"], state["end"], place) for word_phones, place in zip((p for w in alignment["words"] for p in w["phones"]), places)
            for state in word_phones["states"]]
    first = 0
    for number, (state, end, place) in enumerate(ends):
        last = alignment["frames"] if number + 1 == len(ends) else round((end - 0.0075) / 0.01)
        before, behind = symbols[max(0, place - order):place], symbols[place + 1:place + 1 + order]
        for step, (left, right) in enumerate(chain(len(before), len(behind))):
            yield key(symbols[place], state, before[len(before) - left:], behind[:right]), (last - first, first) if step == 0 else None
        first = last


def printed(line):
    name, _, rest = line.partition("\t")
    words = rest.split()
    return name, (int(words[0]), int(words[3])) if words else None


tone_corpus.make(path("."))
sounds, lexicon, model = path("sounds"), path("lexicon.txt"), path("tones.trm")
run(TRELLIS, "train", sounds, lexicon, "-o", model, "-n", "1", "-q", "--set", "deltas=0")
run(TRELLIS, "align", model, sounds, lexicon, "-o", path("aligned"), "--to", "jsonl", "--states", "-q")
alignments = [json.loads(line) for line in open(path("aligned/alignments.jsonl"), encoding="utf-8")]
for order, boundaries in ((1, True), (3, True), (3, False), (5, True)):
    options = [] if boundaries else ["--no-boundaries"]
    run(TRELLIS, "bam", "map", model, sounds, lexicon, "-o", path("mapped"), "-q", "--order", str(order), *options)
    text = run(TRELLIS, "bam", "show", path("mapped")).stdout.decode()
    found = [printed(line) for line in text.splitlines() if not line.startswith("# ")]
    wanted = [record for alignment in alignments for record in records(alignment, order, boundaries)]
    assert len(wanted) > 500 and found == wanted, next((f, w) for f, w in zip(found, wanted) if f != w)
    assert sum(count[0] for _, count in found if count) == sum(a["frames"] for a in alignments)
