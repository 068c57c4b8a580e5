#!/usr/bin/env bash
# English as a new user has it: Debian's pocketsphinx-en-us, and the recordings of pocketsphinx-testdata, which say what is said in their names and transcripts.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -z "$TRELLIS_SANITIZE" ] || skip "a large model; smaller ones do for sanitizers"
[ -e /usr/share/pocketsphinx/model/en-us/en-us.lm.bin ] || skip "pocketsphinx-en-us is not installed"
recordings=/usr/share/pocketsphinx/test/data
[ -e $recordings/goforward.raw ] || skip "pocketsphinx-testdata is not installed"
unset TRELLIS_MODELS
cd "$folder" || exit 1
export XDG_CACHE_HOME=$PWD/cache

expect 0 "$TRELLIS" decode en-us - --raw 16000 <$recordings/goforward.raw
[ "$out" = "stdin go forward ten meters" ] || wrong "goforward: $out"
contains "$err" "making the graph of en-us, once" "the first time"
expect 0 "$TRELLIS" decode en-us - --raw 16000 <$recordings/something.raw
contains "$out" "go somewhere and do something" "something"
[[ $err != *"making"* ]] || wrong "made again: $err"
for card in 001 003 004; do
    expect 0 "$TRELLIS" decode -q en-us $recordings/cards/$card.wav
    said=$(sed -n "s/<s> \(.*[^ ]\) *<.s> ($card)/\1/p" $recordings/cards/cards.transcription)
    [ -n "$said" ] && [ "$out" = "$card $said" ] || wrong "card $card: '$out' instead of '$said'"
done

# The whole graph is too large for what is allowed, and says what to do.
expect 3 "$TRELLIS" graph -q en-us en-us en-us --skip-missing --memory-limit 20 -o never.trg
contains "$err" "--on-the-fly" "a limit of memory"
finish
