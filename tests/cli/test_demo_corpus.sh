# The demo corpus: complete, consistent, sane sound, the same bytes again, careful with folders that are not its own.
set -eu
make=$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus
for program in espeak-ng flite sox soxi python3; do
    command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAILED: $*"; exit 1; }

"$make" one --speakers 2 --seed 5
test "$(ls)" = one || fail "something was left beside the corpus: $(ls)"
test "$(wc -l <one/text)" = 40 && test "$(wc -l <one/wav.scp)" = 40 && test "$(wc -l <one/utt2spk)" = 40 ||
    fail "not 2 x 20 utterances"
for list in text wav.scp utt2spk lexicon.txt; do
    LC_ALL=C sort -c one/$list || fail "$list is not sorted"
done
test ! -s one/held-out.txt || fail "held out: $(cat one/held-out.txt)"
cut -d' ' -f1 one/text | cmp - <(cut -d' ' -f1 one/wav.scp) || fail "text and wav.scp disagree"
cut -d' ' -f2- one/text | tr ' ' '\n' | sort -u | while read -r word; do
    grep -q "^$word [A-Z]" one/lexicon.txt || fail "$word is not in the lexicon"
done
grep -qE '^[^ ]+( (ZERO|ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE)){8}' one/text && fail "more than 7 digits"

cut -d' ' -f2 one/wav.scp | while read -r path; do
    test "$(soxi -r "one/$path") $(soxi -c "one/$path") $(soxi -b "one/$path")" = "16000 1 16" || fail "$path: format"
    sox "one/$path" -n stat 2>&1 | awk -v path="$path" '
        /^Length/ { seconds = $3 } /^Maximum amp/ { high = $3 } /^Minimum amp/ { low = $3 } /^RMS .*amp/ { rms = $3 }
        END { if (seconds < 0.5 || seconds > 8 || high > 0.95 || low < -0.95 || rms < 0.005) {
                  print "FAILED: " path ": " seconds " s, from " low " to " high ", rms " rms; exit 1 } }'
done

before=$(stat -c %i one)
"$make" one --speakers 2 --seed 5 | grep -q "already there" || fail "made again"
test "$(stat -c %i one)" = "$before" || fail "replaced without need"
"$make" two --speakers 2 --seed 5 >/dev/null
diff -r one two || fail "the same seed gave another corpus"
"$make" two --speakers 2 --seed 6 >/dev/null
cmp -s one/text two/text && fail "another seed gave the same corpus"

mkdir mine && echo precious >mine/file
if "$make" mine --speakers 2 2>message; then fail "took over a folder that is not a demo corpus"; fi
grep -q "not a demo corpus" message || fail "unclear: $(cat message)"
test "$(cat mine/file)" = precious || fail "touched a folder that is not a demo corpus"
mkdir bin && printf '#!/bin/sh\necho no voice >&2; exit 1\n' >bin/flite && chmod +x bin/flite
if PATH=$folder/bin:$PATH "$make" three --speakers 2 2>message; then fail "passed without a voice"; fi
grep -q "no voice" message || fail "unclear: $(cat message)"
test ! -e three || fail "left an incomplete corpus"
echo ok
