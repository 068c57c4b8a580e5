#!/usr/bin/env bash
# trellis features as a user runs it: where features go, front ends by preset, file and settings, corpora that are not whole, pictures,
# and what is said when something is wrong.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v sox >/dev/null || skip "sox is not installed"
cd "$folder" || exit 1

same() { cmp -s "$1" "$2" || wrong "$3: $1 and $2 differ"; }
absent() { [ ! -e "$1" ] || wrong "$2: $1 was written"; }

# Two speakers, two sounds each; seeded, so that every run sees the same.
mkdir -p corpus/anna corpus/ben
for i in 1 2; do
    sox -D -R -n -r 16000 -b 16 corpus/anna/a$i.wav synth 0.$((i + 3)) sawtooth $((100 * i + 50)) gain -10
    sox -D -R -n -r 16000 -b 16 corpus/ben/b$i.wav synth 0.$((i + 4)) pinknoise gain -6
done

# ---- Places ----
expect 0 "$TRELLIS" features corpus -o f.trf
contains "$err" "4 utterances, " "summary"
contains "$err" "frames of 13 values" "summary"
[ -z "$out" ] || wrong "standard output is not for messages: $out"
expect 0 "$TRELLIS" features corpus -q -o f.ark
[ -z "$err$out" ] || wrong "--quiet is not quiet: $err$out"
expect 0 "$TRELLIS" features corpus -q -o ark,scp:g.ark,g.scp
expect 0 "$TRELLIS" features corpus -q -o ark,t:f.txt
expect 0 "$TRELLIS" features corpus -q -o htk:htk
expect 0 "$TRELLIS" features corpus -q -o npy:npy
expect 0 "$TRELLIS" features corpus -q -o ark,t:-
same out f.txt "text on standard output"
same f.ark g.ark "archives with and without a script"
[ "$(grep -c '\[' f.txt)" = 4 ] || wrong "not four matrices in f.txt"
[ "$(cut -d' ' -f1 g.scp | tr '\n' ' ')" = "a1 a2 b1 b2 " ] || wrong "script: $(<g.scp)"
for place in f.trf f.ark g.scp htk:htk; do # all hold the same numbers
    expect 0 "$TRELLIS" features copy -q "$place" ark,t:copy.txt
    same copy.txt f.txt "$place"
done
[ "$(head -c 6 npy/a1.npy | tail -c 5)" = NUMPY ] || wrong "npy/a1.npy is no NumPy file"
# 0.4 s: (6400 - 400) / 160 + 1 = 38 frames
expect 0 "$TRELLIS" features corpus/anna/a1.wav -q -o ark,t:-
[ "$(wc -l <out)" = 39 ] || wrong "0.4 s give $(($(wc -l <out) - 1)) frames instead of 38"
contains "$out" "a1 " "one sound file"

# ---- The same for every number of threads ----
for settings in cmvn=none cmvn=utterance cmvn=speaker cmvn=sliding; do
    expect 0 "$TRELLIS" features corpus -q -t 1 -o one.trf --set deltas=2 --set $settings
    expect 0 "$TRELLIS" features corpus -q -t 2 -o two.trf --set deltas=2 --set $settings
    same one.trf two.trf "threads, $settings"
done

# ---- Standard input ----
cp corpus/anna/a1.wav stdin.wav
expect 0 "$TRELLIS" features - -q -o ark,t:piped.txt <corpus/anna/a1.wav
expect 0 "$TRELLIS" features stdin.wav -q -o ark,t:named.txt
same <(tail -n +2 piped.txt) <(tail -n +2 named.txt) "standard input"
expect 2 "$TRELLIS" features - --plot piped.png <corpus/anna/a1.wav
contains "$err" "name a file" "a picture of standard input"

# ---- Front ends ----
for preset in mfcc fbank plp plp8k htk sphinx; do
    expect 0 "$TRELLIS" features --preset $preset --describe --set deltas=1 --set window=hamming
    cp out first.conf
    expect 0 "$TRELLIS" features --config first.conf --describe
    same out first.conf "--describe through --config, $preset"
done
contains "$out" "deltas = 1" "description"
expect 0 "$TRELLIS" features corpus -q -o direct.ark --preset plp --set cmvn=utterance
expect 0 "$TRELLIS" features --describe --preset plp --set cmvn=utterance
cp out plp.conf
expect 0 "$TRELLIS" features corpus -q -o config.ark -c plp.conf
same direct.ark config.ark "a front end from a file"
printf 'preset = fbank\nmel_bins = 30\n' >fbank.conf
expect 0 "$TRELLIS" features --describe -p plp -c fbank.conf --set mel_bins=40 # the later wins
contains "$out" "kind = fbank" "file over preset"
contains "$out" "mel_bins = 40" "setting over file"
printf ' [\n 1 0 0 0 0 0 0 0 0 0 0 0 0 100\n 0 2 0 0 0 0 0 0 0 0 0 0 0 0 ]\n' >transform.txt
expect 0 "$TRELLIS" features corpus -q -o ark,t:transformed.txt --transform transform.txt
awk '/\[/ { next } { print $1 + 100, 2 * $2 }' f.txt >wanted
awk '/\[/ { next } { print $1, $2 }' transformed.txt >got
paste wanted got | awk '{ if (($1 - $3) ^ 2 > 1e-6 || ($2 - $4) ^ 2 > 1e-6) bad = 1 } END { exit bad || NR < 100 }' || wrong "transform"

# ---- What is said of mistakes; nothing is written ----
mistake() { # mistake CODE PART WORDS …
    local code=$1 part=$2
    shift 2
    expect "$code" "$TRELLIS" features "$@" -o mistake.trf
    contains "$err" "$part" "features $*"
    absent mistake.trf "features $*"
}
mistake 2 "there is no preset 'mfc'; there are mfcc, fbank" corpus --preset mfc
mistake 2 "a front end has no 'delta'; did you mean deltas?" corpus --set delta=2
mistake 2 "a front end has no 'xyz'; it has" corpus --set xyz=2
mistake 2 "deltas = two: a whole number from 0 to 100" corpus --set deltas=two
mistake 2 "window = square: choose povey" corpus --set window=square
mistake 2 "--set takes KEY=VALUE, not 'deltas'" corpus --set deltas
mistake 2 "num_ceps = 30: at most mel_bins = 23" corpus --set num_ceps=30
mistake 2 "--channel is a number" corpus --channel left
mistake 2 "--format is one of auto" corpus --format zip
mistake 3 "no channel 3: the file has 1" corpus --channel 3
mistake 3 "nowhere" nowhere
mistake 3 "missing.conf" corpus --config missing.conf
mistake 3 "missing.mat" corpus --transform missing.mat
mistake 2 "14 columns" corpus --transform transform.txt --set num_ceps=10
printf 'rate = 16000\nmel_bins = many\n' >bad.conf
mistake 3 "bad.conf:2: mel_bins = many" corpus --config bad.conf
expect 2 "$TRELLIS" features corpus
contains "$err" "-o" "no place"
expect 2 "$TRELLIS" features -o x.trf
expect 3 "$TRELLIS" features corpus -q -o no/such/folder/f.trf
contains "$err" "no/such/folder" "unwritable place"
expect 3 "$TRELLIS" features corpus -q -o features.xyz
contains "$err" "features.xyz" "unknown ending"

# ---- A corpus that is not whole ----
cp -r corpus broken
echo "this is no sound" >broken/anna/a3.wav
head -c 300 corpus/ben/b1.wav >broken/ben/b0.wav # its header promises more
echo old >old.trf
expect 3 "$TRELLIS" features broken -q -o old.trf
contains "$err" "a3" "the first bad utterance is named"
[ "$(<old.trf)" = old ] || wrong "a failure replaced the old file"
[ "$(find . -name 'old.trf*' | sort | xargs)" = "./old.trf ./old.trf.part" ] || wrong "a failure left other files than what is kept: $(find . -name 'old.trf*')"
expect 1 "$TRELLIS" features broken -q -o ark,t:rest.txt --skip-bad
contains "$err" "2 utterances skipped; 2 entries can't be used, listed in rest.txt.skipped.tsv" "--skip-bad"
[ "$(wc -l <rest.txt.skipped.tsv)" = 2 ] || wrong "the list of what was skipped: $(<rest.txt.skipped.tsv)"
expect 1 "$TRELLIS" features broken -q -o ark,scp:rest.ark,rest.scp --skip-bad
cmp rest.ark.skipped.tsv rest.txt.skipped.tsv || wrong "another list for another format"
expect 1 "$TRELLIS" features broken -q -o ark:- --skip-bad
contains "$err" "2 entries can't be used:" "nothing stands beside standard output"
contains "$err" "broken/anna/a3.wav" "--skip-bad names the file"
contains "$err" "broken/ben/b0.wav" "--skip-bad names the file"
same rest.txt f.txt "what is left of a broken corpus"
expect 1 "$TRELLIS" features broken -q -o one.trf --skip-bad --set cmvn=speaker -t 1
expect 0 "$TRELLIS" features corpus -q -o two.trf --set cmvn=speaker
expect 0 "$TRELLIS" features copy -q one.trf ark,t:one.txt
expect 0 "$TRELLIS" features copy -q two.trf ark,t:two.txt
same one.txt two.txt "bad utterances count for no speaker"
sox -n -r 16000 -b 16 short.wav trim 0 0.01
expect 3 "$TRELLIS" features short.wav -q -o short.trf
contains "$err" "160 samples are too few for one frame" "too short"
absent short.trf "too short"

# ---- Pictures ----
png_is_whole() { # signature, 1200 x 900, and the closing chunk
    [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || wrong "$1 is no PNG"
    [ "$(od -An -tu1 -j16 -N8 "$1" | tr -s ' ')" = " 0 0 4 176 0 0 3 132" ] || wrong "$1 is not 1200 x 900"
    [ "$(tail -c 8 "$1" | head -c 4)" = IEND ] || wrong "$1 is cut off"
    [ "$(stat -c %s "$1")" -gt 10000 ] || wrong "$1 is nearly empty"
}
if command -v gnuplot >/dev/null; then
    expect 0 "$TRELLIS" features corpus --plot first.png
    contains "$err" "a1" "which utterance is drawn"
    png_is_whole first.png
    expect 0 "$TRELLIS" features corpus -q --plot other.png --utterance b1 -o both.trf --set cmvn=speaker
    png_is_whole other.png
    [ -s both.trf ] || wrong "-o beside --plot wrote nothing"
    cmp -s first.png other.png && wrong "two utterances, one picture"
    sox -n -r 16000 -b 16 tiny.wav synth 0.012 sine 300
    expect 0 "$TRELLIS" features tiny.wav -q --set frame_ms=5 --set shift_ms=2 --plot tiny.png
    png_is_whole tiny.png
    # Longer than a picture can have columns: 400 s, one frame each 10 ms. The script that gnuplot gets must not grow with it.
    sox -n -R -r 8000 -b 16 long.wav synth 400 pinknoise vol 0.2
    expect 0 "$TRELLIS" features long.wav -q --set rate=8000 --plot long.png
    png_is_whole long.png
    expect 3 "$TRELLIS" features corpus -q --plot no/such/first.png
    contains "$err" "no/such" "unwritable picture"
    [ ! -s out ] || wrong "an unwritable picture goes to standard output"
fi
expect 3 env PATH=/nonexistent "$TRELLIS" features corpus -q --plot none.png
contains "$err" "gnuplot" "no gnuplot"
contains "$err" "install" "no gnuplot"
absent none.png "no gnuplot"
expect 3 "$TRELLIS" features corpus -q --plot first.png --utterance nobody
contains "$err" "nobody" "unknown utterance"
expect 2 "$TRELLIS" features corpus -q --plot picture.jpeg
contains "$err" ".png, .svg or .pdf" "unknown kind of picture"
[ -z "$(find . -name '*.tmp')" ] || wrong "left behind: $(find . -name '*.tmp')"

finish
