#!/usr/bin/env bash
# trellis bam rescore, tune, eval, sizes as a user runs them: N-best lists of decode in both forms, any number of threads, adapted models, plots; what is wrong is said.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o tones.trg -q
decoding=(tones.trm tones.trg sounds --nbest 8 --lattice-beam 40 --beam 60 -q)
expect 0 "$TRELLIS" decode "${decoding[@]}" --to nbest -o nbest.txt
expect 0 "$TRELLIS" decode "${decoding[@]}" --to nbest-jsonl -o nbest.jsonl
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o store --min-frames 20 -q
for file in sounds/*/*.lab; do echo "$(basename "$file" .lab) $(<"$file")"; done | sort >ref.txt
task=(tones.trm sounds lexicon.txt)

# ---- Words and lists ----
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store --to lists -o scored
contains "$err" "ms per utterance (aligning " "rescoring time"
contains "$err" "24 utterances, " "utterances"
contains "$err" "M-phones asked for" "look-ups"
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store --to lists -o one -q --threads 1
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store --to lists -o three -q --threads 3
cmp scored one || wrong "other lists with one thread"
cmp scored three || wrong "other lists with three threads"
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store -o words.txt -q
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.txt store -q
diff words.txt - <<<"$out" || wrong "other words from lists as text"
# All weight on the first pass: its best hypotheses. Rescored lists can be rescored again.
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.txt store -q --lambda 1
diff <(awk -F'\t' '$2 == 1 { print $1 ($5 == "" ? "" : " " $5) }' nbest.txt) - <<<"$out" || wrong "the first pass is not the first pass"
expect 0 "$TRELLIS" bam rescore "${task[@]}" scored store --to lists -o again -q
cmp scored again || wrong "rescored lists are others when they are rescored again"
# Costs that are not known: the new alignment takes the acoustic ones' place.
awk -F'\t' -v OFS='\t' '{ $4 = "-" } 1' nbest.txt >bare.txt
expect 0 "$TRELLIS" bam rescore "${task[@]}" bare.txt --self --to lists -o bare -q
python3 - bare <<'END' || wrong "lists without acoustic costs"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines[0]["bam"]["rescored"] == 2
assert all(h["acoustic_cost"] == h["aligned_cost"] == h["bam_cost"] for u in lines[1:] for h in u["nbest"])
END

# ---- Words that the lexicon lacks ----
# shellcheck disable=SC2016
sed -e '/"anna03"/ s/\["[A-Z]*"/["QQQ"/' nbest.jsonl >strange.jsonl
cmp -s nbest.jsonl strange.jsonl && wrong "the lists are still the same"
expect 3 "$TRELLIS" bam rescore "${task[@]}" strange.jsonl store -q --oov fail
contains "$err" "1 word is not in the lexicon (" "an unknown word"
contains "$err" ": QQQ " "an unknown word"
contains "$err" "first here: utterance anna03" "an unknown word"
expect 0 "$TRELLIS" bam rescore "${task[@]}" strange.jsonl store --oov-list missing.tsv
contains "$(head -n 1 <<<"$err")" "1 word is not in the lexicon (" "an unknown word"
contains "$(cut -f 1,3 missing.tsv)" "QQQ	anna03" "the list of unknown words"
contains "$out" "anna03 " "its utterance is rescored"
expect 1 "$TRELLIS" bam rescore "${task[@]}" strange.jsonl store -q --oov skip
contains "$err" "anna03: left out; a hypothesis has 'QQQ', which is not in the lexicon" "who is left out"
diff <(grep -v "^anna03 " words.txt) - <<<"$out" || wrong "the others are not as they were"

# ---- Weights and errors ----
expect 0 "$TRELLIS" bam tune ref.txt scored
contains "$err" "best: scored with --lambda " "the best weights"
best=$(grep -oE 'lambda .*' <<<"$err")
expect 0 "$TRELLIS" bam tune ref.txt scored --all --threads 3
[ "$(wc -l <<<"$out")" = 145 ] || wrong "not 144 points: $out"
least=$(awk -F'\t' 'NR > 1 && (least == "" || $6 < least) { least = $6 } END { print least }' <<<"$out")
# shellcheck disable=SC2086
expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store -q -o tuned.txt --$best
expect 0 "$TRELLIS" score ref.txt tuned.txt
contains "$out" "$(printf %.2f "$least")" "the rate of the chosen words"
expect 0 "$TRELLIS" bam eval ref.txt scored --hits
contains "$out" "first pass, λ = 1" "first pass"
contains "$out" "BAM Nmin = 20, α = 0.3, β = 2.2, M = 3, λ = 0.6, wLM = 10, fbo = 0" "the row"
contains "$out" "Table IV" "hit ratios"
sum=$(awk '/^[0-3] .*%/ { for (i = 2; i <= NF; i++) sum += $i } END { print (sum > 99 && sum < 101) }' <<<"$out")
[ "$sum" = 1 ] || wrong "hit ratios are not 100% together: $out"
expect 0 "$TRELLIS" bam sizes
contains "$out" "0.05   0.05   1537" "Table VIII"

# ---- Plots of a series ----
if command -v gnuplot >/dev/null; then
    for series in 1:200:0.2 2:200:0.2 2:20:2; do
        IFS=: read -r order least hours <<<"$series"
        expect 0 "$TRELLIS" bam train "${task[@]}" -o series.store --order "$order" --min-frames "$least" -q
        expect 0 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl series.store --hours "$hours" --to lists -o "series$order-$least" -q
    done
    expect 0 "$TRELLIS" bam eval ref.txt series?-* --plot-data data.svg --plot-size size.svg
    for plot in data size; do
        contains "$(<$plot.svg)" "M = 2, α = 0.3" "the line of order 2 in $plot.svg"
        contains "$(<$plot.svg)" "</svg>" "end of $plot.svg"
    done
    contains "$(<data.svg)" "hours" "axis of data"
    expect 3 "$TRELLIS" bam eval ref.txt scored --plot-data none.svg
    contains "$err" "hours of training data are not known" "hours"
    [ ! -e none.svg ] || wrong "a plot of nothing"
fi

# ---- A model that wants adapted frames ----
expect 0 "$TRELLIS" train sounds lexicon.txt -o sat.trm --stages mono,sat --set deltas=0 -q --iterations 2 --components 2 --leaves 12
expect 0 "$TRELLIS" graph sat.trm lexicon.txt --loop -o sat.trg -q
expect 0 "$TRELLIS" decode sat.trm sat.trg sounds --to nbest-jsonl --nbest 4 --lattice-beam 40 -o sat.jsonl
contains "$err" "adapted to 2 speakers" "decode adapts"
expect 0 "$TRELLIS" bam rescore sat.trm sounds lexicon.txt sat.jsonl --self --to lists -o sat.scored
contains "$err" "adapted to 2 speakers" "rescoring adapts"
# On frames that are adapted alike, the same model says nearly the same again; on others it does not.
difference() {
    python3 -c '
import json, sys
pairs = [(h["acoustic_cost"], h["aligned_cost"]) for u in map(json.loads, open(sys.argv[1])) for h in u.get("nbest", [])]
print(sum(abs(a - b) for a, b in pairs) / sum(abs(a) for a, b in pairs))' "$1"
}
adapted=$(difference sat.scored)
expect 0 "$TRELLIS" bam rescore sat.trm sounds lexicon.txt sat.jsonl --self --to lists -o plain.scored --no-adapt -q
plain=$(difference plain.scored)
awk "BEGIN { exit !($adapted < 0.01 && $plain > 3 * $adapted) }" || wrong "first pass and the same again: $adapted apart when adapted, $plain without"

# ---- What is wrong ----
expect 2 "$TRELLIS" bam rescore "${task[@]}" nbest.txt
contains "$err" "which STORE?" "no store"
expect 2 "$TRELLIS" bam rescore "${task[@]}" nbest.txt store --self
expect 2 "$TRELLIS" bam rescore "${task[@]}" nbest.txt store --lambda 2
contains "$err" "lambda is 2" "a share above one"
expect 2 "$TRELLIS" bam tune ref.txt scored --lambda 0,x
expect 2 "$TRELLIS" bam eval ref.txt scored --lm-weight 0
expect 0 "$TRELLIS" train sounds lexicon.txt -o another.trm -n 2 -q --set deltas=0
expect 3 "$TRELLIS" bam rescore another.trm sounds lexicon.txt nbest.txt store -o x
contains "$err" "another first-pass model" "a store of another model"
head -c 300 nbest.txt >cut.txt
expect 3 "$TRELLIS" bam rescore "${task[@]}" cut.txt store -o x
contains "$err" "cut.txt:" "lists that are cut"
head -c 900 nbest.jsonl >cut.jsonl
expect 3 "$TRELLIS" bam rescore "${task[@]}" cut.jsonl store -o x
contains "$err" "not JSON, or cut" "lists that are cut"
grep -v "^$(head -n 1 nbest.txt | cut -f 1)	" nbest.txt >fewer.txt
expect 3 "$TRELLIS" bam rescore "${task[@]}" fewer.txt store -o x
contains "$err" "no list of hypotheses" "an utterance without a list"
expect 1 "$TRELLIS" bam rescore "${task[@]}" fewer.txt store -o fewer.words --skip-bad
[ "$(wc -l <fewer.words)" = 23 ] || wrong "not 23 utterances without the one"
{ cat nbest.txt && printf 'elsewhere\t1\t1\t1\tEE\n'; } >more.txt
expect 0 "$TRELLIS" bam rescore "${task[@]}" more.txt store -o more.words
contains "$err" "1 lists are of utterances that the corpus does not have" "a list too many"
cmp words.txt more.words || wrong "other words with a list too many"
sed '3s/[^\t]*$/QQ/' nbest.txt >strange.txt
expect 3 "$TRELLIS" bam rescore "${task[@]}" strange.txt store -o x --oov fail
contains "$err" "strange.txt:1: 1 word is not in the lexicon" "a word that is none"
expect 3 "$TRELLIS" bam tune ref.txt nbest.jsonl
contains "$err" "have not been rescored" "lists without scores"
head -n 3 ref.txt >short.txt
expect 3 "$TRELLIS" bam eval short.txt scored
contains "$err" "no transcript in the reference" "a reference that is too short"
expect 3 "$TRELLIS" bam rescore "${task[@]}" nowhere store -o x
expect 3 "$TRELLIS" bam rescore "${task[@]}" nbest.txt nowhere -o x
[ ! -e x ] || wrong "a failed command left its output"
for weights in "--lambda 2" "--lambda nan" "--lambda 0.5,-1" "--back-off -1" "--lm-weight 0" "--lm-weight inf"; do
    # shellcheck disable=SC2086
    expect 2 "$TRELLIS" bam tune ref.txt scored $weights
    [ -z "$out" ] || wrong "output before $weights was looked at: $out"
done
contains "$err" "lm-weight is inf; it must be more than 0" "the option's own name"
expect 2 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl store --hours -3
contains "$err" "--hours is 0 or more, not -3" "hours below 0"
expect 3 "$TRELLIS" bam rescore "${task[@]}" nbest.jsonl nowhere
[[ $err != *rescoring* ]] || wrong "progress of nothing: $err"
echo "anna00 AAOO" >short.txt
expect 3 "$TRELLIS" bam eval short.txt scored
[ "$(grep -o scored <<<"$err" | wc -l)" = 1 ] || wrong "the file is not named once: $err"
finish
