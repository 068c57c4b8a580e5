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
contains "$err" "stage 2 of 4, tri: phones in context" "the stage begins"
contains "$err" "new transforms of the speakers: log-likelihood per frame of speech +" "what transforms bring"
[ "$(grep -c '^iteration ' <<<"$err")" = 4 ] || wrong "not one heading per stage"
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

# Phones know their place in the word; alignments call them what the lexicon does.
expect 0 "$TRELLIS" model show sat.trm
contains "$out" "_B" "places in words"
cut -d' ' -f5 adapted/phones.ctm | sort -u >said.phones
{ echo SIL; tr -s ' \t' '\n\n' <"$lexicon" | sort -u; } | sort -u >known.phones
unknown=$(comm -23 said.phones known.phones)
[ -s said.phones ] && [ -z "$unknown" ] || wrong "phones that the lexicon lacks: $unknown"
expect 0 train -o plain.trm --stages mono,tri --no-word-positions -q
expect 0 "$TRELLIS" model show plain.trm
case $out in *_B*) wrong "--no-word-positions has places in words" ;; esac
expect 2 train -o x.trm --word-positions --no-word-positions
contains "$err" "exclude each other" "both"

# Stages one by one, each from the model of the one before, come near the ladder: as many stages, the same space.
expect 0 train -o mono.trm --stages mono --word-positions
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

# Transforms that are lost: the training can't go on as it would have.
train -o left.trm --stages mono,sat --keep --quiet
rm left.trm.work/*.trs
expect 3 train -o left.trm --stages mono,sat --resume
contains "$err" ".trs: can't open" "transforms that are lost"

# Warnings do not change the exit code.
{ cat "$lexicon" && echo "ZZZ ZH OY"; } >more.txt
expect 0 "$TRELLIS" train data more.txt -o more.trm --components 1 --iterations 1
contains "$err" "2 of its" "phones that no word has"
contains "$err" "ZH OY" "phones that no word has"
printf 'QS "stops" {p,XX}\nQS "nasals" {N-*,M-*}\n' >questions
expect 0 train -o asked.trm --stages mono,tri,tri --questions questions
[ "$(grep -c "warning: questions: the model has no such units" <<<"$err")" = 1 ] || wrong "questions of unknown phones are not said once: $err"
cp -r data crowd
rm crowd/utt2spk
expect 0 "$TRELLIS" train crowd "$lexicon" -o crowd.trm --stages mono,sat --components 1 --iterations 1
contains "$err" "does the corpus say who speaks?" "speakers with too few frames"
for option in '--leaves 10' '--lda-dim 20' '--context 2,2' '--varmix 0.2,3' '--questions questions'; do
    # shellcheck disable=SC2086
    expect 0 "$TRELLIS" train data "$lexicon" -o mono.trm --components 1 --iterations 1 $option
    contains "$err" "warning: ${option% *} is for the stage" "an option that says nothing: $option"
done
expect 0 "$TRELLIS" train data "$lexicon" -o tri.trm --components 2 --iterations 1 --stages tri --from mono.trm
contains "$err" "warning: --components is for the stage mono" "an option that says nothing"

# What later stages could not use is said before the first iteration.
too_early() { # TEXT OPTIONS
    local text=$1
    shift
    expect 3 train -o x.trm --stages mono,tri,lda "$@"
    contains "$err" "$text" "$*"
    [[ $err != *"iteration "* ]] || wrong "the training began: $*"
    [ ! -e x.trm.work ] || wrong "a training that never began left a folder: $*"
}
echo 'nothing known' >questions
too_early questions --questions questions
echo 'QS "broken" { *-a' >questions
too_early questions: --questions questions
too_early "leave them out" --set splice_left=2

# Wrong options: which one, and what it may be.
refused() {
    local part=$1
    shift
    expect "$@"
    contains "$err" "$part" "${*:2}"
    [ -e x.trm ] && wrong "a model although the arguments were wrong: $*"
}
refused "there is no stage 'quad'" 2 train -o x.trm --stages mono,quad
refused "mono, tri, lda and sat" 2 train -o x.trm --stages mono,quad
refused "mono can only be the first" 2 train -o x.trm --stages mono,tri,mono
refused "first stage is mono, not tri" 2 train -o x.trm --stages tri,lda
for stages in 'mono,' '' mono,,tri MONO; do
    refused "stage" 2 train -o x.trm --stages "$stages"
done
refused "can't come after sat" 2 train -o x.trm --stages mono,sat,tri
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
