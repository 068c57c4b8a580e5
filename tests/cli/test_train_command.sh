#!/usr/bin/env bash
# trellis train as a user runs it: a model from synthesised speech, the same bytes for any number of threads and after any
# interruption, and what it says about wrong input.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
cd "$folder" || exit 1
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 3 >/dev/null || wrong "no corpus"
lexicon=data/lexicon.txt
few=(--components 4 --iterations 2)
train() { "$TRELLIS" train data "$lexicon" "${few[@]}" "$@"; }

# One thread, two, seven: the same bytes. Nothing is left beside the model and its journal.
expect 0 train -o one.trm --threads 1
contains "$err" "7/7" "iterations are shown"
contains "$err" "hours/hour" "the speed is shown"
for threads in 2 7; do
    expect 0 train -o other.trm --threads $threads
    cmp one.trm other.trm || wrong "$threads threads give another model"
done
python3 - other.trm.journal <<'END' || wrong "the journal's slowest utterances took longer than all of them"
import json, sys
for line in open(sys.argv[1]):
    n = json.loads(line)
    steps = sum(n[step] for step in ("load", "score", "alpha", "backtrack", "accumulate"))
    slowest = sum(utterance["seconds"] for utterance in n["slowest"])
    assert slowest <= 1.5 * steps, (n["iteration"], slowest, steps)
END
[ -d one.trm.work ] && wrong "the folder with checkpoints is still there"
[ "$(wc -l <one.trm.journal)" = 7 ] || wrong "the journal has not one line per iteration"
"$TRELLIS" model stat one.trm >stat || wrong "the model can't be read"

# Killed again and again, each time when one more iteration is complete: --resume goes on, and the model is the same. Where the
# machine is so busy that a run ends before it is seen, it is tried again.
complete() { sed -n 's/iteration //p' killed.trm.work/checkpoint 2>/dev/null; }
killed=0
for attempt in 1 2 3 4 5; do
    rm -rf killed.trm killed.trm.work
    resume=()
    while [ ! -f killed.trm ]; do
        before=$(complete)
        "$TRELLIS" train data "$lexicon" "${few[@]}" -o killed.trm "${resume[@]}" --quiet &
        child=$! # the command itself: a function would run it in a shell, and only that would be killed
        while kill -0 $child 2>/dev/null && [ "$(complete)" = "$before" ]; do :; done
        kill -9 $child 2>/dev/null && killed=$((killed + 1))
        wait $child 2>/dev/null
        [ -f killed.trm.work/checkpoint ] && resume=(--resume)
    done
    cmp one.trm killed.trm || wrong "after $killed interruptions the model is another"
    [ $killed -lt 2 ] || break
done
[ $killed -ge 2 ] || wrong "in $attempt trainings none was killed twice"

# A checkpoint of other options is refused. Without any, the training begins.
train -o left.trm --keep --quiet
expect 3 "$TRELLIS" train data "$lexicon" -o left.trm --components 8 --iterations 2 --resume
contains "$err" "other" "another training's checkpoint"
sed 's/ AH/ AX/g' "$lexicon" >renamed.txt
cmp -s "$lexicon" renamed.txt && wrong "the lexicon has no AH to rename"
expect 3 "$TRELLIS" train data renamed.txt -o left.trm --components 4 --iterations 2 --resume
contains "$err" "another corpus, lexicon, version or options" "a lexicon with other names of phones"
expect 0 train -o left.trm
contains "$err" "left.trm.work has the checkpoint of an earlier training" "what a new training replaces"
expect 0 train -o left.trm
[[ $err == *"earlier training"* ]] && wrong "a checkpoint is replaced where there is none"
expect 0 train -o none.trm --resume
contains "$err" "none.trm.work has no checkpoint: the training begins" "no checkpoint to resume from"
cmp one.trm none.trm || wrong "a training that began with --resume gives another model"

# One process at a time works in a folder.
mkdir locked.trm.work
exec 9>locked.trm.work/lock
flock 9
expect 3 train -o locked.trm
contains "$err" "locked.trm.work: another process trains with this folder just now" "two trainings"
exec 9>&-
expect 0 train -o locked.trm --quiet
[ -d locked.trm.work ] && wrong "the lock is still there"

# Who is interrupted is told how to go on. The journal is a pipe that is read once: the second iteration waits there.
mkfifo held.trm.journal
"$TRELLIS" train data "$lexicon" "${few[@]}" -o held.trm 2>held &
child=$!
cat held.trm.journal >/dev/null
while kill -0 $child 2>/dev/null && ! grep -q "1/7" held; do :; done
kill -TERM $child
wait $child 2>/dev/null
contains "$(<held)" "kept: the last complete iteration, in held.trm.work; this goes on from there:
  trellis train data $lexicon ${few[*]} -o held.trm --resume" "an interruption"
rm held.trm.journal
expect 0 train -o held.trm --resume --quiet
cmp one.trm held.trm || wrong "the model is another after an interruption"

# Words that the lexicon lacks.
grep -v "^SEVEN " "$lexicon" >short.txt
lexicon=short.txt
said=$(grep -c SEVEN data/text)
expect 0 train -o short.trm
[ "$(grep -c SEVEN <<<"$err")" = 1 ] || wrong "not one line about the unknown word: $err"
contains "$(head -n 1 <<<"$err")" "1 word is not in the lexicon ($(grep -o SEVEN data/text | wc -l) of " "said at the start"
grep -q "\"utterances\":$(grep -c . data/text)," short.trm.journal || wrong "utterances with an unknown word are not trained with"
[ "$("$TRELLIS" model show short.trm SPN | md5sum)" != "$("$TRELLIS" model show one.trm SPN | md5sum)" ] ||
    wrong "the unit for unknown words was not trained"
expect 1 train -o skip.trm --oov skip
contains "$err" "SEVEN" "the unknown word is named"
grep -q "\"utterances\":$(($(grep -c . data/text) - said))," skip.trm.journal || wrong "--oov skip trains with them"
expect 3 train -o fail.trm --oov fail
contains "$err" "SEVEN" "the unknown word is named"
expect 0 train -o noise.trm --oov noise
echo "HELLO HH AH L OW" >foreign.txt
lexicon=foreign.txt
expect 3 train -o foreign.trm
contains "$err" "these are more than half of all words: is it the right lexicon?" "another lexicon"
[ -e foreign.trm.work ] && wrong "a training that never began left a folder"
expect 3 train -o foreign.trm --oov skip
contains "$err" "no utterance is left to train with" "another lexicon"
contains "$err" "not in the lexicon: " "another lexicon"
[ -e foreign.trm.work ] && wrong "a training that never began left a folder"
lexicon=data/lexicon.txt

# A sound that is too short for its words is left out, by name.
cp -r data broken
sox -n -r 16000 -b 16 broken/short.wav synth 0.2 sine 300
first=$(head -1 broken/text | cut -d' ' -f1)
sed -i "s|^$first .*|$first short.wav|" broken/wav.scp
sed -i "s|^$first .*|$first SEVEN SEVEN SEVEN SEVEN SEVEN|" broken/text
expect 1 "$TRELLIS" train broken "$lexicon" -o broken.trm --components 1 --iterations 1 --skip-bad
contains "$err" "$first" "the utterance is named"
contains "$err" "shorter" "the reason is given"
contains "$err" "listed in broken.trm.skipped.tsv" "the list is mentioned"
[ "$(cut -f 1 broken.trm.skipped.tsv)" = "$first" ] || wrong "the list has $(<broken.trm.skipped.tsv)"

# A remark about nothing that was left out: -q does without, and all went well.
cp -r data alone
sed -i 1d alone/utt2spk
expect 0 "$TRELLIS" train alone "$lexicon" -o alone.trm --components 1 --iterations 1
contains "$err" "$first" "who has no speaker"
expect 0 "$TRELLIS" train alone "$lexicon" -o alone.trm --components 1 --iterations 1 -q
[ -z "$err" ] || wrong "--quiet is not quiet: $err"

# An utterance whose word has more pronunciations than a graph can hold is left out too.
cp -r data many
sed -i "s|^$first .*|$first MANY|" many/text
awk '{ print; for (i = 2; i <= NF && n < 4; i++) if (!seen[$i]++) phone[n++] = $i }
     END {
         for (k = 0; k < 66000; k++) {
             line = "MANY"
             for (rest = k; rest >= 0; rest = rest > 0 ? int(rest / 4) : -1)
                 line = line " " phone[rest % 4]
             print line
         }
     }' "$lexicon" >many.txt
expect 1 "$TRELLIS" train many many.txt -o many.trm --components 1 --iterations 1
contains "$err" "$first" "the utterance is named"
contains "$err" "too many paths" "the reason is given"
expect 1 "$TRELLIS" train many many.txt -o many.trm --components 2 --iterations 3 -q
[ "$(grep -c "$first" <<<"$err")" = 1 ] || wrong "$first is not named once: $err"
expect 1 "$TRELLIS" train many many.txt -o many.trm --components 2 --iterations 3
[ "$(grep -c "could not be aligned" <<<"$err")" = 1 ] || wrong "in each iteration the same is said: $err"

# From features: the same model as from the sound. What has no frames, or no transcript, is left out by name.
train -o kept.trm --keep --quiet
expect 0 train -o packed.trm --features kept.trm.work/features.trf
cmp one.trm packed.trm || wrong "features give another model than the sound that they were made from"
"$TRELLIS" features copy kept.trm.work/features.trf ark,t:text.ark --quiet
sed "1,/]/c$first  [ ]" text.ark >gap.ark
"$TRELLIS" features copy ark,t:gap.ark gap.trf --quiet
expect 1 train -o gap.trm --features gap.trf
contains "$err" "$first: left out" "the utterance without frames is named"
cp -r data mute
sed -i "/^$first /d" mute/text
expect 1 "$TRELLIS" train mute "$lexicon" -o mute.trm --components 1 --iterations 1 --skip-bad \
    --features kept.trm.work/features.trf
contains "$err" "$first" "the utterance without a transcript is named"
grep -q "\"utterances\":$(grep -c . mute/text)," mute.trm.journal || wrong "an utterance without a transcript was trained with"

# Wrong arguments.
expect 2 "$TRELLIS" train data
expect 2 "$TRELLIS" train data "$lexicon"
expect 2 train -o x.trm --margin wide
contains "$err" "auto" "what a margin may be"
expect 2 train -o x.trm --em newton
contains "$err" "baum-welch" "what a method may be"
expect 2 train -o x.trm --iterations 0
expect 2 "$TRELLIS" train data "$lexicon" -o x.trm --components 0
contains "$err" "--components is a number from 1 up" "no Gaussians"
expect 2 train -o x.trm --total 1e300
contains "$err" "1e+300" "the number is named"
expect 2 train -o x.trm --features kept.trm.work/features.trf --set deltas=0
contains "$err" "--set" "what features do not listen to"
expect 3 "$TRELLIS" train data no-such-lexicon.txt -o x.trm
contains "$err" "no-such-lexicon.txt" "the file is named"
expect 3 train -o no/such/folder/x.trm
mkdir other
expect 3 train -o no/such/folder/x.trm --folder other
contains "$err" "no/such/folder/x.trm" "where the model can't go, said before the training"
expect 3 train -o other
contains "$err" "other: is a folder" "a folder in the place of the model"
[[ $err == *hours/hour* ]] && wrong "trained, although the model can't be written"
rmdir other || wrong "refused, but something was written"
[ -e x.trm ] && wrong "a model although the arguments were wrong"
finish
