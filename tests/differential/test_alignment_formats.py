"""Alignments of sounds whose boundaries are known, in every format, read by others: Python's json, kaldi-native-io, and readers written here from
the formats' own descriptions. All formats must tell the same times, and the times must be true."""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tone_corpus
from features_command import np, os

try:
    import kaldi_native_io
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

FRAME = 0.01


def trellis(*words, code=0):
    done = subprocess.run([os.environ["TRELLIS"], *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}"
    return done


def read_truth(path):
    """By utterance: (start, end, word, phone)."""
    truth = defaultdict(list)
    for line in path.read_text().splitlines():
        id, start, end, label = line.split()
        truth[id].append((float(start), float(end), *label.split("/")))
    return truth


def read_jsonl(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


def spoken(utterance):
    return [(w["word"], w["start"], w["end"]) for w in utterance["words"] if w["word"]]


def phones(utterance):
    return [(p["phone"], p["start"], p["end"]) for w in utterance["words"] for p in w["phones"]]


def close(a, b, most=1e-6):
    return len(a) == len(b) and all(x[0] == y[0] and abs(x[1] - y[1]) <= most and abs(x[2] - y[2]) <= most for x, y in zip(a, b))


def check_levels(u):
    """Words, phones and states cover the utterance and each other without gaps."""
    def covers(parts, start, end):
        at = start
        for part in parts:
            assert part["start"] == at < part["end"], (u["id"], part)
            at = part["end"]
        assert at == end, u["id"]

    covers(u["words"], u["start"], u["end"])
    for word in u["words"]:
        covers(word["phones"], word["start"], word["end"])
        assert 0 <= word["confidence"] <= 1
        for phone in word["phones"]:
            covers(phone["states"], phone["start"], phone["end"])
            assert 0 <= phone["confidence"] <= 1
            assert [s["state"] for s in phone["states"]] == [0, 1, 2]


def check_truth(aligned, truth):
    """Phones as they were put together, where they were put: a frame hears what begins anywhere in its window of 25 ms."""
    errors = []
    for id, u in aligned.items():
        said = [(start, end, word, phone) for start, end, word, phone in truth[id] if phone != "SIL"]
        found = [p for p in phones(u) if p[0] != "SIL"]
        assert [p[0] for p in found] == [s[3] for s in said], id
        errors += [abs(p[1] - s[0]) for p, s in zip(found, said)]
    errors = np.array(errors)
    print(f"{len(errors)} phones: mean {1000 * errors.mean():.1f} ms, largest {1000 * errors.max():.1f} ms from the truth")
    assert errors.mean() < 0.0125 and errors.max() < 0.025


def check_frames(u, transitions):
    """A transition id per frame: constant within a state but for its first frame, as Kaldi orders them; boundaries half way between the middles of 25 ms windows."""
    states = [s for w in u["words"] for p in w["phones"] for s in p["states"]]
    assert len(transitions) == u["frames"]
    ends = [0] + [round((s["end"] - 0.0075) / FRAME) for s in states[:-1]] + [u["frames"]]
    for state, first, end in zip(states, ends, ends[1:]):
        assert end > first and len(set(transitions[first + 1 : end])) <= 1, (u["id"], state)
        assert end == u["frames"] or abs(state["end"] - (end * FRAME + 0.0075)) < 1e-6


def check_kaldi(folder, aligned):
    seen = {}
    with kaldi_native_io.SequentialInt32VectorReader(f"ark:{folder}/ali.ark") as archive:
        for id, transitions in archive:
            seen[id] = list(transitions)
    assert list(seen) == list(aligned)
    for id, u in aligned.items():
        check_frames(u, seen[id])
    ids = [line.split() for line in (folder / "phones.txt").read_text().splitlines()]
    assert {"SIL", "AA", "SS"} <= {name for name, _ in ids}
    assert (folder / "final.mdl").read_bytes()[:2] == b"\0B" and (folder / "tree").stat().st_size > 0


def read_ctm(path):
    segments = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        recording, channel, start, duration, label, confidence = line.split(" ")
        assert channel == "1" and 0 <= float(confidence) <= 1
        segments[recording].append((label, float(start), float(start) + float(duration)))
    return segments


def check_ctm(folder, aligned):
    words, sounds = read_ctm(folder / "words.ctm"), read_ctm(folder / "phones.ctm")
    for id, u in aligned.items():
        assert close(words[id], spoken(u), 1.5e-6) and close(sounds[id], phones(u), 1.5e-6), id


def read_textgrid(path):
    """Tiers as lists of (text, start, end)."""
    text = path.read_text(encoding="utf-8")
    tiers = {}
    for tier in re.split(r"(?<=\n)    item \[\d+\]:\n", text)[1:]:
        name = re.search(r'name = "(.*)" \n', tier)[1]
        pattern = r'intervals \[\d+\]:\n +xmin = (\S+) \n +xmax = (\S+) \n +text = "((?:[^"]|"")*)" \n'
        tiers[name] = [(label.replace('""', '"'), float(a), float(b)) for a, b, label in re.findall(pattern, tier)]
        assert len(tiers[name]) == int(re.search(r"intervals: size = (\d+)", tier)[1])
    return tiers


def check_textgrids(folder, aligned):
    for id, u in aligned.items():
        tiers = read_textgrid(folder / f"{id}.TextGrid")
        assert close([t for t in tiers["words"] if t[0]], spoken(u)) and close(tiers["phones"], phones(u)), id
        states = [s for w in u["words"] for p in w["phones"] for s in p["states"]]
        assert [t[1:] for t in tiers["states"]] == [(s["start"], s["end"]) for s in states], id


def read_mlf(path):
    entries, lines = {}, path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!MLF!#"
    for line in lines[1:]:
        if line.startswith('"'):
            id = re.fullmatch(r'"\*/(.*)\.lab"', line)[1]
            entries[id] = []
        elif line != ".":
            entries[id].append(line.split(" "))
    return entries


def check_mlf(folder, aligned):
    words, states = read_mlf(folder / "words.mlf"), read_mlf(folder / "phones.mlf")
    for id, u in aligned.items():
        assert close([(w[2], int(w[0]) * 1e-7, int(w[1]) * 1e-7) for w in words[id]], spoken(u)), id
        assert [s[3] for s in states[id] if len(s) > 3] == [p[0] for p in phones(u)], id
        assert {s[2] for s in states[id]} == {"s2", "s3", "s4"}, id


def check_subtitles(folder, aligned):
    for id, u in aligned.items():
        vtt = (folder / f"{id}.vtt").read_text(encoding="utf-8")
        srt = (folder / f"{id}.srt").read_text(encoding="utf-8")
        cue = r"(\d\d):(\d\d):(\d\d)\.(\d\d\d) --> (\d\d):(\d\d):(\d\d)\.(\d\d\d)\n(.+)\n\n"
        assert re.fullmatch(rf"WEBVTT\n\n(?:{cue})*", vtt), id
        cues = [(c[8], *(int(h) * 3600 + int(m) * 60 + int(s) + int(f) / 1000 for h, m, s, f in (c[:4], c[4:8]))) for c in re.findall(cue, vtt)]
        assert close(cues, spoken(u), 0.000501), id
        numbered = "".join(f"{n}\n{c}\n\n" for n, c in enumerate(vtt.split("\n\n")[1:-1], 1))
        assert srt == re.sub(r"(\d\d)\.(\d\d\d)", r"\1,\2", numbered), id


def check_parts(folder, model, lexicon, whole):
    """The same utterances as parts of one long recording: the same times, moved."""
    ids, samples, lines = sorted(whole), [], ["id\tpath\ttext\tstart\tend\tspeaker"]
    for id in ids:
        with tone_corpus.wave.open(str(next((folder / "sounds").rglob(f"{id}.wav"))), "rb") as file:
            piece = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        start = len(samples) / tone_corpus.RATE
        samples += [int(s) for s in piece]
        text = " ".join(w for w, _, _ in spoken(whole[id]))
        lines.append(f"{id}\tlong.wav\t{text}\t{start}\t{len(samples) / tone_corpus.RATE}\t{'anna' if id < 'b' else 'ben'}")
    tone_corpus.write_wav(folder / "long.wav", samples)
    (folder / "long.tsv").write_text("\n".join(lines) + "\n")
    trellis("align", model, folder / "long.tsv", lexicon, "-o", folder / "parts", "--to", "jsonl,textgrid,ctm")
    parts = read_jsonl(folder / "parts/alignments.jsonl")
    tiers = read_textgrid(folder / "parts/long.TextGrid")
    moved = []
    for id in ids:
        offset = parts[id]["start"]
        assert close([(w, a - offset, b - offset) for w, a, b in spoken(parts[id])], spoken(whole[id]), 0.011), id
        moved += spoken(parts[id])
    assert list(tiers) == ["anna - words", "anna - phones", "ben - words", "ben - phones"]
    said = [t for tier in ("anna - words", "ben - words") for t in tiers[tier] if t[0]]
    assert close(said, moved, 0.0011)
    for tier in tiers.values():
        assert tier[0][1] == 0 and abs(tier[-1][2] - len(samples) / tone_corpus.RATE) < 1e-6
        assert all(a[2] == b[1] for a, b in zip(tier, tier[1:]))
    assert close(read_ctm(folder / "parts/words.ctm")["long"], moved, 1.5e-6)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    tone_corpus.make(folder)
    lexicon, model = folder / "lexicon.txt", folder / "tones.trm"
    trellis("train", folder / "sounds", lexicon, "-o", model, "-n", 2, "-q", "--set", "deltas=0", "--silence-states", 3,
            "--silence-topology", "linear")
    formats = "textgrid,ctm,jsonl,kaldi,mlf,vtt,srt"
    options = ["--to", formats, "--states", "--cue-words", 1]
    trellis("align", model, folder / "sounds", lexicon, "-o", folder / "all", *options)
    aligned = read_jsonl(folder / "all/alignments.jsonl")
    assert len(aligned) == 24
    for u in aligned.values():
        check_levels(u)
    check_truth(aligned, read_truth(folder / "truth.txt"))
    for check in (check_kaldi, check_ctm, check_textgrids, check_mlf, check_subtitles):
        check(folder / "all", aligned)
    check_parts(folder, model, lexicon, aligned)
    trellis("align", model, folder / "sounds", lexicon, "-o", folder / "one", "-t", 1, *options)
    for path in sorted((folder / "all").iterdir()):
        assert path.read_bytes() == (folder / "one" / path.name).read_bytes(), f"{path.name} depends on the number of threads"
