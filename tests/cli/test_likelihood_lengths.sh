#!/usr/bin/env bash
# Likelihoods of every third frame give the times of all frames; a matrix that is shorter or longer than its sound is an error with both lengths.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0 --states 1 --silence-states 1
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q --self-loop-scale 1
expect 0 "$TRELLIS" features sounds --model tones.trm -o frames.trf -q
expect 0 "$TRELLIS" model likelihoods tones.trm frames.trf -o all.ark -q
python3 - <<'END'
import struct
data, at, matrices = open("all.ark", "rb").read(), 0, []
while at < len(data):
    space = data.index(b" ", at)
    name, at = data[at:space], space + 1
    assert data[at : at + 5] == b"\0BFM ", data[at : at + 5]
    rows, columns = struct.unpack("<xixi", data[at + 5 : at + 15])
    at += 15
    matrices.append((name, columns, [data[at + 4 * columns * r : at + 4 * columns * (r + 1)] for r in range(rows)]))
    at += 4 * columns * rows
assert len(matrices) == 24
def write(path, change):
    with open(path, "wb") as file:
        for name, columns, rows in matrices:
            rows = change(rows)
            file.write(name + b" \0BFM " + struct.pack("<bibi", 4, len(rows), 4, columns) + b"".join(rows))
write("third.ark", lambda rows: rows[::3])
write("second.ark", lambda rows: rows[::2])
write("two_less.ark", lambda rows: rows[:-2])
write("three_less.ark", lambda rows: rows[:-3])
write("steps.ark", lambda rows: rows + rows[-1:] * 2)  # all that have begun, with some samples left: windows are 2.5 steps long
write("longer.ark", lambda rows: rows + rows[-1:] * 5)
write("cut.ark", lambda rows: rows[: len(rows) * 4 // 5])
write("double.ark", lambda rows: rows * 2)
write("none.ark", lambda rows: [])
END

# ---- Every third row: within an output frame (30 ms) of the times of all ----
run() { # run NAME WORDS …: words of both commands
    expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q --to ctm -o "$1.ctm" --beam 200 "${@:2}"
    expect 0 "$TRELLIS" align tones.trm sounds lexicon.txt -q --to ctm,jsonl -o "$1" "${@:2}"
}
compare() { # compare A B SECONDS COMMAND: how far the same words may lie apart
    python3 - "$@" <<'END' || wrong "$4: words of $2 lie elsewhere than those of $1"
import sys
a, b = ([line.split() for line in open(path)] for path in sys.argv[1:3])
assert len(a) == len(b) > 60, (len(a), len(b))
for x, y in zip(a, b):
    assert x[0] == y[0] and x[4] == y[4], (x, y)
    for s, t in ((float(x[2]), float(y[2])), (float(x[2]) + float(x[3]), float(y[2]) + float(y[3]))):
        assert abs(s - t) <= float(sys.argv[3]) + 1e-5, (x, y)
END
}
run sound
run all --likelihoods all.ark
run third --likelihoods third.ark --subsampling 3
compare sound/words.ctm all/words.ctm 0 align
compare sound.ctm all.ctm 0 decode
compare all/words.ctm third/words.ctm 0.03 align
compare all.ctm third.ctm 0.03 decode
python3 - <<'END' || wrong "times of third rows"
import json, wave
for line in open("third/alignments.jsonl"):
    a = json.loads(line)
    with wave.open(a["file"]) as file:
        seconds = file.getnframes() / file.getframerate()
    edges = [w["start"] for w in a["words"]] + [a["words"][-1]["end"]]
    assert edges[0] == 0 and abs(edges[-1] - seconds) < 1e-5, (edges, seconds)
    for edge in edges[1:-1]:  # row t begins where frame 3 t does: at 30 t ms + (25 - 10) / 2 ms
        rows = (edge - 0.0075) / 0.03
        assert abs(rows - round(rows)) < 1e-3, edge
END

# ---- Lengths ----
refused() { # refused NAME PART WORDS …: by both commands
    expect 3 "$TRELLIS" decode tones.trm loop.trg sounds -q --likelihoods "$1.ark" "${@:3}"
    contains "$err" "$2" "decode, $1"
    expect 3 "$TRELLIS" align tones.trm sounds lexicon.txt -q -o never --likelihoods "$1.ark" "${@:3}"
    contains "$err" "$2" "align, $1"
}
for name in two_less steps; do
    expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q --likelihoods $name.ark
done
# The first utterance's seconds, frames and rows that fit, by the definition of frames: 25 ms every 10 ms.
read -r seconds frames least most < <(python3 -c '
import math, wave
n = wave.open("sounds/anna/anna00.wav").getnframes()
frames = (n - 400) // 160 + 1
print(f"{n / 16000:.2f}", frames, frames - 2, math.ceil(n / 160) + 1)')
third=$(((frames + 2) / 3))
last() { awk -v rows="$1" -v s="$2" 'BEGIN { printf "%.2f", rows * s }'; }
refused third "utterance anna00: third.ark has $third rows for it, one every 10 ms: $(last $third 0.01) s, but the sound is $seconds s long, $least to $most rows; --subsampling 3 fits"
refused all "all.ark has $frames rows for it, one every 30 ms: $(last "$frames" 0.03) s, but the sound is $seconds s long" --subsampling 3
contains "$err" "--subsampling 1 fits" "all rows as if they were every third"
refused second "; --subsampling 2 fits" --subsampling 3
refused three_less "three_less.ark has $((frames - 3)) rows for it, one every 10 ms"
refused longer "longer.ark has $((frames + 5)) rows for it, one every 10 ms"
refused cut "were they made of this sound?"
refused double "double.ark has $((2 * frames)) rows for it, one every 10 ms"
refused none "utterance anna00: none.ark has a matrix without rows for it"
expect 1 "$TRELLIS" decode tones.trm loop.trg sounds --likelihoods cut.ark --skip-bad -o left.txt
[ "$(grep -c "cut.ark has .* rows for it" left.txt.skipped.tsv)" = 24 ] || wrong "the list of what was left out lacks some: $(<left.txt.skipped.tsv)"

# A part of a recording has the part's length; without sound there is nothing to compare with.
mkdir parts gone
echo "long $folder/sounds/anna/anna00.wav" >parts/wav.scp
echo "anna00 long 0 0.5" >parts/segments
expect 3 "$TRELLIS" decode tones.trm loop.trg parts -q --likelihoods all.ark
contains "$err" "has $frames rows for it, one every 10 ms: $(last "$frames" 0.01) s, but the sound is 0.50 s long, 46 to 51 rows" "a part"
: >empty.wav
echo "anna00 $folder/empty.wav" >gone/wav.scp
expect 0 "$TRELLIS" decode tones.trm loop.trg gone -q --likelihoods cut.ark
expect 3 "$TRELLIS" decode tones.trm loop.trg gone -q --likelihoods none.ark

# ---- The option ----
for words in "--subsampling 0 --likelihoods all.ark" "--subsampling 101 --likelihoods all.ark" "--subsampling 3"; do
    # shellcheck disable=SC2086
    expect 2 "$TRELLIS" decode tones.trm loop.trg sounds -q $words
    contains "$err" "subsampling is " "$words"
    # shellcheck disable=SC2086
    expect 2 "$TRELLIS" align tones.trm sounds lexicon.txt -q -o never $words
done
finish
