#!/usr/bin/env bash
# trellis train in stages as a user runs it: the whole ladder from sound, stages from a model, the same bytes after a kill in the third stage, and
# what is said about wrong options.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
cd "$folder" || exit 1
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 3 >/dev/null || wrong "no corpus"
lexicon=data/lexicon.txt
few=(--iterations 2 --components 2 --leaves 120 --gaussians 200 --lda-splice 2 --lda-dim 20)
train() { "$TRELLIS" train data "$lexicon" "${few[@]}" "$@"; }

# The ladder. Every stage says what came of it.
expect 0 train -o sat.trm --stages mono,tri,lda,sat
for stage in mono tri lda sat; do
    contains "$err" "$stage: " "the stage is summed up"
done
contains "$err" "log-likelihood" "likelihoods are shown"
for stage in mono tri lda sat; do
    grep -q "\"stage\":\"$stage\"" sat.trm.journal || wrong "the journal has nothing of $stage"
done
[ -d sat.trm.work ] && wrong "the folder with checkpoints is still there"

# What came out can be looked at, and used: with speakers' transforms, and without.
expect 0 "$TRELLIS" model show sat.trm
contains "$out" "first pass: 200 Gaussians" "both sets of mixtures are shown"
expect 0 "$TRELLIS" model stat sat.trm
expect 0 "$TRELLIS" align sat.trm data "$lexicon" -o adapted --to ctm
contains "$err" "adapted to 3 of 3 speakers" "transforms are estimated"
expect 0 "$TRELLIS" align sat.trm data "$lexicon" -o plain --to ctm --no-adapt
[ "$(wc -l <adapted/words.ctm)" = "$(wc -l <plain/words.ctm)" ] || wrong "words were lost"

# Stages one by one, each from the model of the one before, come near the ladder: as many stages, the same space.
expect 0 train -o mono.trm --stages mono
expect 0 train -o tri.trm --stages tri --from mono.trm
expect 0 train -o lda.trm --stages lda --from tri.trm
expect 0 train -o one-by-one.trm --stages sat --from lda.trm
expect 0 "$TRELLIS" align one-by-one.trm data "$lexicon" -o one-by-one --to ctm
contains "$err" "adapted to 3 of 3 speakers" "transforms are estimated"

# Killed in the third stage and again in the fourth, it goes on to the same bytes.
value() { sed -n "s/^$1 //p" killed.trm.work/checkpoint 2>/dev/null; }
killed=0
for attempt in 1 2 3 4 5; do
    rm -rf killed.trm killed.trm.work
    resume=() killed=0
    for stage in 2 3 none; do
        "$TRELLIS" train data "$lexicon" "${few[@]}" -o killed.trm --stages mono,tri,lda,sat --quiet "${resume[@]}" &
        child=$! # the command itself: a function would run it in a shell, and only that would be killed
        while kill -0 $child 2>/dev/null && [ "$(value stage)" != $stage ]; do :; done
        kill -9 $child 2>/dev/null && killed=$((killed + 1))
        wait $child 2>/dev/null
        resume=(--resume)
        [ -f killed.trm ] && break
    done
    cmp sat.trm killed.trm || wrong "after $killed interruptions the model is another"
    [ $killed -lt 2 ] || break
done
[ $killed -ge 2 ] || wrong "in $attempt trainings none was killed twice"

# Resumed with other stages, or from another model: refused.
train -o left.trm --stages mono,tri --keep --quiet
expect 3 train -o left.trm --stages mono,tri,lda --resume
contains "$err" "another corpus, lexicon, version or options" "other stages"

# Warnings do not change the exit code.
{ cat "$lexicon" && echo "ZZZ ZH OY"; } >more.txt
expect 0 "$TRELLIS" train data more.txt -o more.trm --components 1 --iterations 1
contains "$err" "2 of its" "phones that no word has"
contains "$err" "ZH OY" "phones that no word has"
printf 'QS "stops" {p,XX}\nQS "nasals" {N-*,M-*}\n' >questions
expect 0 train -o asked.trm --stages mono,tri --questions questions
contains "$err" "no such units" "questions of unknown phones"

# Wrong options: which one, and what it may be.
refused() {
    local part=$1
    shift
    expect "$@"
    contains "$err" "$part" "${*:2}"
    [ -e x.trm ] && wrong "a model although the arguments were wrong: $*"
}
refused "there is no stage 'quad'" 3 train -o x.trm --stages mono,quad
refused "mono, tri, lda and sat" 3 train -o x.trm --stages mono,quad
refused "mono can only be the first" 3 train -o x.trm --stages mono,tri,mono
refused "first stage is mono, not tri" 3 train -o x.trm --stages tri,lda
refused "can't come after sat" 3 train -o x.trm --stages mono,sat,tri
refused "phones in context" 3 train -o x.trm --stages mono --from tri.trm
refused "no-such.trm" 3 train -o x.trm --stages tri --from no-such.trm
refused "lexicon.txt" 3 train -o x.trm --stages tri --from data/lexicon.txt
refused "--from" 2 train -o x.trm --stages tri --from mono.trm --set deltas=0
refused "--context" 2 train -o x.trm --stages mono,tri --context 2,x
refused "--context" 2 train -o x.trm --stages mono,tri --context 1.5,1
refused "up to" 2 train -o x.trm --stages mono,tri --context 50,50
refused "--varmix" 2 train -o x.trm --stages mono,tri --varmix junk
refused "alpha from 0 to 1" 2 train -o x.trm --stages mono,tri --varmix 2,1
refused "--gaussians" 2 train -o x.trm --stages mono,tri --gaussians=-1
refused "spliced frames" 2 train -o x.trm --stages mono,tri,lda --lda-splice 1000
refused "no-such-questions" 3 train -o x.trm --stages mono,tri --questions no-such-questions

# A model of other phones can't be gone on with.
sed 's/ AH/ AX/g' "$lexicon" >renamed.txt
lexicon=renamed.txt
refused "AX" 3 train -o x.trm --stages tri --from mono.trm
finish
