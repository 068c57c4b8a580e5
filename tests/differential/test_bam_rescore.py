"""`trellis bam rescore` against equations 2 to 4 of [001], written down once more: each hypothesis as the transcript of `trellis bam map`, whose records say which frames belong to
which M-phone, and the store as text. Scores, orders that are missing, hit ratios, and the chosen words, for several orders and weights; then the grid of `trellis bam tune`."""
import json
import os
import random
import shutil
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.environ["TRELLIS_SOURCE_DIR"], "tests"))
import tone_corpus
from command_runs import TRELLIS, path, run


def store_of(text):
    """Mixtures by M-phone, from `bam export`: lines of log weight, means, variances below each key."""
    mixtures, rows = {}, None
    for line in text.splitlines():
        if line.startswith("  "):
            rows.append([float(x) for x in line.split()])
        elif "\t" in line:
            rows = mixtures.setdefault(line.split("\t")[0], [])
    return {key: np.array(rows) for key, rows in mixtures.items()}


def likelihoods(frames, mixture):
    dim = frames.shape[1]
    weight, mean, variance = mixture[:, 0], mixture[:, 1:dim + 1], mixture[:, dim + 1:]
    each = weight - 0.5 * (np.log(2 * np.pi * variance).sum(1) + ((frames[:, None] - mean) ** 2 / variance).sum(2))
    best = each.max(1)
    return (best + np.log(np.exp(each - best[:, None]).sum(1))).sum()


def sizes(key):
    before, behind = key.split(" / ", 1)[1].split("___")
    return len(before.split()), len(behind.split())


def segments(text):
    """Utterance by utterance, (M-phones from the longest to the shortest, frames) of each state, from `bam show --frames`."""
    found = []
    for line in text.splitlines():
        if line.startswith("  "):
            found[-1][-1][1].append([float(x) for x in line.split()])
        elif not line.startswith("# "):
            key, _, rest = line.partition("\t")
            if " from 0 of " in rest:
                found.append([])
            if rest:
                found[-1].append(([key], []))
            else:
                found[-1][-1][0].append(key)
    return [[(chain, np.array(frames)) for chain, frames in utterance] for utterance in found]


def write_corpus(name, transcripts):
    """A corpus of the same sounds with other words."""
    folder = path(name)
    shutil.rmtree(folder, ignore_errors=True)
    for utterance, said in transcripts.items():
        place = os.path.join(folder, places[utterance])
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(path(f"sounds/{places[utterance]}.wav"), place + ".wav")
        with open(place + ".lab", "w", encoding="utf-8") as file:
            file.write(" ".join(said))
    return folder


def map_hypotheses(order, options):
    """(utterance, rank): its states. One run of the mapper for each rank."""
    states = {}
    for rank in range(max(len(hypotheses) for hypotheses in lists.values())):
        transcripts = {u: lists[u][rank][2] for u in chosen if rank < len(lists[u])}
        run(TRELLIS, "bam", "map", model, write_corpus("rank", transcripts), lexicon, "-o", path("mapped"), "-q", "--order", str(order), *options)
        mapped = segments(run(TRELLIS, "bam", "show", "--frames", path("mapped")).stdout.decode())
        states |= {(u, rank): of for u, of in zip(sorted(transcripts), mapped, strict=True)}
    return states


def lists_of(name):
    return [json.loads(line) for line in open(name, encoding="utf-8")]


source = random.Random(7)
tone_corpus.make(path("."))
sounds, lexicon, model = path("sounds"), path("lexicon.txt"), path("tones.trm")
# Means of speakers would make frames depend on the rest of the corpus, which is another one for every hypothesis here.
run(TRELLIS, "train", sounds, lexicon, "-o", model, "-n", "1", "-q", "--set", "deltas=0", "--set", "cmvn=none")
words = sorted(tone_corpus.WORDS)
utterances = {name[:-4]: open(path(f"sounds/{speaker}/{name}"), encoding="utf-8").read().split()
              for speaker in ("anna", "ben") for name in sorted(os.listdir(path(f"sounds/{speaker}"))) if name.endswith(".lab")}
places = {name[:-4]: f"{speaker}/{name[:-4]}" for speaker in ("anna", "ben") for name in os.listdir(path(f"sounds/{speaker}")) if name.endswith(".lab")}
chosen = sorted(utterances)[::6]

# Hypotheses: the truth, and the truth with a word changed, left out or added; costs by chance.
lists = {}
for utterance in chosen:
    truth, hypotheses = utterances[utterance], [utterances[utterance]]
    for change in range(3):
        other, at = list(truth), source.randrange(len(truth))
        other[at:at + (change != 2)] = [] if change == 1 else [source.choice(words)]
        if other not in hypotheses and other:
            hypotheses.append(other)
    source.shuffle(hypotheses)
    lists[utterance] = [(source.uniform(2, 30), source.uniform(2000, 2100), hypothesis) for hypothesis in hypotheses]
with open(path("nbest"), "w", encoding="utf-8") as file:
    for utterance, hypotheses in lists.items():
        for rank, (graph, acoustic, hypothesis) in enumerate(hypotheses):
            print(utterance, rank + 1, graph, acoustic, " ".join(hypothesis), sep="\t", file=file)
with open(path("ref.txt"), "w", encoding="utf-8") as file:
    for utterance in chosen:
        print(utterance, *utterances[utterance], file=file)

for order, least, options in ((1, 60, []), (2, 25, ["--no-boundaries"]), (3, 12, [])):
    store, scored = path(f"store{order}"), path(f"scored{order}")
    run(TRELLIS, "bam", "train", model, sounds, lexicon, "-o", store, "-q", "--order", str(order), "--min-frames", str(least), *options)
    mixtures = store_of(run(TRELLIS, "bam", "export", store).stdout.decode())
    done = run(TRELLIS, "bam", "rescore", model, sounds, lexicon, path("nbest"), store, "--to", "lists", "-o", scored, "--skip-bad", codes=(1,))
    assert b"ms per utterance" in done.stderr
    found = lists_of(scored)
    assert [u["id"] for u in found[1:]] == chosen
    hits, first_pass, backed_off = np.zeros((order + 1, order + 1), int), 0, 0
    scores, states = {}, map_hypotheses(order, options)
    for utterance in found[1:]:
        for rank, (hypothesis, (graph, acoustic, said)) in enumerate(zip(utterance["nbest"], lists[utterance["id"]], strict=True)):
            assert hypothesis["words"] == said
            assert abs(hypothesis["graph_cost"] - graph) < 1e-9 and abs(hypothesis["acoustic_cost"] - acoustic) < 1e-9
            score, missing, rest = 0.0, 0, 0
            for chain, frames in states[utterance["id"], rank]:
                key = next((k for k in chain if k in mixtures), None)
                own = max(sizes(key)) if key else 0
                missing += (order - own) * len(frames)
                if key:
                    hits[sizes(key)] += 1
                    score += likelihoods(frames, mixtures[key])
                    backed_off += key != chain[0]
                else:
                    first_pass += 1
                    rest += len(frames)
            assert hypothesis["missing"] == missing, (hypothesis, missing)
            if rest == 0:
                assert abs(hypothesis["bam_cost"] + score) < 0.02 + 1e-4 * abs(score), (hypothesis, score)
            scores.setdefault(utterance["id"], []).append((-graph, -acoustic, -hypothesis["bam_cost"], missing, said))
    assert hits.tolist() == found[0]["bam"]["hits"] and first_pass == found[0]["bam"]["first_pass"], (hits, first_pass, found[0])
    assert hits.sum() > 100 and (order == 1 or backed_off > 20) and (order == 3 or first_pass > 0), (backed_off, first_pass, hits)
    for weight, back_off, language in ((0, 0, 0.1), (0.6, 0.3, 12), (1, 0, 10), (0.2, 1, 3)):
        text = run(TRELLIS, "bam", "rescore", model, sounds, lexicon, path("nbest"), store, "-q", "--skip-bad", "--lambda", str(weight),
                   "--back-off", str(back_off), "--lm-weight", str(language), codes=(1,)).stdout.decode()
        for line in text.splitlines():
            utterance, *best = line.split()
            points = [(weight * a + (1 - weight) * (b - back_off * m)) / language + g for g, a, b, m, _ in scores[utterance]]
            assert best == scores[utterance][int(np.argmax(points))][4], (utterance, points, best)

# The first-pass model as its own second pass: nothing is missing, and both passes of it are one.
run(TRELLIS, "bam", "rescore", model, sounds, lexicon, path("nbest"), "--self", "--to", "lists", "-o", path("self"), "-q", "--skip-bad", codes=(1,))
for utterance, other in zip(lists_of(path("self"))[1:], lists_of(path("scored1"))[1:], strict=True):
    for mine, theirs in zip(utterance["nbest"], other["nbest"], strict=True):
        assert mine["bam_cost"] == mine["aligned_cost"] == theirs["aligned_cost"] and mine["missing"] == 0

# The grid: errors by edit distance, point by point.
def errors(said, heard):
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said):
        last, row[0] = row[0], i + 1
        for k, other in enumerate(heard):
            last, row[k + 1] = row[k + 1], min(last + (word != other), row[k] + 1, row[k + 1] + 1)
    return row[-1]


lines = run(TRELLIS, "bam", "tune", path("ref.txt"), path("scored3"), "--all", "--lambda", "0,0.5,1", "--back-off", "0,0.7", "--lm-weight", "0.5,10").stdout.decode().splitlines()
points = [[float(x) for x in line.split("\t")[1:]] for line in lines[1:]]
assert [p[:3] for p in points] == [[a, b, c] for a in (0, 0.5, 1) for b in (0, 0.7) for c in (0.5, 10)]
for weight, back_off, language, count, _ in points:
    total = 0
    for utterance, rows in scores.items():
        values = [(weight * a + (1 - weight) * (b - back_off * m)) / language + g for g, a, b, m, _ in rows]
        total += errors(utterances[utterance], rows[int(np.argmax(values))][4])
    assert total == count, (weight, back_off, language, total, count)
