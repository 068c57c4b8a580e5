#!/usr/bin/env bash
# What is done of a corpus survives an interruption, wherever it comes: --resume goes on, and ends with the bytes of a run that was not interrupted.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0 --set cmvn=utterance
expect 0 "$TRELLIS" train sounds lexicon.txt -o adapted.trm --stages mono,tri,sat -i 2 --leaves 20 -q --set cmvn=utterance
for model in tones adapted; do
    expect 0 "$TRELLIS" graph $model.trm lexicon.txt --loop -o $model.trg -q
done

# The last utterance is none: there the run ends, and all others are done.
mkfifo pipe.wav
{
    printf 'id\tpath\tspeaker\ttext\n'
    for sound in sounds/*/*.wav; do
        printf '%s\t%s\t%s\t%s\n' "$(basename "$sound" .wav)" "$PWD/$sound" "$(basename "$(dirname "$sound")")" "$(<"${sound%.wav}.lab")"
    done
    printf 'zz\t%s\tzoe\tAAEE\n' "$PWD/pipe.wav"
} >set.tsv
utterances=$(($(wc -l <set.tsv) - 2))

same_results() { # same_results WHAT: where.txt and where.lat (if there) are those of whole
    cmp where.txt whole.txt || wrong "$1: other words"
    [ ! -e whole.lat ] || cmp where.lat whole.lat || wrong "$1: other lattices"
    [ -e where.txt.part ] && wrong "$1: what was kept is still there"
}

# cut_everywhere COMMAND …: with what is kept cut off at many places, as kills leave it
cut_everywhere() {
    rm -f where.* whole.*
    expect 1 "$@" -o whole.txt --skip-bad -q
    expect 3 "$@" -o where.txt -q --threads 2
    contains "$err" "kept: $utterances of the utterances, in where.txt.part; this goes on from there:
  trellis" "what is said at the end"
    contains "$err" "-o where.txt -q --threads 2 --resume" "the command that goes on"
    [ -e where.txt ] && wrong "half an output"
    cp where.txt.part all.part
    size=$(wc -c <all.part)
    for cut in 0 7 16 17 47 48 80 $((size / 3)) $((size / 2)) $((size - 1)) "$size"; do
        head -c "$cut" all.part >where.txt.part
        expect 1 "$@" -o where.txt --skip-bad -q --resume --threads 1
        same_results "cut at $cut of $size bytes: $*"
        rm -f where.txt where.lat
    done
    # A byte that is another: what lies behind it is made again.
    python3 - <<'END'
bytes = bytearray(open("all.part", "rb").read())
bytes[len(bytes) // 2] ^= 1
open("where.txt.part", "wb").write(bytes)
END
    expect 1 "$@" -o where.txt --skip-bad -q --resume
    same_results "a damaged byte: $*"
}

[ -e whole.lat ] && wrong "a lattice"
cut_everywhere "$TRELLIS" decode tones.trm tones.trg set.tsv
cut_everywhere "$TRELLIS" decode tones.trm tones.trg set.tsv --to ctm
cut_everywhere "$TRELLIS" decode tones.trm tones.trg set.tsv --to nbest

# Lattices too.
rm -f whole.* where.*
decode=("$TRELLIS" decode tones.trm tones.trg set.tsv -q)
expect 1 "${decode[@]}" -o whole.txt --lattice whole.lat --skip-bad
expect 3 "${decode[@]}" -o where.txt --lattice where.lat
head -c $(($(wc -c <where.txt.part) / 2)) where.txt.part >half && mv half where.txt.part
expect 1 "${decode[@]}" -o where.txt --lattice where.lat --skip-bad --resume
same_results "lattices"
rm -f whole.lat where.lat

# A model that adapts to speakers goes through the corpus several times. A limit on the size of files ends it in the last pass, within a result.
limited() { (ulimit -f 9 && "$@"); }
adapt=("$TRELLIS" decode adapted.trm adapted.trg sounds --to jsonl --mbr -q)
expect 0 "${adapt[@]}" -o whole.txt
expect 3 limited "${adapt[@]}" -o where.txt
contains "$err" "where.txt.part: writing failed" "a limit"
contains "$err" "kept: " "a limit"
[ "$(wc -c <where.txt.part)" = 9216 ] || wrong "the limit was not met within a result"
expect 0 "${adapt[@]}" -o where.txt --resume
same_results "a model that adapts"

# Alignments, into a folder.
for model in tones adapted; do
    rm -rf whole aligned aligned.part
    align=("$TRELLIS" align "$model.trm" sounds lexicon.txt -q --to "textgrid,ctm,jsonl,kaldi,mlf,vtt" --count-pronunciations)
    expect 0 "${align[@]}" whole.uses -o whole
    expect 3 limited "${align[@]}" where.uses -o aligned
    contains "$err" "in aligned.part; this goes on from there:" "alignments"
    expect 0 "${align[@]}" where.uses -o aligned --resume --threads 1
    diff -r whole aligned || wrong "other alignments"
    cmp whole.uses where.uses || wrong "other uses of pronunciations"
    [ -e aligned.part ] && wrong "what was kept is still there"
done
expect 3 limited "${align[@]}" where.uses -o aligned
expect 3 "${align[@]}" where.uses -o aligned --resume --beam 300
contains "$err" "aligned.part: what is kept here was made with another model" "another beam"
rm -rf aligned.part aligned

# Features, in every form, in one pass and with sums by speaker. A sound that has changed where nobody looks, its time and size being the same, shows that
# frames come from what is kept.
features=("$TRELLIS" features set.tsv -q)
victim=sounds/anna/anna01.wav
cp -p $victim untouched.wav
for form in packed ark ark,t htk npy; do
    for set in cmvn=utterance cmvn=speaker; do
        rm -rf whole* where*
        expect 1 "${features[@]}" --set $set --set deltas=2 -o $form:whole --skip-bad
        expect 3 "${features[@]}" --set $set --set deltas=2 -o $form:where --threads 2
        contains "$err" "kept: $utterances of the utterances, in where.part; this goes on from there:
  trellis" "what is said at the end of features"
        contains "$err" "-o $form:where --threads 2 --resume" "the command that goes on with features"
        cp where.part all.part
        size=$(wc -c <all.part)
        for cut in 0 17 48 $((size / 3)) $((size - 1)) "$size"; do
            head -c "$cut" all.part >where.part
            [ "$cut" -lt $((size / 3)) ] || dd if=/dev/zero of=$victim bs=100 seek=1 count=100 conv=notrunc status=none
            touch -r untouched.wav $victim
            expect 1 "${features[@]}" --set $set --set deltas=2 -o $form:where --skip-bad --resume
            diff -r whole where || wrong "features, $form, $set, cut at $cut of $size bytes"
            [ -e where.part ] && wrong "what was kept of features is still there"
            cp -p untouched.wav $victim
            rm -rf where
        done
    done
done

# The limit is met in the second pass, by the features themselves: static rows are a third of them.
rm -rf whole* where*
speakers=("$TRELLIS" features sounds -q --set cmvn=speaker --set deltas=2)
expect 0 "${speakers[@]}" -o ark:whole
(ulimit -f $((2 * $(wc -c <whole) / 3 / 1024)) && "${speakers[@]}" -o ark:where) 2>limited.err && wrong "features were not limited"
contains "$(<limited.err)" "kept: 24 of the utterances, in where.part" "a limit in the second pass"
expect 0 "${speakers[@]}" -o ark:where --resume
cmp whole where || wrong "features after a limit in the second pass"

# Killed while one of the files can't be opened: it is a pipe that nobody reads.
rm -rf whole* where*
mkdir where
mkfifo where/ben12.npy
expect 0 "$TRELLIS" features sounds -q -o npy:whole
"$TRELLIS" features sounds -q -o npy:where 2>/dev/null &
child=$!
while kill -0 $child 2>/dev/null && ! grep -q ben12 where.part 2>/dev/null; do :; done
kill -9 $child
wait $child 2>/dev/null
[ -e where/ben13.npy ] && wrong "features were not killed"
grep -q anna11 where.part || wrong "features that were done are not kept"
rm where/ben12.npy
expect 0 "$TRELLIS" features sounds -o npy:where --resume
contains "$err" " utterances were done before" "features after a kill"
diff -r whole where || wrong "features after a kill"
[ -e where.part ] && wrong "what was kept of features is still there after a kill"

# Other settings, utterances and sounds are refused, and what is kept stays.
rm -rf where*
expect 3 "${features[@]}" -o ark:where
cp where.part all.part
refused() {
    expect 3 "$TRELLIS" features "$@" -q -o ark:where --skip-bad --resume
    contains "$err" "where.part: what is kept here was made with another model, corpus, version or options" "features $*"
    cmp all.part where.part || wrong "what was kept of features has changed: $*"
}
refused set.tsv --set deltas=1
refused set.tsv --preset plp
refused set.tsv --channel mix
grep -v anna01 set.tsv >less.tsv
refused less.tsv
touch $victim
refused set.tsv
rm -f where.part
expect 2 "${features[@]}" -o ark:- --resume
contains "$err" "--resume goes on with an output that is a file or a folder" "features to standard output"

# Another model, option or corpus is refused, and what is kept stays.
expect 3 "${decode[@]}" -o where.txt
cp where.txt.part all.part
changed() {
    expect 3 "$TRELLIS" decode "$@" -q -o where.txt --resume --skip-bad
    contains "$err" "where.txt.part: what is kept here was made with another model, corpus, version or options" "$*"
    cmp all.part where.txt.part || wrong "what was kept has changed: $*"
}
changed tones.trm tones.trg set.tsv --beam 12
changed adapted.trm adapted.trg set.tsv
grep -v anna01 set.tsv >less.tsv
changed tones.trm tones.trg less.tsv
expect 0 "$TRELLIS" train sounds lexicon.txt -o other.trm -n 2 -q --set deltas=0 --set cmvn=utterance
changed other.trm tones.trg set.tsv

# Without --resume the run begins anew, and says what it replaces.
expect 1 "$TRELLIS" decode tones.trm tones.trg set.tsv -o where.txt --skip-bad
contains "$err" "where.txt.part has $utterances utterances of a run that was interrupted; this one begins anew" "a new run"
echo mine >where.txt.part
expect 3 "${decode[@]}" -o where.txt
contains "$err" "where.txt.part: results should be kept here, but this file is something else" "a file of somebody else"
[ "$(<where.txt.part)" = mine ] || wrong "a file of somebody else has changed"
rm where.txt.part
expect 2 "${decode[@]}" --resume
contains "$err" "--resume goes on with an output that is a file" "standard output"

# Killed while it waits for likelihoods that do not come: what was done before is kept.
expect 0 "$TRELLIS" features sounds --model tones.trm -o f.ark -q
expect 0 "$TRELLIS" model likelihoods tones.trm f.ark -o scores.ark -q
mkfifo scores
rm -f where.*
"$TRELLIS" decode tones.trm tones.trg sounds --likelihoods ark:scores -q -t 1 -o where.txt 2>/dev/null &
child=$!
exec 9<>scores
head -c $(($(wc -c <scores.ark) * 9 / 10)) scores.ark >&9
last=$(find sounds -name '*.wav' -printf '%f\n' | sort | sed -n '16s/.wav//p')
while kill -0 $child 2>/dev/null && ! grep -q "$last" where.txt.part; do :; done
kill -9 $child
wait $child 2>/dev/null
exec 9>&-
[ -e where.txt ] && wrong "it was not killed"
grep -q "$last" where.txt.part || wrong "what was done is not kept"
finish
