"""How exact are the times? Forced alignment of the TIMIT sample (hand-placed boundaries), ours and pocketsphinx's.

usage: build/venv/bin/python bench/timit_boundaries.py [--trellis PROGRAM] [--shared DIR] [--folder DIR] [--json FILE] [TRAIN OPTIONS …]

Ours is trained here, by `trellis train` with TRAINING below, on AN4's 948 training utterances (42 minutes of letters, digits and
commands by 74 speakers) and on the 80 utterances of the sample themselves (4 minutes, each counted TIMES times): their sound and their
words, not their boundaries. So the aligned utterances are part of the training data, as is usual when a corpus is aligned; no other
data is used. TRAINING and TIMES are the best of some twenty settings tried on this same sample. The words of
AN4 are pronounced by its own lexicon; those of the sample by timitdic.txt, whose symbols are mapped to the CMU phones (PHONES
below; stress is dropped; MISSING has the three words that it lacks). pocketsphinx aligns the same utterances with its stock en-us model and its own dictionary; a
word that it lacks is given the pronunciation of timitdic.txt.

Reported, for all words of the sample (.wrd): the error of the word's start. For phones (.phn, folded to CMU phones, a closure and its
burst one phone): the error of the boundaries whose two neighbours are the same on both sides. Errors are absolute, in
milliseconds; `bias` is the mean of (found - reference): below zero means early.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import pocketsphinx_align as peer  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRAINING = ["--total", "2000", "--iterations", "6", "--silence-topology", "ergodic", "--silence-states", "5", "--set", "frame_ms=20",
            "--set", "delta_window=1", "--set", "cmvn_variance=1"]
TIMES = 10
RATE = 16000
WITHIN = (10, 20, 25, 50)  # ms

# TIMIT's symbols as CMU phones; those not named here are the same letters in capitals.
PHONES = {"ax": "AH", "ax-h": "AH", "ix": "IH", "axr": "ER", "el": "AH L", "en": "AH N", "em": "AH M", "eng": "NG", "ux": "UW",
          "hv": "HH", "nx": "N"}
# The same for what was really said (.phn), where a syllabic consonant is one segment.
SAID = {**PHONES, "el": "L", "en": "N", "em": "M", "dx": "DX", "q": "Q", "h#": "SIL", "pau": "SIL", "epi": "SIL"}
# Words of the sample that timitdic.txt lacks.
MISSING = {"anti": "AE N T IY", "semi": "S EH M IY", "use": "Y UW Z"}
CLOSURES = {"bcl": "b", "dcl": "d", "gcl": "g", "pcl": "p", "tcl": "t", "kcl": "k"}


def to_cmu(symbol):
    symbol = symbol.rstrip("012")
    return PHONES.get(symbol, symbol.upper())


def read_dictionary(path):
    """Word -> CMU phones; timitdic.txt's comments give four more."""
    words = dict(MISSING)
    for line in open(path, encoding="latin-1"):
        line = line.lstrip("; ").strip()
        word, _, rest = line.partition("  /")
        if rest.endswith("/") and " " not in word:
            words[word.rstrip(".")] = " ".join(to_cmu(symbol) for symbol in rest.rstrip("/").split())
    return words


def read_labels(path):
    """[(label, start, end)] in seconds."""
    lines = (line.split() for line in open(path, encoding="ascii"))
    return [(label, int(start) / RATE, int(end) / RATE) for start, end, label in lines]


class Utterance:
    def __init__(self, sound):
        stem = os.path.splitext(sound)[0]
        self.sound = sound
        self.speaker = os.path.basename(os.path.dirname(sound))
        self.id = "timit-" + self.speaker + "-" + os.path.basename(stem)
        self.words = read_labels(stem + ".wrd")
        self.phones = fold(read_labels(stem + ".phn"))

    def text(self):
        return " ".join(word for word, _, _ in self.words)


def fold(labels):
    """What was said, in CMU phones: closure and burst are one phone; so are silences side by side."""
    folded = []
    i = 0
    while i < len(labels):
        label, start, end = labels[i]
        if label in CLOSURES:
            stop = CLOSURES[label]
            following = labels[i + 1][0] if i + 1 < len(labels) else ""
            if following == stop or (following == "ch" and stop == "t") or (following == "jh" and stop == "d"):
                i += 1
                label, end = labels[i][0], labels[i][2]
            else:
                label = stop
        label = SAID.get(label, label.upper())
        if folded and label == "SIL" == folded[-1][0]:
            folded[-1] = (label, folded[-1][1], end)
        else:
            folded.append((label, start, end))
        i += 1
    return folded


def read_sample(folder):
    sounds = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".flac")]
    return [Utterance(sound) for sound in sorted(sounds)]


# ---- ours ----


def write_corpora(folder, shared, sample, dictionary):
    """train.tsv (AN4 and the sample), sample.tsv, lexicon.txt."""
    an4 = os.path.join(shared, "an4")
    table = {}
    for name in ("wav.scp", "text", "utt2spk"):
        for line in open(os.path.join(an4, "train", name), encoding="utf-8"):
            key, _, value = line.rstrip("\n").partition(" ")
            table.setdefault(key, {})[name] = value
    lines = [f"{u.id}\t{u.sound}\t{u.text()}\t{u.speaker}\n" for u in sample]
    again = [f"{copy}-{line}" for copy in range(TIMES) for line in lines]
    head = "id\tpath\ttext\tspeaker\n"
    with open(os.path.join(folder, "sample.tsv"), "w", encoding="utf-8") as out:
        out.write(head + "".join(lines))
    with open(os.path.join(folder, "train.tsv"), "w", encoding="utf-8") as out:
        out.write(head + "".join(again))
        for key, one in sorted(table.items()):
            out.write(f"{key}\t{os.path.join(an4, one['wav.scp'])}\t{one['text']}\t{one['utt2spk']}\n")
    with open(os.path.join(folder, "lexicon.txt"), "w", encoding="utf-8") as out:  # AN4 in capitals, TIMIT in small letters
        out.write(open(os.path.join(an4, "lexicon.txt"), encoding="utf-8").read())
        for word in sorted({word for u in sample for word, _, _ in u.words}):
            out.write(f"{word} {dictionary[word]}\n")


def run_trellis(program, folder, training):
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    subprocess.run([program, "train", path("train.tsv"), path("lexicon.txt"), "-o", path("model.trm"), "-q", *training], check=True)
    subprocess.run([program, "align", path("model.trm"), path("sample.tsv"), path("lexicon.txt"), "-o", path("aligned"), "--to",
                    "jsonl", "-q"], check=True)
    found = {}
    for line in open(path("aligned/alignments.jsonl"), encoding="utf-8"):
        one = json.loads(line)
        found[one["id"]] = [(word["word"], word["start"], word["end"],
                             [(phone["phone"], phone["start"], phone["end"]) for phone in word["phones"]]) for word in one["words"]]
    return found


# ---- pocketsphinx ----


def run_pocketsphinx(sample, dictionary):
    decoder = peer.create_decoder()
    found = {}
    for u in sample:
        for word, _, _ in u.words:
            if decoder.lookup_word(word) is None:
                decoder.add_word(word, dictionary[word], True)
        aligned = peer.align(decoder, peer.read_sound(u.sound), u.text())
        if aligned:
            found[u.id] = aligned
    return found


# ---- errors ----


def is_silence(word):
    return word in ("", "SIL") or word.startswith(("<", "["))


def word_errors(u, aligned):
    """Found minus reference, of each word's start."""
    words = [(word, start) for word, start, _, _ in aligned if not is_silence(word)]
    assert len(words) == len(u.words), u.id
    return [start - reference[1] for (_, start), reference in zip(words, u.words)]


def same(said, phone):
    return said == phone or (said == "DX" and phone in ("T", "D"))


def match(said, phones):
    """Pairs (i, j) of equal phones in a cheapest edit alignment."""
    rows, columns = len(said), len(phones)
    cost = [[i + j if i * j == 0 else 0 for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            change = cost[i - 1][j - 1] + (0 if same(said[i - 1][0], phones[j - 1][0]) else 1)
            cost[i][j] = min(change, cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    pairs, i, j = set(), rows, columns
    while i and j:
        equal = same(said[i - 1][0], phones[j - 1][0])
        if cost[i][j] == cost[i - 1][j - 1] + (0 if equal else 1):
            if equal:
                pairs.add((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return pairs


def phone_errors(u, aligned):
    """Found minus reference, of boundaries between two phones that both sides have."""
    phones = [phone for _, _, _, inner in aligned for phone in inner]
    pairs = match(u.phones, phones)
    return [phones[j][1] - u.phones[i][1] for i, j in sorted(pairs) if (i - 1, j - 1) in pairs]


def summary(errors):
    absolute = [1000 * abs(e) for e in errors]
    return {"count": len(errors), "mean": statistics.fmean(absolute), "median": statistics.median(absolute),
            "bias": 1000 * statistics.fmean(errors),
            **{f"within_{limit}": 100 * sum(a <= limit for a in absolute) / len(absolute) for limit in WITHIN}}


def judge(name, sample, found):
    words = [e for u in sample if u.id in found for e in word_errors(u, found[u.id])]
    phones = [e for u in sample if u.id in found for e in phone_errors(u, found[u.id])]
    result = {"utterances": sum(u.id in found for u in sample), "word_starts": summary(words), "phone_boundaries": summary(phones)}
    for what in ("word_starts", "phone_boundaries"):
        s = result[what]
        shares = " ".join(f"{s[f'within_{limit}']:5.1f}" for limit in WITHIN)
        print(f"{name:13} {what:17} {s['count']:5}  {s['mean']:6.1f} {s['median']:7.1f} {s['bias']:6.1f}   {shares}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trellis", default=os.path.join(SOURCE, "build/release/programs/trellis"))
    parser.add_argument("--shared", default=os.environ.get("TRELLIS_SHARED", os.path.join(SOURCE, "../shared")))
    parser.add_argument("--folder", help="for model and alignments; default: a temporary one")
    parser.add_argument("--json", help="a file for the figures")
    options, training = parser.parse_known_args()
    shared = os.path.abspath(os.path.join(options.shared, "data"))
    if not os.path.isdir(os.path.join(shared, "timit-sample")) or not os.path.isdir(os.path.join(shared, "an4")):
        sys.exit("skipped: the TIMIT sample or AN4 is not in " + shared)
    sample = read_sample(os.path.join(shared, "timit-sample"))
    dictionary = read_dictionary(os.path.join(shared, "timit-sample", "timitdic.txt"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        os.makedirs(folder, exist_ok=True)
        write_corpora(folder, shared, sample, dictionary)
        ours = run_trellis(options.trellis, folder, training or TRAINING)
    theirs = run_pocketsphinx(sample, dictionary)
    print("                                count    mean  median   bias   % within " + ", ".join(map(str, WITHIN)) + " ms")
    result = {"training": training or TRAINING, "trellis": judge("trellis", sample, ours),
              "pocketsphinx": judge("pocketsphinx", sample, theirs)}
    if len(theirs) < len(sample):
        print(f"pocketsphinx aligned {len(theirs)} of {len(sample)} utterances; ours on the same:")
        result["trellis_same"] = judge("trellis", [u for u in sample if u.id in theirs], ours)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)


if __name__ == "__main__":
    main()
