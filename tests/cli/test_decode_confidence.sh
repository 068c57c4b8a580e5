#!/usr/bin/env bash
# Confidences, least expected errors and N-best lists of trellis decode: on tones in noise, so that there are rivals.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
decode() { # decode CODE WORDS …: flat scales make rivals
    local code=$1
    shift
    expect "$code" "$TRELLIS" decode tones.trm loop.trg sounds -q --acoustic-scale 0.01 --lattice-beam 8 "$@"
}
decode 0 -o words.txt
decode 0 -o words.ctm --to ctm
decode 0 -o words.jsonl --to jsonl
decode 0 -o plain.ctm --to ctm --no-confidence
decode 0 -o mbr.jsonl --to jsonl --mbr
decode 0 -o mbr.txt --mbr
decode 0 -o nbest.txt --to nbest --nbest 7
decode 0 -o nbest.jsonl --to nbest-jsonl --nbest 7
python3 - <<'END' || wrong "confidences or lists"
import json, math
text = dict((line.split() + [None])[:1] + [line.split()[1:]] for line in open("words.txt"))
ctm = [line.split() for line in open("words.ctm")]
records = {r["id"]: r for r in map(json.loads, open("words.jsonl"))}
mbr = {r["id"]: r for r in map(json.loads, open("mbr.jsonl"))}
assert [line.split()[:5] for line in open("plain.ctm")] == [row[:5] for row in ctm]
assert all(len(row) == 6 and 0 <= float(row[5]) <= 1 for row in ctm)
assert all(len(line.split()) == 5 for line in open("plain.ctm"))
words = [w for id in sorted(records) for w in records[id]["words"]]
assert [(w["word"], "%.4f" % w["confidence"]) for w in words] == [(row[4], row[5]) for row in ctm]
unsure = sum(w["confidence"] < 0.9 for w in words)
assert unsure > 3, unsure
lists = {}
for line in open("nbest.txt"):
    id, rank, graph, acoustic, said = line.rstrip("\n").split("\t")
    assert int(rank) == len(lists.setdefault(id, [])) + 1
    lists[id].append((float(graph), float(acoustic), said.split()))
others = {r["id"]: r["nbest"] for r in map(json.loads, open("nbest.jsonl"))}
several = 0
for id, record in records.items():
    said = [w["word"] for w in record["words"]]
    costs = [graph + 0.01 * acoustic for graph, acoustic, _ in lists[id]]
    first = [entry[2] for entry in lists[id]].index(said) # EE SSAA and EESS AA cost the same
    assert said == text[id] and costs[first] - costs[0] < 1e-3, id
    assert abs(lists[id][first][0] - record["graph_cost"]) < 1e-3 + 1e-6 * abs(record["graph_cost"]), id
    assert abs(lists[id][first][1] - record["acoustic_cost"]) < 1e-3 + 1e-6 * abs(record["acoustic_cost"]), id
    assert len(costs) <= 7 and all(a <= b + 1e-3 for a, b in zip(costs, costs[1:])), id
    assert len({tuple(said) for _, _, said in lists[id]}) == len(costs), id
    assert [entry[2] for entry in lists[id]] == [entry["words"] if isinstance(entry["words"], list) else entry["words"].split() for entry in others[id]], id
    several += len(costs) > 1
    # the errors to be expected: at least those of words that are not there, and no more for the words that have the least
    assert record["expected_errors"] >= sum(1 - w["confidence"] for w in record["words"]) * 0.49 - 1e-6, id
    assert mbr[id]["expected_errors"] <= record["expected_errors"] + 1e-6, id
    times = [(w["start"], w["end"]) for w in mbr[id]["words"]]
    assert all(a <= b for a, b in times) and all(a[1] <= b[0] + 1e-6 for a, b in zip(times, times[1:])), id
assert several > 10, several
assert [line.split()[1:] for line in open("mbr.txt")] == [[w["word"] for w in mbr[id]["words"]] for id in mbr]
END
decode 0 -o many.jsonl --to jsonl --mbr -t 5
cmp -s many.jsonl mbr.jsonl || wrong "5 threads change the words with the least expected errors"
decode 0 -o many.txt --to nbest --nbest 7 -t 5
cmp -s many.txt nbest.txt || wrong "5 threads change N-best lists"

mistake() { # mistake PART WORDS …
    local part=$1
    shift
    expect 2 "$TRELLIS" decode tones.trm loop.trg "$@" <sounds/anna/anna01.wav
    contains "$err" "$part" "decode $*"
}
mistake "--nbest" sounds --to nbest --nbest 0
mistake "a stream has no lattice" - --pause 1 --to nbest
mistake "a stream has no lattice" - --partial --mbr
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --mbr <sounds/anna/anna01.wav # read to its end first
[ "${out%% *}" = stdin ] || wrong "--mbr from a pipe: $out"
finish
