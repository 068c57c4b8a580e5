#!/usr/bin/env bash
# Corpora as users of Kaldi and Montreal Forced Aligner have them, with the slips that happen there.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"

run() { # CODE ARGUMENTS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" corpus check "$@"
}
shows() { grep -qxF -- "$1" out || wrong "missing: $1"$'\n'"$out"; }
tone() { sox -n -r 16000 -b 16 "$1" synth "${2:-1}" sine 300 gain -12; }

# ---- An id that is used twice: the first line counts ----
mkdir twice
tone twice/a.wav
tone twice/b.wav
printf 'a a.wav\nb b.wav\na b.wav\n' >twice/wav.scp
printf 'a one\nb two\na three\n' >twice/text
run 1 twice
shows 'twice/wav.scp:3: a: line 1 has the same id; this one is left out'
shows 'twice/text:3: a: line 1 has a transcript for the same id; this one is left out'
shows '2 utterances (0 unusable) of 2 speakers in 2 recordings, 2.00 s of usable sound at 16000 Hz'
expect 1 "$TRELLIS" features -q twice -o ark,t:twice.txt --skip-bad
[ "$(grep -c '\[' twice.txt)" = 2 ] || wrong "--skip-bad leaves out both utterances of an id"

# ---- A folder where a sound should be: said once, and the count goes to its end ----
mkdir -p set/dir.wav
tone set/a.wav
printf 'a a.wav\nb dir.wav\n' >set/wav.scp
printf 'a one\nb two\n' >set/text
run 1 set
shows 'set/wav.scp:2: b: dir.wav is a folder, not a sound file'
shows '1 finding: 1 error, 0 warnings'
contains "$err" '100%  2/2' "progress"

finish
