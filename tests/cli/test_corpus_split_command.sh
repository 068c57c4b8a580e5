#!/usr/bin/env bash
# trellis corpus split as a user runs it: both parts are corpora, nothing is lost, findings and wrong arguments are said.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"

split() { # CODE ARGUMENTS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" corpus split "$@"
}

# ---- A folder of sound files: whole speakers, every utterance once, sound where it was ----
mkdir -p talk/anna talk/bert talk/carl
for name in anna/1 anna/2 bert/3 bert/4 bert/5 carl/6; do
    sox -n -r 16000 -b 16 "talk/$name.wav" synth 0.5 sine 300 gain -12
    echo "words of $name" >"talk/$name.lab"
done
split 0 talk train test --share 30
contains "$err" "train: " "what went where"
cat train/text test/text | LC_ALL=C sort | cut -d' ' -f2- | cmp - <(for n in anna/1 anna/2 bert/3 bert/4 bert/5 carl/6; do echo "words of $n"; done) ||
    wrong "the parts are not the whole"
[ -z "$(comm -12 <(cut -d' ' -f2 train/utt2spk | sort -u) <(cut -d' ' -f2 test/utt2spk | sort -u))" ] || wrong "a speaker is in both parts"
[ "$(wc -l <test/text)" -ge 2 ] || wrong "less than 30 % set apart"
expect 0 "$TRELLIS" corpus check train
expect 0 "$TRELLIS" corpus check test
mkdir elsewhere && cp -r test elsewhere
expect 0 "$TRELLIS" corpus check elsewhere/test
cp -r train before && split 0 talk train test --share 30
diff -r before train || wrong "the same seed chose others"

# ---- A list; its lines may go on ----
printf 'bert the second\n6 x\n' >list
split 0 talk train test --list list
[ "$(cut -d' ' -f1 test/text | tr '\n' ' ')" = "3 4 5 6 " ] || wrong "not what the list says: $(<test/text)"
echo nobody >>list
split 3 talk train test --list list
contains "$err" "list:3: nobody is no speaker and no utterance" "an unknown name"

# ---- Parts of files, and utterances that can't be used ----
printf 'path\tid\ttext\tspeaker\tstart\tend\n' >table.tsv
printf 'talk/anna/1.wav\ta%d\tone\ts%d\t0.%d\t0.4\n' 1 1 1 2 2 2 3 3 3 >>table.tsv
printf 'gone.wav\ta4\tone\ts4\t\t\n' >>table.tsv
split 3 table.tsv train test
contains "$err" "--skip-bad leaves them out" "a missing file"
split 1 table.tsv train test --skip-bad
contains "$err" "1 utterance skipped" "a missing file"
contains "$(<train/skipped.tsv)" "a4	" "the list of what was skipped"
[ ! -e test/skipped.tsv ] || wrong "two lists of what was skipped"
[ "$(cat train/segments test/segments | sort | cut -d' ' -f2-)" = "$(printf '1 0.%d 0.4\n' 1 2 3)" ] || wrong "segments: $(cat train/segments test/segments)"
[ "$(cat train/wav.scp)" = "1 $folder/talk/anna/1.wav" ] || wrong "wav.scp: $(cat train/wav.scp)"

# ---- What can't be ----
split 3 train train test
contains "$err" "choose another folder" "the corpus as its own part"
split 2 talk train test --by nobody
split 2 talk train test --share 0
split 2 talk train test --share 100
split 2 talk train test --seed -1
split 2 talk train
split 3 nowhere train test
split 3 talk/anna/1.wav train test
contains "$err" "not two utterances" "one utterance"
finish
