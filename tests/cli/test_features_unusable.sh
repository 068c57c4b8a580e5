#!/usr/bin/env bash
# trellis features over a corpus that means harm or is half broken: nothing in it is run, nothing is lost without a word.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"
tone() { sox -n -r 16000 -b 16 "$1" synth 0.3 sine "$2"; }

# ---- What never became an utterance is named by --skip-bad too ----
mkdir set
tone set/a.wav 300
printf 'u1 a.wav\nu2\n' >set/wav.scp
expect 1 "$TRELLIS" features -q set -o ark,t:set.txt --skip-bad
contains "$err" "set/wav.scp:2: u2: no sound file" "a line without a sound"
contains "$(<set.txt)" "u1 " "the rest"
printf 'u1 a.wav\n' >set/wav.scp
expect 0 "$TRELLIS" features -q set -o ark,t:set.txt --skip-bad

# ---- A sound that is named is that sound, whatever lies beside it ----
tone b.wav 300
tone b.flac 600
expect 0 "$TRELLIS" features -q b.wav -o ark,t:wav.txt
expect 0 "$TRELLIS" features -q b.flac -o ark,t:flac.txt
rm b.flac
expect 0 "$TRELLIS" features -q b.wav -o ark,t:alone.txt
cmp -s wav.txt alone.txt || wrong "b.flac was read for b.wav"
cmp -s wav.txt flac.txt && wrong "b.wav was read for b.flac"

# ---- gnuplot runs what stands between backquotes, or behind a bar ----
command -v gnuplot >/dev/null || { [ "$faults" = 0 ] && skip "gnuplot is not installed"; }
tone "d'\`touch ran\`.wav" 300
# shellcheck disable=SC2016
echo 'a "quote", it'\''s `touch ran` \ {sub}_2 $(touch ran) @x' >"d'\`touch ran\`.lab"
expect 0 "$TRELLIS" features -q "d'\`touch ran\`.wav" --plot d.svg
contains "$(<d.svg)" "touch ran" "the words as they are"
expect 0 "$TRELLIS" features -q b.wav --plot '|touch ran;.svg'
expect 0 "$TRELLIS" features -q b.wav --plot "\`touch ran\`'.svg"
[ ! -e ran ] || wrong "something in the names or words was run"
finish
