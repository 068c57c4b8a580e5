#!/usr/bin/env bash
# No output takes the place of an input, or of another output, under whatever name: the command says which two files are one, and leaves every byte.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
mkdir "$folder/here"
cd "$folder/here" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
expect 0 "$TRELLIS" features sounds -o f.ark -q
printf 'AA EE\nEE SS\n' >text
printf '0 1 1 1\n1\n' >machine.txt
expect 0 "$TRELLIS" fst compile machine.txt -o machine.fst
expect 0 "$TRELLIS" fst shortestdistance machine.fst -o potentials
ln -s lexicon.txt link.txt
mkdir below
cp lexicon.txt below/words.ctm
ln loop.trg hard.trg
sound=$(echo sounds/*/anna00.wav)

all_bytes() { find . -type f -exec sha256sum {} + | sort -k2; }

unchanged() { # unchanged COMMAND …
    local before
    before=$(all_bytes)
    "$TRELLIS" "$@" 2>"$folder/err" && wrong "done: $*"
    err=$(<"$folder/err")
    [ "$before" = "$(all_bytes)" ] || wrong "files have changed: $*"$'\n'"$(diff <(echo "$before") <(all_bytes))"
}

# refused OUTPUT INPUT COMMAND …
refused() {
    local output=$1 input=$2
    shift 2
    unchanged "$@"
    contains "$err" "$output: is an output of this command, and $input, which it reads, is the same file" "$*"
}

# ---- An output is an input ----
refused lexicon.txt lexicon.txt train sounds lexicon.txt -o lexicon.txt -n 1 -q --set deltas=0
refused ./lexicon.txt lexicon.txt graph tones.trm lexicon.txt --loop -o ./lexicon.txt -q
refused link.txt lexicon.txt graph tones.trm lexicon.txt --loop -o link.txt -q
refused hard.trg loop.trg decode tones.trm loop.trg sounds -o hard.trg -q
refused below/words.ctm below/words.ctm align tones.trm sounds below/words.ctm -o below --to ctm -q
refused f.ark f.ark features copy f.ark f.ark -q
refused "$PWD/f.ark" f.ark features copy f.ark "$PWD/f.ark" -q
refused text text lm text -o text
refused tones.trm tones.trm model convert tones.trm -o tones.trm
refused potentials potentials fst reweight machine.fst potentials -o potentials
before=$(all_bytes)
expect 3 "$TRELLIS" lm -o text - <text
contains "$err" "text: is an output of this command, and standard input, which it reads, is the same file" "standard input"
[ "$before" = "$(all_bytes)" ] || wrong "standard input was replaced"

# A sound that the output would replace is only met on the way.
unchanged decode tones.trm loop.trg sounds -o "$sound" -q
contains "$err" "$sound: is an output of this command" "a sound as output"

# What the command reads for itself counts too.
cp tones.trm.journal lexicon 2>/dev/null || echo '{}' >lexicon
refused lexicon lexicon report tones.trm --journal lexicon -o lexicon

# ---- Two outputs are one file ----
ln -s y.ark z.ark
for second in y.ark ./y.ark below/../y.ark z.ark; do
    unchanged features copy f.ark "ark,scp:y.ark,$second" -q
    contains "$err" "$second: two outputs of this command would be this file" "ark and scp"
done

# ---- What is no such case ----
expect 0 "$TRELLIS" fst arcsort machine.fst -o machine.fst # in place, as fst commands always could
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -o words.txt -q
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -o words.txt -q
expect 0 "$TRELLIS" features copy f.ark ark,scp:y.ark,y.scp -q
expect 0 "$TRELLIS" lm text -o /dev/null
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0 --keep
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0 --resume
finish
