#!/usr/bin/env bash
# What can go wrong around trellis bam, and must be noticed before anything is lost: folders of something else, two corpora or two processes in one working folder, inputs
# twice, options that can't be.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
estimation=(--min-frames 40 --max-frames 300)
train=("$TRELLIS" bam train tones.trm)

# Runs a command and kills it once it has mapped everything.
kill_when_mapped() { # WORK COMMAND …
    local work=$1 process
    shift
    "$@" -q >/dev/null 2>&1 &
    process=$!
    while kill -0 "$process" 2>/dev/null && ! compgen -G "$work/mapped-*" >/dev/null; do :; done
    kill -9 "$process" 2>/dev/null
    wait "$process" 2>/dev/null
    compgen -G "$work/mapped-*" >/dev/null || wrong "it could not be killed in time"
}

# ---- Folders ----
expect 0 bash -c '"$TRELLIS" bam map tones.trm sounds lexicon.txt -q | "$TRELLIS" bam sort | "$TRELLIS" bam reduce -q --min-frames 40 --max-frames 300 -o reduced.bam'
mkdir parts
cp reduced.bam parts/part-00000.bam
expect 3 "$TRELLIS" bam store parts/part-00000.bam -o parts "${estimation[@]}"
contains "$err" "parts: this folder has other files, part-00000.bam for instance" "a store among its inputs"
expect 3 "${train[@]}" sounds lexicon.txt -o parts "${estimation[@]}"
contains "$err" "this folder has other files" "a trained store among other files"
cmp -s reduced.bam parts/part-00000.bam || wrong "the input in the output folder is gone"
[ ! -e parts.work ] || wrong "mapped before the folder was looked at"
expect 3 "${train[@]}" sounds lexicon.txt -o lexicon.txt "${estimation[@]}"
contains "$err" "lexicon.txt: this can't be the folder of a store: Not a directory" "a file in the store's place"
[ ! -e lexicon.txt.work ] || wrong "mapped before the file was noticed"
# In a store, what is not of our making stays; partitions of the model before go.
expect 0 "$TRELLIS" bam store reduced.bam -o store "${estimation[@]}" -q --partitions 2
cp reduced.bam store/part-00000.bam
expect 0 "$TRELLIS" bam store reduced.bam -o store "${estimation[@]}" -q
[ "$(cd store && echo *)" = "$(cd store && echo part-0000-*.trl) part-00000.bam store.trl" ] || wrong "in the store: $(ls store)"

# ---- Streams ----
expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o whole.bam -q
for part in 1 2 3; do
    expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt --parts 3 --part "$part" -o "mapped$part.bam" -q
done
expect 0 bash -c 'cat mapped[123].bam | "$TRELLIS" bam sort -o together.bam && "$TRELLIS" bam sort whole.bam -o sorted.bam'
cmp together.bam sorted.bam || wrong "streams one behind the other are not those of the whole"
(cat sorted.bam && echo "what is this") >more.bam
for command in "sort" "reduce" "show"; do
    expect 3 "$TRELLIS" bam $command more.bam
    contains "$err" "more.bam: at byte $(stat -c %s sorted.bam): behind the stream's end there is something else" "bytes behind the end, $command"
done
expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o other.bam -q --order 2
expect 3 bash -c 'cat whole.bam other.bam | "$TRELLIS" bam sort -o none.bam'
contains "$err" "standard input: at byte $(stat -c %s whole.bam): the stream that begins here does not belong to the one before it" "streams of two orders"
expect 3 bash -c 'cat sorted.bam sorted.bam | "$TRELLIS" bam reduce -o none.bam'
contains "$err" "the records are not sorted" "sorted streams one behind the other"

# ---- Parts of a store ----
cp reduced.bam again.bam
for twice in reduced.bam again.bam; do
    expect 3 "$TRELLIS" bam store reduced.bam "$twice" -o none "${estimation[@]}"
    contains "$err" "the same record is in another part; is one given twice?" "a part twice"
done
[[ $err == *"again.bam: "*"_"*" / "*" ___ "* || $err == *"reduced.bam: "*"_"*" / "*" ___ "* ]] || wrong "file and M-phone are not named: $err"
expect 0 bash -c '"$TRELLIS" bam sort mapped1.bam | "$TRELLIS" bam reduce -q --min-frames 40 --max-frames 300 -o reduced1.bam'
expect 3 "$TRELLIS" bam store reduced.bam reduced1.bam -o none "${estimation[@]}"
contains "$err" "it is in another part too, where it is complete; parts must not overlap" "parts that overlap"
expect 3 bash -c 'cat reduced.bam reduced1.bam >joined.bam; "$TRELLIS" bam store joined.bam -o none --min-frames 40 --max-frames 300'
contains "$err" "joined.bam: " "the file of outputs one behind the other"
contains "$err" "comes after keys that it belongs before" "outputs of reducers one behind the other"
expect 3 "$TRELLIS" bam store sorted.bam -o none "${estimation[@]}"
contains "$err" "sorted.bam: there are records that have not been reduced" "a store of sorted records"
expect 3 "$TRELLIS" bam store reduced.bam -o none
contains "$err" "reduced.bam: it was reduced with min-frames 40, max-frames 300, alpha 0.3, beta 2.2, variance-floor 1e-05, iterations 4; give the same" "other options than the reducer's"
[ ! -e none/store.trl ] || wrong "a store in spite of all that"

# ---- Options ----
for partitions in 0 1001; do
    expect 2 "${train[@]}" sounds lexicon.txt -o none "${estimation[@]}" --partitions "$partitions"
    contains "$err" "--partitions is 1 to 1000, not $partitions" "partitions of train"
    expect 2 "$TRELLIS" bam store reduced.bam -o none "${estimation[@]}" --partitions "$partitions"
    contains "$err" "--partitions is 1 to 1000, not $partitions" "partitions of store"
done
expect 2 "${train[@]}" sounds lexicon.txt -o none "${estimation[@]}" --shards 100001
contains "$err" "--shards is 1 to 100000, not 100001" "shards"

expect 2 "$TRELLIS" bam map tones.trm sounds lexicon.txt --parts 3 -o none.bam
contains "$err" "which of the 3 parts? --part is missing" "a part that is not said"
expect 2 "$TRELLIS" bam map tones.trm sounds lexicon.txt --parts 3 --part 4 -o none.bam
expect 2 "$TRELLIS" bam map tones.trm sounds lexicon.txt --seed -1 -o none.bam
contains "$err" "--seed is a number from 0 up, not -1" "a seed below 0"
expect 2 "$TRELLIS" bam reduce sorted.bam --min-frames 0 -o none.bam
contains "$err" "min-frames is 0 and max-frames 256000" "the options' own names"
expect 2 "$TRELLIS" bam reduce sorted.bam --variance-floor 0 -o none.bam
contains "$err" "variance-floor is 0" "the option's own name"
[ ! -e none.bam ] || wrong "something was written"

# ---- Words that the lexicon lacks ----
cp -r sounds strange
echo "AAOO QQQ" >strange/anna/anna03.lab
expect 0 "${train[@]}" strange lexicon.txt -o noise.store "${estimation[@]}"
contains "$(head -n 1 <<<"$err")" "1 word is not in the lexicon (1 of " "an unknown word is said at the start"
expect 1 "${train[@]}" strange lexicon.txt -o strange.store "${estimation[@]}" --oov skip -q
[ "$err" = "1 utterance skipped; 1 entry can't be used, listed in strange.store/skipped.tsv:
strange/anna/anna03.lab:1: anna03: left out; not in the lexicon: QQQ" ] || wrong "an utterance that was skipped: $err"

# ---- Progress ----
expect 0 "${train[@]}" sounds lexicon.txt -o progress "${estimation[@]}"
contains "$err" "reducing 100%  0.3/0.3 MB" "all is reduced"

# ---- Two processes ----
mkdir locked.work
flock -o locked.work/lock sleep 20 >/dev/null 2>&1 &
holder=$!
while flock -n locked.work/lock true; do :; done
expect 3 "${train[@]}" sounds lexicon.txt -o locked "${estimation[@]}"
contains "$err" "locked.work: another process trains this store" "two processes with one store"
kill "$holder"
wait "$holder" 2>/dev/null
expect 0 "${train[@]}" sounds lexicon.txt -o locked "${estimation[@]}" -q
diff -r --exclude='part-00000.bam' store locked || wrong "another store once the lock was free"
[ ! -e locked.work ] || wrong "the working folder stays"

# ---- Another corpus than that of the command that was killed ----
slow=("${estimation[@]}" --iterations 200 --threads 1) # so that it is killed before it is done
table() { # START: a manifest of the sounds from there on
    printf 'path\tid\tspeaker\tstart\ttext\n'
    for sound in sounds/*/*.wav; do
        printf '%s\t%s\tall\t%s\t%s\n' "$sound" "$(basename "$sound" .wav)" "$1" "$(<"${sound%.wav}.lab")"
    done
}
table 0 >killed.tsv
kill_when_mapped mixed.work "${train[@]}" killed.tsv lexicon.txt -o mixed "${slow[@]}"
table 0.05 >killed.tsv
expect 0 "${train[@]}" killed.tsv lexicon.txt -o mixed "${slow[@]}" -q
expect 0 "${train[@]}" killed.tsv lexicon.txt -o unmixed "${slow[@]}" -q
diff -r mixed unmixed || wrong "frames of utterances that began elsewhere got into the store"
rm -r mixed
kill_when_mapped mixed.work "${train[@]}" killed.tsv lexicon.txt -o mixed "${slow[@]}"
python3 - sounds/anna/anna03.wav <<'PYTHON'
import array, sys, wave
with wave.open(sys.argv[1]) as file:
    setup, samples = file.getparams(), array.array("h", file.readframes(file.getnframes()))
with wave.open(sys.argv[1], "wb") as file:
    file.setparams(setup)
    file.writeframes(array.array("h", (s // 2 for s in samples)).tobytes())
PYTHON
expect 0 "${train[@]}" killed.tsv lexicon.txt -o mixed "${slow[@]}" -q
expect 0 "${train[@]}" killed.tsv lexicon.txt -o unmixed "${slow[@]}" -q
diff -r mixed unmixed || wrong "frames of a sound that was replaced got into the store"

# ---- What was skipped is named again ----
echo "this is no sound" >sounds/anna/anna05.wav
yes "SSOOSS" | head -n 400 | tr '\n' ' ' >sounds/ben/ben14.lab
bad=("${train[@]}" sounds lexicon.txt "${slow[@]}" --skip-bad)
expect 1 "${bad[@]}" -o whole -q
said=$err
contains "$said" "2 utterances skipped; 2 entries can't be used" "skipped utterances"
kill_when_mapped resumed.work "${bad[@]}" -o resumed
expect 1 "${bad[@]}" -o resumed -q
[ "${err//resumed/whole}" = "$said" ] || wrong "after a kill other utterances are skipped:"$'\n'"$err"$'\n'"instead of"$'\n'"$said"
# The same where it is killed while it maps: the first run has been written.
"${bad[@]}" -o early --memory 1 -q >/dev/null 2>&1 &
process=$!
while kill -0 "$process" 2>/dev/null && ! [ -e early.work/run-000000 ]; do :; done
kill -9 "$process" 2>/dev/null
wait "$process" 2>/dev/null
expect 1 "${bad[@]}" -o early --memory 1 -q
[ "${err//early/whole}" = "$said" ] || wrong "after a kill while mapping other utterances are skipped:"$'\n'"$err"
diff -r whole early || wrong "another store"
finish
