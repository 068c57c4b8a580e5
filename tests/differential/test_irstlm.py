#!/usr/bin/env python3
"""Language models beside those of IRSTLM: Witten-Bell and (modified, there "improved") Kneser-Ney, as ARPA files.

IRSTLM counts <s> as a word that is predicted, once, and shares out unseen words in its own way, so that the probabilities of single words
differ. What is independent of that is compared: the back-off weight of every history, and what every longer n-gram has of its own,

    P(w | h) - backoff(h) P(w | h without its first word)

which is (c - D) / C of the counts. They agree up to 1e-4, or 0.1 % (Witten-Bell) and 0.5 % (Kneser-Ney): the files have six digits, and
IRSTLM's n-grams with <s> are counted when it estimates discounts. Histories that begin with <s> are left out for the same reason. Single words, Kneser-Ney: the
same share of what all seen words have, up to 1 %, which is as far as IRSTLM's own rule for them goes.
"""
import itertools
import math
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from command_runs import TRELLIS, path, run

ORDER = 3

if not shutil.which("irstlm"):
    print("skipped: IRSTLM is not installed (scripts/setup test installs it)")
    sys.exit(77)


def read_arpa(name):
    """By order: n-gram -> (probability, back-off weight)."""
    orders, grams = [{}], None
    for line in open(name, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.endswith("-grams:"):
            grams = {}
            orders.append(grams)
        elif grams is not None and "\t" in line:
            probability, words, *backoff = line.split("\t")
            grams[tuple(words.split())] = (10 ** float(probability), 10 ** float(backoff[0]) if backoff else 1.0)
    return orders


def write_text(sentences):
    """Words as they are in languages: few are frequent, and each makes some others likely."""
    generator = random.Random(7)
    words = [f"w{i}" for i in range(30000)]
    weights = list(itertools.accumulate(1 / (i + 1) for i in range(30000)))
    with open(path("text"), "w", encoding="utf-8") as plain, open(path("marked"), "w", encoding="utf-8") as marked:
        for _ in range(sentences):
            sentence, last = [], 0
            for _ in range(generator.randint(1, 20)):
                pool = words if generator.random() < 0.4 else words[last % 50 : last % 50 + 30]
                word = generator.choices(pool, cum_weights=weights[:30] if pool is not words else weights)[0]
                sentence.append(word)
                last = int(word[1:])
            line = " ".join(sentence)
            plain.write(line + "\n")
            marked.write(f"<s> {line} </s>\n")


def own_part(orders, gram):
    k = len(gram)
    history = orders[k - 1][gram[:-1]]
    return orders[k][gram][0] - history[1] * orders[k - 1][gram[1:]][0]


def compare(kind, ours, theirs):
    failures, compared, tolerance = [], 0, 1e-3 if kind == "witten-bell" else 5e-3

    def check(what, mine, other):
        nonlocal compared
        compared += 1
        if not math.isclose(mine, other, rel_tol=tolerance, abs_tol=1e-4):
            failures.append(f"{kind}: {what}: {mine:.6g}, IRSTLM has {other:.6g}")

    for k in range(2, ORDER + 1):
        mine, other = ours[k], {g: v for g, v in theirs[k].items() if g[1] != "<s>"}
        if set(mine) != set(other):
            failures.append(f"{kind}: other {k}-grams: {sorted(set(mine) ^ set(other))[:5]}")
            continue
        for gram in mine:
            if gram[0] == "<s>":
                continue
            check(" ".join(gram), own_part(ours, gram), own_part(theirs, gram))
            if gram[-1] != "</s>" and k < ORDER:
                check("back-off of " + " ".join(gram), mine[gram][1], other[gram][1])
    seen = [w for w in ours[1] if w[0] not in ("<s>", "<unk>", "</s>")]
    mass = [sum(orders[1][w][0] for w in seen) for orders in (ours, theirs)]
    for word in seen if kind == "kneser-ney" else ():
        compared += 1
        share, other = ours[1][word][0] / mass[0], theirs[1][word][0] / mass[1]
        if not math.isclose(share, other, rel_tol=0.01, abs_tol=5e-4):
            failures.append(f"{kind}: share of {word[0]}: {share:.6g}, IRSTLM has {other:.6g}")
    return failures, compared


write_text(6000)
wrong = []
for kind, name in (("witten-bell", "wb"), ("kneser-ney", "ikn")):
    run(TRELLIS, "lm", "--quiet", path("text"), "--order", str(ORDER), "--smoothing", kind, "-o", path("ours"))
    run("irstlm", "tlm", "-tr=" + path("marked"), f"-n={ORDER}", "-lm=" + name, "-ps=no", "-o=" + path("theirs"))
    failures, compared = compare(kind, read_arpa(path("ours")), read_arpa(path("theirs")))
    print(f"{kind}: {compared} numbers compared, {len(failures)} differ")
    wrong += failures[:10]
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
