#!/usr/bin/env bash
# trellis score as a user runs it: what it prints, wrong arguments, broken files.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

printf 'the cat sat (anna-1)\non the mat (anna-2)\nhello (bob-1)\n' >ref.trn
printf 'the hat sat (anna-1)\non mat (anna-2)\nhello hello (bob-1)\n' >hyp.trn
printf 'the cat sat (anna-1)\non the mat (anna-2)\nhullo (bob-1)\n' >hyp2.trn

# Counts, alignments, confusions.
expect 0 "$TRELLIS" score ref.trn hyp.trn --alignments --confusions 0
contains "$out" $'REF:  the cat sat\nHYP:  the hat sat\nEval:     S  ' "the alignment"
contains "$out" $'REF:  on the mat\nHYP:  on *** mat\nEval:    D' "a deletion"
contains "$out" "cat -> hat" "a confusion"
contains "$out" "the -> (deleted)" "a deletion among the confusions"
contains "$out" "(inserted) -> hello" "an insertion among the confusions"
contains "$out" "WER 42.86 % (sclite)" "the summary"
contains "$out" "3 errors in 7 words: 1 substitutions, 1 deletions, 1 insertions; SER 100.00 % (3 of 3)" "the counts"
[[ $out =~ anna\ +2\ +6\ +4\ +1\ +1\ +0\ +33.33\ +100.00 ]] || wrong "the row of anna: $out"
expect 0 "$TRELLIS" score ref.trn hyp.trn --confusions 1
contains "$out" "3 confusions, the most frequent:" "a short list"
expect 0 "$TRELLIS" score ref.trn hyp.trn --draw none
[[ $out != *between* ]] || wrong "an interval that nobody wanted"

# Two systems, the same bytes for any number of threads, JSON.
expect 0 "$TRELLIS" score ref.trn hyp.trn hyp2.trn --threads 1
contains "$out" "hyp.trn less hyp2.trn: +28.57 points" "the difference"
contains "$out" "MAPSSWE): 3 segments" "the segments"
first=$out
expect 0 "$TRELLIS" score ref.trn hyp.trn hyp2.trn --threads 3
[ "$out" = "$first" ] || wrong "threads change the result"
expect 0 "$TRELLIS" score ref.trn hyp.trn hyp2.trn --json - --threads 3
printf '%s' "$out" | python3 -c '
import json, sys
r = json.load(sys.stdin)
a, b = r["systems"]
assert (a["substitutions"], a["deletions"], a["insertions"], b["substitutions"]) == (1, 1, 1, 1), r
assert abs(a["wer"] - 3 / 7) < 1e-12 and a["interval"][0] <= a["wer"] <= a["interval"][1]
assert a["utterance_scores"][1]["alignment"] == [["on", "on", "C"], ["the", None, "D"], ["mat", "mat", "C"]]
assert [s["speaker"] for s in a["speakers"]] == ["anna", "bob"]
assert r["comparison"]["mapsswe"]["pairs"] == 3 and r["bootstrap"]["units"] == "utterances"
' || wrong "the JSON"
expect 0 "$TRELLIS" score ref.trn hyp.trn --json score.json --quiet
contains "$out" "WER" "the text beside the JSON file"
[ -s score.json ] || wrong "no JSON file"

# Missing and extra utterances.
sed 1d hyp.trn >less.trn
echo 'new (eve-1)' >>less.trn
expect 1 "$TRELLIS" score ref.trn less.trn
contains "$err" "1 utterances have no hypothesis, all their words count as deletions: anna-1" "the missing one"
contains "$err" "1 hypotheses are not in the reference and are not counted: eve-1" "the extra one"
contains "$out" "5 errors in 7 words: 0 substitutions, 4 deletions, 1 insertions" "deletions of the missing one"

# Other formats: Kaldi's text with speakers, N-best lists, times, standard input.
printf 'u1 A b\nu2 c\n' >text
printf 'u1 s\nu2 s\n' >utt2spk
printf 'u1-1 x y\nu1-2 A x\nu2-1 c\n' >nbest
expect 0 "$TRELLIS" score --scorer edit text nbest --nbest --utt2spk utt2spk
contains "$out" "oracle WER 33.33 % (edit)" "the oracle"
expect 0 "$TRELLIS" score text - < <(printf 'u1 a b\nu2 c\n')
contains "$out" "WER 0.00 %" "letters with sclite"
expect 0 "$TRELLIS" score --letters keep text - < <(printf 'u1 a b\nu2 c\n')
contains "$out" "WER 33.33 %" "letters as they are"
printf 'f A s 0 1 a b\n' >ref.stm
printf 'f A 0.1 0.1 a\nf A 0.3 0.1 b\n' >hyp.ctm
expect 0 "$TRELLIS" score ref.stm hyp.ctm
contains "$out" "0 errors in 2 words" "times"
printf '{"id":"u1","words":[{"word":"A"},{"word":"b"}]}\n{"id":"u2","text":"c"}\n' >hyp.jsonl
expect 0 "$TRELLIS" score text hyp.jsonl
contains "$out" "0 errors in 3 words" "JSON lines"
expect 0 "$TRELLIS" score /dev/null /dev/null
contains "$out" "0 errors in 0 words" "nothing at all"

# What is wrong is said.
expect 2 "$TRELLIS" score ref.trn
expect 2 "$TRELLIS" score ref.trn hyp.trn hyp.trn hyp.trn
expect 2 "$TRELLIS" score ref.trn hyp.trn --scorer wer
contains "$err" "sclite, edit" "the scorers"
expect 2 "$TRELLIS" score ref.trn hyp.trn --format mlf
expect 2 "$TRELLIS" score ref.trn hyp.trn --letters big
expect 2 "$TRELLIS" score ref.trn hyp.trn --draw words
expect 2 "$TRELLIS" score ref.trn hyp.trn --replicates 0
expect 2 "$TRELLIS" score ref.trn hyp.trn --seed -1
expect 3 "$TRELLIS" score ref.trn nowhere.trn
expect 3 "$TRELLIS" score ref.trn ref.stm
contains "$err" "the hypothesis to one is a ctm file" "an stm file as hypothesis"
expect 3 "$TRELLIS" score ref.stm hyp.trn
contains "$err" "must be a ctm file, not trn" "ids where times are needed"
printf 'a { b (s-1)\n' >broken.trn
expect 3 "$TRELLIS" score broken.trn hyp.trn
contains "$err" "broken.trn:1: '{' without '}'" "a brace"
printf 'f A 0 one a\n' >broken.ctm
expect 3 "$TRELLIS" score ref.stm broken.ctm
contains "$err" "broken.ctm:1: " "a number"
cat hyp.trn hyp.trn >twice.trn
expect 3 "$TRELLIS" score ref.trn twice.trn
contains "$err" "several hypotheses" "a hypothesis twice"
expect 3 "$TRELLIS" score text nbest --utt2spk hyp.ctm
# A letter with an accent is one, however it is typed; without the accent it is another.
printf 'u1 caf\303\251 \340\246\241\340\246\274 e\n' >composed
printf 'u1 cafe\314\201 \340\247\234 \303\251\n' >typed
for scorer in sclite edit; do
    expect 0 "$TRELLIS" score composed typed --scorer $scorer
    contains "$out" "WER 33.33 %" "letters that are typed in another way, $scorer"
done
finish
