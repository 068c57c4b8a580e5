#!/usr/bin/env bash
# The demo with a user's corpus and lexicon, and without a lexicon. (The demo on its own corpus is what `make demo` does.)
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
demo=$TRELLIS_SOURCE_DIR/scripts/demo

CORPUS=$PWD/sounds LEXICON=$PWD/lexicon.txt PLACE=$PWD/whole expect 0 "$demo"
contains "$out" "trellis train" "commands are shown"
contains "$out" "WER" "errors are counted"
[ -s whole/report.html ] || wrong "no page"
[ -s whole/utterance.png ] || wrong "no picture"
[ "$(find whole/aligned -name '*.TextGrid' | wc -l)" = "$(wc -l <whole/train/text)" ] || wrong "not an alignment for each utterance"
[ "$(cut -d' ' -f1 whole/best.txt)" = "$(cut -d' ' -f1 whole/test/text)" ] || wrong "not all held-out utterances were recognised"
speakers() { cut -d' ' -f2 "whole/$1/utt2spk" | sort -u; }
[ -z "$(comm -12 <(speakers train) <(speakers test))" ] || wrong "somebody is heard in training and in the test"

CORPUS=$PWD/sounds PLACE=$PWD/sound-only expect 0 "$demo"
contains "$out" "With LEXICON=file" "what a lexicon would bring"
[ "$(ls sound-only)" = utterance.png ] || wrong "without a lexicon: $(ls sound-only)"

CORPUS=$PWD/nowhere LEXICON=$PWD/lexicon.txt PLACE=$PWD/none expect 1 "$demo"
contains "$err" "nowhere" "a corpus that is not there"

finish
