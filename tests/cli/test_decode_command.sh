#!/usr/bin/env bash
# trellis decode as a user runs it: a corpus and single sounds, formats, numbers of threads, mistakes.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
decode() { # decode CODE WORDS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" decode tones.trm loop.trg "$@"
}

# ---- A corpus: what was said is known, up to EE SSAA, which sounds like EESS AA ----
sounds_like() { sed 's/ /:/; s/ //g' "$@"; }
for lab in sounds/*/*.lab; do
    echo "$(basename "$lab" .lab) $(tr -s ' \n' ' ' <"$lab" | sed 's/ $//')"
done | LC_ALL=C sort >said.txt
decode 0 sounds
[ "$(sounds_like out)" = "$(sounds_like said.txt)" ] || wrong "other words than were said: $(diff said.txt out | head -n 4)"
[ "$(diff said.txt out | grep -c '^>')" -lt 4 ] || wrong "other words that sound alike: $(diff said.txt out)"
cp out found.txt
contains "$err" "24 utterances, $(cut -d' ' -f2- found.txt | wc -w) words" "summary"
contains "$err" "of real time" "summary"
decode 0 sounds -q -o words.txt
[ -z "$out$err" ] || wrong "--quiet is not quiet: $out$err"
cmp -s words.txt found.txt || wrong "-o: $(head -n 2 words.txt)"
mkdir silent && cp -r sounds/anna silent && rm silent/anna/*.lab # transcripts are not needed
decode 0 silent -q
[ "$out" = "$(grep ^anna found.txt)" ] || wrong "without transcripts: $out"
for threads in 2 7; do
    for format in text ctm jsonl; do
        decode 0 sounds -q -o one.$format --to $format -t 1
        decode 0 sounds -q -o many.$format --to $format -t $threads
        cmp -s one.$format many.$format || wrong "$threads threads change $format"
    done
done
decode 0 sounds -q --utterance ben20
[ "$out" = "$(grep ^ben20 found.txt)" ] || wrong "--utterance: $out"

# ---- Formats: times near the truth, by pronunciations, and by units that know their place in the word where the graph knows none ----
cat >times.py <<'END'
import json
truth = {}  # by utterance: [word, start, end]
for line in open("truth.txt"):
    name, start, end, label = line.split()
    word, _, phone = label.partition("/")
    if word == "SIL":
        truth.setdefault(name, []).append(None)
        continue
    words = truth.setdefault(name, [])
    if words and words[-1] and words[-1][0] == word and abs(words[-1][2] - float(start)) < 1e-6:
        words[-1][2] = float(end)
    else:
        words.append([word, float(start), float(end)])
def near(a, b):
    return abs(a - b) < 0.045
lines = [line.split() for line in open("one.ctm")]
records = [json.loads(line) for line in open("one.jsonl")]
assert sum(len(r["words"]) for r in records) == len(lines)
rows = iter(lines)
off = total = same = 0
for record in records:
    said = [w for w in truth[record["id"]] if w]
    for i, word in enumerate(record["words"]):
        row = next(rows)
        assert row[0] == record["id"] and row[1] == "1" and row[4] == word["word"], row
        assert abs(float(row[2]) - word["start"]) < 1e-6 and abs(float(row[2]) + float(row[3]) - word["end"]) < 1e-6
        total += 1
        if [w[0] for w in said] == [w["word"] for w in record["words"]]:
            same += 1
            off += not (near(said[i][1], word["start"]) and near(said[i][2], word["end"]))
assert same > 60 and off < 0.05 * same, (off, same, total)
END
times_are_near() { # times_are_near MODEL GRAPH
    expect 0 "$TRELLIS" decode "$@" sounds -q -o one.ctm --to ctm
    expect 0 "$TRELLIS" decode "$@" sounds -q -o one.jsonl --to jsonl
    python3 times.py || wrong "times or words of the ctm or json file: $*"
}
times_are_near tones.trm loop.trg
expect 0 "$TRELLIS" train sounds lexicon.txt -o places.trm -n 1 -q --set deltas=0 --word-positions
expect 0 "$TRELLIS" graph places.trm lexicon.txt --loop -o places.trg -q --fst places.fst
times_are_near places.trm places.trg
expect 0 "$TRELLIS" graph places.trm --hclg places.fst -o foreign.trg -q
times_are_near places.trm foreign.trg

# ---- Single sounds ----
decode 0 sounds/anna/anna01.wav sounds/ben/ben20.wav -q
[ "$out" = "$(grep -E '^(anna01|ben20) ' found.txt)" ] || wrong "two sounds: $out"
mapfile -t some < <(find sounds -name '*.wav' | LC_ALL=C sort -r | head -n 7)
decode 0 "${some[@]}" -q -t 4
[ "$out" = "$(LC_ALL=C sort -r found.txt | head -n 7)" ] || wrong "sounds side by side: $out"
mkdir again && cp sounds/anna/anna01.wav again # two by one name
decode 0 sounds/anna/anna01.wav again/anna01.wav sounds/ben/ben20.wav -q
[ "$out" = "$(grep -E '^(anna01)' found.txt; grep -E '^(anna01|ben20)' found.txt)" ] || wrong "two by one name: $out"
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q <sounds/anna/anna01.wav
[ "${out#* }" = "$(grep '^anna01 ' found.txt | cut -d' ' -f2-)" ] || wrong "standard input: $out"
python3 -c "
import wave
for name, count in ('empty', 0), ('quiet', 16000):
    with wave.open(name + '.wav', 'wb') as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate(16000)
        f.writeframes(bytes(2 * count))"
decode 0 quiet.wav -q
[ "${out%% *}" = quiet ] || wrong "digital silence: $out"
decode 3 empty.wav -q
contains "$err" "empty.wav" "an empty sound"
decode 1 empty.wav quiet.wav -q --skip-bad
[ "${out%% *}" = quiet ] || wrong "--skip-bad: $out"

# ---- A model for adapted frames ----
expect 0 "$TRELLIS" train sounds lexicon.txt -o sat.trm -n 1 -q --set deltas=0 --stages mono,tri,sat --leaves 40
expect 0 "$TRELLIS" graph sat.trm lexicon.txt --loop -o sat.trg -q
expect 0 "$TRELLIS" decode sat.trm sat.trg sounds -o adapted.jsonl --to jsonl -t 1
contains "$err" "adapted to 2 speakers" "adaptation"
adapted=${err##*log-likelihood }
expect 0 "$TRELLIS" decode sat.trm sat.trg sounds -q -o many.jsonl --to jsonl -t 7
cmp -s adapted.jsonl many.jsonl || wrong "7 threads change what is adapted"
expect 0 "$TRELLIS" align sat.trm sounds lexicon.txt -o aligned # the same passes, along the words that were said
aligned=${err#*log-likelihood }
awk -v a="${adapted%% *}" -v b="${aligned%% *}" 'BEGIN { exit !(a - b < 1 && b - a < 1) }' || wrong "adapted to something else than align: $adapted, $aligned"
expect 0 "$TRELLIS" decode sat.trm sat.trg sounds -o plain.txt --no-adapt
plain=${err##*log-likelihood }
[ "${plain%% *}" != "${adapted%% *}" ] || wrong "--no-adapt changes nothing"
expect 0 "$TRELLIS" decode sat.trm sat.trg sounds -q
[ "$(sounds_like out)" = "$(sounds_like said.txt)" ] || wrong "adapted, other words than were said: $(diff said.txt out | head -n 4)"

# ---- Choice of the words ----
decode 0 sounds -q --word-penalty 1000000
[ "$(wc -w <<<"$out")" -lt "$(wc -w <said.txt)" ] || wrong "a penalty for words leaves them all"

# ---- Likelihoods from a file: with the model's own frames, the same words ----
expect 0 "$TRELLIS" features sounds --model tones.trm -o frames.trf -q
expect 0 "$TRELLIS" model likelihoods tones.trm frames.trf -o scores.ark -q
decode 0 sounds --likelihoods scores.ark -q
cmp -s out found.txt || wrong "other words from likelihoods: $(diff found.txt out | head -n 4)"
expect 0 "$TRELLIS" features sounds --set num_ceps=7 -o narrow.trf -q
expect 3 "$TRELLIS" model likelihoods tones.trm narrow.trf -o none.ark
contains "$err" "narrow.trf: utterance anna00 has frames of 7 values, the model's have 13" "frames of another width"
contains "$err" "features --model" "frames of another width"
decode 3 sounds --likelihoods nothing.ark -q
contains "$err" "nothing.ark" "no file of likelihoods"

# ---- Mistakes ----
mistake() { # mistake CODE PART WORDS …
    local code=$1 part=$2
    shift 2
    expect "$code" "$TRELLIS" decode "$@"
    contains "$err" "$part" "decode $*"
}
mistake 2 "a GRAPH or the sound is missing" tones.trm loop.trg
mistake 2 "beam" tones.trm loop.trg sounds --beam 0
mistake 2 "lattice_beam" tones.trm loop.trg sounds --lattice-beam -1
mistake 2 "acoustic_scale" tones.trm loop.trg sounds --acoustic-scale 0
mistake 2 "--lm-scale is 0" tones.trm loop.trg sounds --lm-scale 0
mistake 2 "--lm-scale is -1" tones.trm loop.trg sounds --lm-scale -1
mistake 2 "word_beam is 0" tones.trm loop.trg sounds --word-beam 0
mistake 2 "word_beam is -2" tones.trm loop.trg sounds --word-beam -2
mistake 2 "give --follow" tones.trm loop.trg sounds/anna/anna01.wav --pid $$
mistake 2 "leave it out, or --to nbest" tones.trm loop.trg sounds --mbr --to nbest
mistake 2 "--to is one of" tones.trm loop.trg sounds --to praat
mistake 3 "nothing.trm" nothing.trm loop.trg sounds
mistake 3 "nothing.trg" tones.trm nothing.trg sounds
mistake 3 "tones.trm" tones.trm tones.trm sounds
mistake 3 "nowhere" tones.trm loop.trg nowhere
mistake 3 "nobody" tones.trm loop.trg sounds --utterance nobody
expect 0 "$TRELLIS" train sounds lexicon.txt -o other.trm -n 1 -q --set deltas=0 --states 2
mistake 3 "for another model" other.trm loop.trg sounds

# A model that has been elsewhere: HTK's files don't say how frames are made, and those of another front end have another width.
expect 0 "$TRELLIS" model convert tones.trm --to htk -o bare
mistake 3 "front end" bare loop.trg sounds
expect 3 "$TRELLIS" features sounds --model bare -o none.trf
contains "$err" "does not say which front end" "features of a model without a front end"
printf 'kind = mfcc\nnum_ceps = 7\n' >seven.conf
expect 3 "$TRELLIS" model convert bare --frontend seven.conf -o seven.trm
contains "$err" "frames of 7 dimensions, the model has 13" "another front end"

echo old >kept.txt
mistake 3 "for another model" other.trm loop.trg sounds -o kept.txt
[ "$(<kept.txt)" = old ] || wrong "a failure replaced the old file"

finish
