#!/usr/bin/env bash
# Sound with two channels: every command that reads a corpus's sound says once that the first is used, unless somebody has chosen.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
count=0
for sound in sounds/*/*.wav; do
    sox "$sound" "$sound.stereo.wav" remix 1 0 && mv "$sound.stereo.wav" "$sound" && count=$((count + 1))
done
said() { # COMMAND …: once, and not at all where a channel is chosen
    expect 0 "$@"
    contains "$err" "$count utterances have more than one channel, this one first; the first is used" "$2"
    [ "$(grep -c 'more than one channel' <<<"$err")" = 1 ] || wrong "more than once: $2"
    expect 0 "$@" --channel 0
    [[ $err != *"more than one channel"* ]] || wrong "$2 --channel 0: $err"
}
said "$TRELLIS" features sounds -o ark:features.ark
said "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 2 --set deltas=0
said "$TRELLIS" align tones.trm sounds lexicon.txt -o aligned
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o tones.trg -q
said "$TRELLIS" decode tones.trm tones.trg sounds -o words.txt
said "$TRELLIS" bam train tones.trm sounds lexicon.txt -o store --min-frames 20
finish
