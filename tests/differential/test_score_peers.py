"""trellis score against its peers on thousands of random pairs, most of them full of ties: sclite (trn with alternatives and optional words,
stm with ctm), sc_stats (MAPSSWE), the recursion of Kaldi's compute-wer, jiwer, and SciPy for the tests of matched pairs."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import jiwer
import numpy
import scipy.stats

TRELLIS = os.environ["TRELLIS"]
FOLDER = tempfile.mkdtemp()
SCTK = shutil.which("sctk")
faults = 0


def wrong(*what):
    global faults
    faults += 1
    if faults < 20:
        print("WRONG:", *what)


def path(name, lines=None):
    full = os.path.join(FOLDER, name)
    if lines is not None:
        with open(full, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
    return full


def trellis(*arguments, codes=(0,)):
    result = subprocess.run([TRELLIS, "score", *arguments, "--json", "-"], capture_output=True, text=True)
    if result.returncode not in codes:
        sys.exit(f"trellis score {arguments}: code {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def counts(utterance):
    return tuple(utterance[key] for key in ("correct", "substitutions", "deletions", "insertions"))


def ours(report, system=0):
    return {u["id"]: counts(u) for u in report["systems"][system]["utterance_scores"]}


def sclite(*arguments):
    output = subprocess.run(["sctk", "sclite", *arguments, "-o", "pra", "stdout"], capture_output=True, text=True, check=True).stdout
    pattern = r"id: \((.*)\)\n(?:.*\n)*?Scores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)"
    return {m[0]: tuple(map(int, m[1:])) for m in re.findall(pattern, output)}


def compare(what, got, wanted):
    if set(got) != set(wanted):
        wrong(what, "other utterances:", sorted(set(got) ^ set(wanted))[:5])
    for key in wanted:
        if key in got and got[key] != wanted[key]:
            wrong(what, key, "we count C S D I", got[key], "instead of", wanted[key])


def words(rng, letters, most):
    return [rng.choice(letters) for _ in range(rng.randint(0, most))]


def mutate(rng, said, letters, rate):
    heard = []
    for word in said:
        if rng.random() < rate / 3:
            heard.append(rng.choice(letters))
        if rng.random() < rate / 3:
            continue
        heard.append(rng.choice(letters) if rng.random() < rate / 3 else word)
    return heard


def random_pairs(rng, count, letters, most):
    """Half of them have nothing to do with each other, half are mutations."""
    pairs = []
    for i in range(count):
        said = words(rng, letters, most)
        pairs.append((said, words(rng, letters, most) if i % 2 else mutate(rng, said, letters, rng.random())))
    return pairs


def with_alternatives(rng, said, letters, depth=0):
    """Some words become one of several alternatives."""
    result = []
    for word in said:
        if rng.random() > 0.3:
            result.append(word)
            continue
        choices = [[word]]
        for _ in range(rng.randint(0, 2)):
            other = [rng.choice(letters) for _ in range(rng.randint(1, 3))]
            choices.append(with_alternatives(rng, other, letters, depth + 1) if depth < 1 and rng.random() < 0.3 else other)
        if rng.random() < 0.4:
            choices.append(["@"])
        rng.shuffle(choices)
        result += ["{"] + " / ".join(" ".join(c) for c in choices).split() + ["}"]
    return result


def test_trn(rng):
    letters = ["a", "b", "A", "c", "d", "B*", "e;noun", "x/y"]
    pairs = random_pairs(rng, 3000, letters[:4], 8) + random_pairs(rng, 1500, letters, 20)
    marked = [(with_alternatives(rng, said, letters[:5]), heard) for said, heard in random_pairs(rng, 2000, letters[:5], 7)]
    pairs = [p for p in pairs + marked if p[0] or p[1]]
    ref = path("ref.trn", [";; a comment"] + [f"{' '.join(s)} (spk{i % 7}-{i})" for i, (s, _) in enumerate(pairs)])
    hyp = path("hyp.trn", [f"{' '.join(h)} (spk{i % 7}-{i})" for i, (_, h) in enumerate(pairs)])
    report = trellis(ref, hyp)
    compare("trn", ours(report), sclite("-r", ref, "trn", "-h", hyp, "trn", "-i", "spu_id"))
    compare("trn, letters", ours(trellis(ref, hyp, "--letters", "keep")),
            sclite("-s", "-r", ref, "trn", "-h", hyp, "trn", "-i", "spu_id"))
    for speaker in report["systems"][0]["speakers"]:
        own = [counts(u) for u in report["systems"][0]["utterance_scores"] if u["speaker"] == speaker["speaker"]]
        if tuple(map(sum, zip(*own))) != counts(speaker):
            wrong("the sum of", speaker)


def test_optional(rng):
    letters = ["a", "b", "c", "d"]
    pairs = [p for p in random_pairs(rng, 1500, letters, 8) if p[0] or p[1]]
    said = [[f"({w})" if rng.random() < 0.3 else w for w in s] for s, _ in pairs]
    ref = path("optional.trn", [f"{' '.join(s)} (spk-{i})" for i, s in enumerate(said)])
    hyp = path("optional_hyp.trn", [f"{' '.join(h)} (spk-{i})" for i, (_, h) in enumerate(pairs)])
    compare("optional", ours(trellis(ref, hyp, "--optional")), sclite("-D", "-r", ref, "trn", "-h", hyp, "trn", "-i", "spu_id"))
    compare("not optional", ours(trellis(ref, hyp)), sclite("-r", ref, "trn", "-h", hyp, "trn", "-i", "spu_id"))


def test_times(rng):
    letters = ["a", "b", "c", "d", "e"]
    stm, ctm = [";; comment"], [";; comment"]
    for file in range(60):
        for channel in "AB"[: rng.randint(1, 2)]:
            time, start = 0.0, len(ctm)
            for _ in range(rng.randint(1, 8)):
                end = time + rng.randint(1, 60) / 10
                said = words(rng, letters, 8)
                text = " ".join(with_alternatives(rng, said, letters))
                if rng.random() < 0.1:
                    text = "IGNORE_TIME_SEGMENT_IN_SCORING"
                label = rng.choice(["", "<o,f0,male> "])
                stm.append(f"f{file} {channel} s{rng.randint(0, 4)} {time:.2f} {end:.2f} {label}{text}")
                heard = mutate(rng, said, letters, 0.7)
                moments = sorted(rng.uniform(time - 0.5, end + 0.5) for _ in heard)
                ctm += [f"f{file} {channel} {max(m, 0):.3f} {rng.randint(1, 30) / 100:.2f} {w} 0.5" for m, w in zip(moments, heard)]
                time = end + rng.choice([0, 0, rng.random()])
            if len(ctm) == start:
                ctm.append(f"f{file} {channel} 0.1 0.1 a")
            ctm[start:] = sorted(ctm[start:], key=lambda line: float(line.split()[2]))
    ref, hyp = path("ref.stm", stm), path("hyp.ctm", ctm)
    compare("stm", ours(trellis(ref, hyp)), sclite("-r", ref, "stm", "-h", hyp, "ctm"))


def repaired(sgml):
    """Debian's sclite writes line ends where sc_stats wants the commas and colons of the format."""
    def join(match):
        return match[1] + re.sub(r"\n(?=[CSDI]\n)", ":", match[2]).replace("\n", ",") + "\n</PATH>"
    return re.sub(r"(<PATH.*>\n)((?:.*\n)*?.*)\n</PATH>", join, sgml)


def test_mapsswe(rng):
    letters = [chr(ord("a") + i) for i in range(12)]
    for trial in range(20):
        rates = rng.uniform(0.05, 0.6), rng.uniform(0.05, 0.6)
        said = [words(rng, letters, 25) + ["end"] for _ in range(rng.randint(3, 60))]
        # The last word is right in all: sc_stats forgets insertions behind it.
        heard = [[mutate(rng, s[:-1], letters, rate) + ["end"] for s in said] for rate in rates]
        names = [path(f"sys{k}.trn", [f"{' '.join(h)} (s{i % 3}-{i})" for i, h in enumerate(heard[k])]) for k in range(2)]
        ref = path("mapsswe.trn", [f"{' '.join(s)} (s{i % 3}-{i})" for i, s in enumerate(said)])
        sgml = ""
        for name in names:
            sgml += subprocess.run(["sctk", "sclite", "-r", ref, "trn", "-h", name, "trn", "-i", "spu_id", "-p"],
                                   capture_output=True, check=True, text=True).stdout
        text = subprocess.run(["sctk", "sc_stats", "-p", "-t", "mapsswe", "-v", "-n", "-"], input=repaired(sgml), capture_output=True,
                              text=True, check=True, cwd=FOLDER).stdout
        found = re.search(r"# segs: (\d+)\).*\(mean: *(\S+)\) \(std dev: *(\S+)\) \(Z Stat: *(\S+)\)", text)
        test = trellis(ref, *names, "--replicates", "10")["comparison"]["mapsswe"]
        got = [test["pairs"], test["mean"], test["deviation"], test["z"]]
        if not found or any(abs(g - float(w)) > 6e-4 for g, w in zip(got, found.groups())):
            wrong("MAPSSWE", trial, got, found and found.groups())
        if abs(test["p"] - 2 * scipy.stats.norm.sf(abs(test["z"]))) > 1e-12:
            wrong("p of MAPSSWE", test)


def kaldi(said, heard):
    """The recursion of compute-wer: counts travel with the cells."""
    row = [(i, (0, i, 0)) for i in range(len(said) + 1)]
    for word in heard:
        new = [(row[0][0] + 1, (0, 0, row[0][1][2] + 1))]
        for i, other in enumerate(said):
            insertion, deletion = row[i + 1][0] + 1, new[i][0] + 1
            pair = row[i][0] + (word != other)
            if pair < insertion and pair < deletion:
                s, d, n = row[i][1]
                new.append((pair, (s + (word != other), d, n)))
            elif deletion < insertion:
                s, d, n = new[i][1]
                new.append((deletion, (s, d + 1, n)))
            else:
                s, d, n = row[i + 1][1]
                new.append((insertion, (s, d, n + 1)))
        row = new
    s, d, n = row[-1][1]
    return (len(said) - s - d, s, d, n)


def test_edit(rng):
    letters = ["a", "b", "A", "{", "@", "(x)"]
    pairs = random_pairs(rng, 4000, letters, 9) + random_pairs(rng, 60, letters, 150)
    pairs = [(s or ["a"], h) for s, h in pairs]
    ref = path("text", [f"s-{i} {' '.join(s)}" for i, (s, _) in enumerate(pairs)])
    hyp = path("hyp", [f"s-{i} {' '.join(h)}" for i, (_, h) in enumerate(pairs)])
    report = trellis(ref, hyp, "--scorer", "edit", "--format", "text")
    got = ours(report)
    compare("edit", got, {f"s-{i}": kaldi(*pair) for i, pair in enumerate(pairs)})
    for i, (said, heard) in enumerate(pairs):
        peer = jiwer.process_words(" ".join(said), " ".join(heard))
        if sum(got[f"s-{i}"][1:]) != peer.substitutions + peer.deletions + peer.insertions:
            wrong("jiwer", said, heard, got[f"s-{i}"])
    whole = jiwer.process_words([" ".join(s) for s, _ in pairs], [" ".join(h) for _, h in pairs])
    if abs(whole.wer - report["systems"][0]["wer"]) > 1e-12:
        wrong("jiwer's WER", whole.wer, report["systems"][0]["wer"])


def test_units(rng):
    """The test over utterances is a z test of paired differences, the interval that of numpy's draws within sampling error."""
    letters = ["a", "b", "c", "d"]
    said = [words(rng, letters, 12) + ["a"] for _ in range(200)]
    heard = [[mutate(rng, s, letters, rate) for s in said] for rate in (0.5, 0.4)]
    ref = path("units", [f"s-{i} {' '.join(s)}" for i, s in enumerate(said)])
    hyps = [path(f"units{k}", [f"s-{i} {' '.join(h)}" for i, h in enumerate(heard[k])]) for k in range(2)]
    report = trellis(ref, *hyps, "--scorer", "edit", "--format", "text", "--replicates", "10000")
    errors = [numpy.array([sum(counts(u)[1:]) for u in s["utterance_scores"]]) for s in report["systems"]]
    lengths = numpy.array([len(s) for s in said])
    test, expected = report["comparison"]["matched_pairs"], scipy.stats.ttest_rel(*errors)
    if abs(test["z"] - expected.statistic) > 1e-9 or abs(test["p"] - 2 * scipy.stats.norm.sf(abs(expected.statistic))) > 1e-12:
        wrong("matched pairs", test, expected)
    draws = numpy.random.default_rng(5).integers(0, len(said), (20000, len(said)))
    for what, rates, interval in (
            ("interval", errors[0][draws].sum(1) / lengths[draws].sum(1), report["systems"][0]["interval"]),
            ("difference", (errors[0] - errors[1])[draws].sum(1) / lengths[draws].sum(1), report["comparison"]["interval"])):
        wanted = numpy.quantile(rates, [0.025, 0.975])
        # A quantile of 10000 draws is good to a twentieth of a standard deviation or so.
        if numpy.abs(wanted - interval).max() > 0.15 * rates.std():
            wrong(what, interval, wanted)


rng = random.Random(11)
try:
    test_edit(rng)
    test_units(rng)
    if SCTK:
        test_trn(rng)
        test_optional(rng)
        test_times(rng)
        test_mapsswe(rng)
    if faults:
        sys.exit(f"{faults} differences")
    if not SCTK:
        print("skipped: sctk is not installed, so sclite's counts were not compared (scripts/setup test)")
        sys.exit(77)
finally:
    shutil.rmtree(FOLDER)
