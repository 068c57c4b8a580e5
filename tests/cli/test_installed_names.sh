#!/usr/bin/env bash
# A stock model that is not installed: wherever a name may stand for one, the message says where it comes from, and nothing is written.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 --set deltas=0 --iterations 1 -q
before=$(ls)
missing() { # WHAT COMMAND …
    local what=$1
    shift
    expect 3 "$TRELLIS" "$@"
    contains "$err" "no-such: there is no such file, and no $what of this name is installed" "$*"
    contains "$err" "package pocketsphinx-en-us" "$*"
    contains "$err" "TRELLIS_MODELS ($folders)" "$*"
    [ "$(ls)" = "$before" ] || wrong "$*: something was written: $(ls)"
}
unset TRELLIS_MODELS
folders="not set"
missing model align no-such sounds lexicon.txt -o never
missing dictionary align tones.trm sounds no-such -o never
missing dictionary train sounds no-such -o never.trm
missing model train sounds lexicon.txt --from no-such -o never.trm
missing dictionary corpus check sounds --lexicon no-such
missing model decode no-such sounds/anna/anna01.wav
missing model decode no-such never.trg sounds/anna/anna01.wav
export TRELLIS_MODELS=nowhere:elsewhere
folders=$TRELLIS_MODELS
missing model graph no-such lexicon.txt never.arpa -o never.trg
missing dictionary graph tones.trm no-such never.arpa -o never.trg
missing "language model" graph tones.trm lexicon.txt no-such -o never.trg
for command in "model show" "model stat" "model convert -o never.trm" "model draw" report; do
    read -ra words <<<"$command"
    missing model "${words[@]}" no-such
done
missing model model likelihoods no-such ark:none -o ark:never
missing model bam train no-such sounds lexicon.txt -o never
missing dictionary bam map tones.trm sounds no-such -o never
missing model features sounds --model no-such -o never.trf

# What looks like a file is one that is not there.
expect 3 "$TRELLIS" model stat none.trm
contains "$err" "none.trm: can't open: No such file or directory" "a file that is not there"
finish
