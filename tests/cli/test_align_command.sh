#!/usr/bin/env bash
# trellis align as a user runs it: one sound and whole corpora, what happens with unknown words, bad utterances, wrong words and files, and what
# is said then. What the formats hold is the matter of differential/test_alignment_formats.py.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
align() { # align CODE WORDS …
    local code=$1
    shift
    rm -rf out_dir
    expect "$code" "$TRELLIS" align tones.trm "$@" -o out_dir
}
absent() { [ ! -e "$1" ] || [ -z "$(ls "$1")" ] || wrong "$2: there is something in $1"; }

# ---- A corpus ----
align 0 sounds lexicon.txt
[ "$(find out_dir -name '*.TextGrid' | wc -l)" = 24 ] || wrong "not 24 TextGrids: $(ls out_dir)"
[ "$(find out_dir -type f | wc -l)" = 24 ] || wrong "more than TextGrids: $(ls out_dir)"
contains "$err" "24 utterances, " "summary"
contains "$err" "of real time" "summary"
contains "$err" "look at these first" "worst utterances"
[ -z "$out" ] || wrong "standard output is not for messages: $out"
align 0 sounds lexicon.txt -q
[ -z "$err$out" ] || wrong "--quiet is not quiet: $err$out"
align 0 sounds lexicon.txt --to ctm,jsonl --no-confidence -q
[ "$(find out_dir -type f -printf '%f\n' | sort | tr '\n' ' ')" = "alignments.jsonl phones.ctm words.ctm " ] || wrong "files: $(ls out_dir)"
[ "$(awk 'NF != 5' out_dir/words.ctm | wc -l)" = 0 ] || wrong "--no-confidence: $(head -n 3 out_dir/words.ctm)"
grep -q confidence out_dir/alignments.jsonl && wrong "--no-confidence, but alignments.jsonl has some"
align 0 sounds lexicon.txt --to ctm -q
[ "$(awk 'NF != 6' out_dir/words.ctm | wc -l)" = 0 ] || wrong "no confidence: $(head -n 3 out_dir/words.ctm)"
words=$(cat sounds/*/*.lab | wc -w)
[ "$(wc -l <out_dir/words.ctm)" = "$words" ] || wrong "words.ctm has $(wc -l <out_dir/words.ctm) words instead of $words"
align 0 sounds lexicon.txt -q --utterance ben20
[ "$(ls out_dir)" = ben20.TextGrid ] || wrong "--utterance: $(ls out_dir)"

# ---- Pronunciations ----
{ cat lexicon.txt; printf 'OOSS SS OO\nNEVER AA\nNEVER EE\n'; } >variants.txt # of OOSS nobody says the second
align 0 sounds variants.txt -q --count-pronunciations counted.txt
uses=$(cat sounds/*/*.lab | tr ' ' '\n' | grep -c '^OOSS$')
[ "$uses" -gt 3 ] || wrong "OOSS occurs $uses times only"
awk -v uses="$uses" '
    $1 == "OOSS" { rest = $2 * (uses + 1) - ($3 == "OO" ? uses : 0); right += rest > 0.499 && rest < 0.501 }
    $1 == "NEVER" { right += $2 == 0.5 }
    $1 != "OOSS" && $1 != "NEVER" { others += $2 == 1 }
    END { exit right != 4 || others != 13 }' counted.txt || wrong "--count-pronunciations, $uses times OOSS: $(<counted.txt)"
align 0 sounds counted.txt -q
align 3 sounds variants.txt -q --count-pronunciations none/counted.txt
contains "$err" "none" "--count-pronunciations into no folder"

# ---- One sound ----
align 0 sounds/anna/anna01.wav lexicon.txt -q # the transcript is beside it
cp out_dir/anna01.TextGrid beside.TextGrid
align 0 sounds/anna/anna01.wav lexicon.txt -q --text "$(<sounds/anna/anna01.lab)"
cmp -s out_dir/anna01.TextGrid beside.TextGrid || wrong "--text with the same words gives other times"
tr ' ' '\n' <sounds/anna/anna01.lab >lines.txt
align 0 sounds/anna/anna01.wav lexicon.txt -q --text-file lines.txt
cmp -s out_dir/anna01.TextGrid beside.TextGrid || wrong "--text-file with the same words gives other times"
align 0 sounds/anna/anna01.wav lexicon.txt -q --to srt --cue-words 1 --text "EE"
[ "$(grep -c -e '-->' out_dir/anna01.srt)" = 1 ] || wrong "one word, not one cue: $(<out_dir/anna01.srt)"
rm -rf out_dir
expect 0 "$TRELLIS" align tones.trm - lexicon.txt -o out_dir -q --text "$(<sounds/anna/anna01.lab)" <sounds/anna/anna01.wav
[ "$(ls out_dir)" = stdin.TextGrid ] || wrong "standard input: $(ls out_dir)"
cmp -s out_dir/stdin.TextGrid beside.TextGrid || wrong "standard input gives other times"
printf '#!MLF!#\n"*/anna01.lab"\n%s\n.\n' "$(<lines.txt)" >words.mlf
align 0 sounds/anna/anna01.wav lexicon.txt -q --mlf words.mlf
cmp -s out_dir/anna01.TextGrid beside.TextGrid || wrong "--mlf with the same words gives other times"

# ---- Words that were not said ----
cp -r sounds swapped
cp sounds/anna/anna08.lab swapped/ben/ben20.lab
align 0 swapped lexicon.txt --to jsonl
contains "$err" "warning: 1 transcript hardly fits the sound" "another's transcript"
contains "$err" "swapped/ben/ben20.lab:1: ben20: " "another's transcript is named"
[[ $err != *"look at these first"* ]] || wrong "there is nothing else to look at: $err"
python3 - <<'END' || wrong "alignments.jsonl: ben20 has not the lowest fit by far"
import json
fits = {line["id"]: line["fit"] for line in map(json.loads, open("out_dir/alignments.jsonl"))}
wrong = fits.pop("ben20")
assert len(fits) == 23 and all(0.95 < fit <= 1 for fit in fits.values()) and wrong < 0.9
END
expect 0 "$TRELLIS" train swapped lexicon.txt -o swapped.trm -n 1 --set deltas=0
contains "$err" "warning: 1 transcript hardly fits the sound" "training with another's transcript"
contains "$err" "swapped/ben/ben20.lab:1: ben20: " "training with another's transcript"
[ "$(grep -c '"unfit":\[{"id":"ben20","fit":0\.' swapped.trm.journal)" = 1 ] || wrong "the journal does not name ben20 once"
expect 0 "$TRELLIS" report swapped.trm -o swapped.html -q
contains "$(grep -A 4 'Worst fit' swapped.html)" "<td class=text>ben20<td>0." "the report of training with another's transcript"
expect 0 "$TRELLIS" train swapped lexicon.txt -o again.trm -n 1 --set deltas=0 --keep -q
expect 0 "$TRELLIS" train swapped lexicon.txt -o again.trm -n 1 --set deltas=0 --resume
contains "$err" "swapped/ben/ben20.lab:1: ben20: " "--resume after the last iteration"
cmp -s again.trm swapped.trm || wrong "--resume after the last iteration gives another model"
align 0 swapped/ben/ben20.wav lexicon.txt --text "SSEE SSEE SSEE"
contains "$err" "warning: 1 transcript hardly fits" "one sound with wrong words"
align 0 swapped/ben/ben20.wav lexicon.txt --text "$(<sounds/ben/ben20.lab)"
[[ $err != *warning* ]] || wrong "a warning of right words: $err"

# ---- Sound of a lower rate than the model's ----
if command -v sox >/dev/null; then
    mkdir low && cp -r sounds/anna low
    sox sounds/anna/anna01.wav -r 8000 low/anna/anna01.wav
    sox sounds/anna/anna03.wav -r 8000 low/anna/anna03.wav
    align 0 low lexicon.txt
    contains "$err" "low/anna/anna01.wav: 2 utterances were recorded at less than the front end's 16000 Hz" "a low rate"
    [ "$(grep -c "warning: low/" <<<"$err")" = 1 ] || wrong "not one warning of the rate: $err"
    align 0 low lexicon.txt -q
    [ -z "$err" ] || wrong "--quiet is not quiet: $err"
fi

# ---- Unknown words ----
cp -r sounds unknown
echo "AASS HMM OOAA" >unknown/anna/anna02.lab
echo "Ee" >unknown/ben/ben15.lab
align 3 unknown lexicon.txt --as-is -q --oov fail --oov-list unknown.tsv
contains "$err" "2 words are not in the lexicon (2 of 83 in all, in 2 of 24 utterances)" "--oov fail"
contains "$err" ": Ee 1, HMM 1; first here: utterance ben15" "--oov fail names all of them"
contains "$err" "skip (leave" "--oov fail: the choices"
absent out_dir "--oov fail"
printf 'Ee\t1\tben15\nHMM\t1\tanna02\n' | cmp -s - unknown.tsv || wrong "--oov-list: $(<unknown.tsv)"
align 0 unknown lexicon.txt --as-is -q --to ctm
[ -z "$err" ] || wrong "--quiet is not quiet: $err"
mv out_dir noise
align 1 unknown lexicon.txt --as-is -q --oov skip --to ctm
contains "$err" "HMM" "--oov skip"
contains "$(grep ^anna02 out_dir/skipped.tsv)" "left out; not in the lexicon: HMM" "--oov skip: the list"
contains "$err" "Ee (the lexicon has EE; --fold-case takes it)" "--oov skip"
contains "$err" "unknown/ben/ben15.lab" "--oov skip"
grep -q -e anna02 -e ben15 out_dir/words.ctm && wrong "--oov skip: these were to be left out"
[ "$(cut -d ' ' -f 1 out_dir/words.ctm | uniq | wc -l)" = 22 ] || wrong "--oov skip: not 22 utterances are left"
align 0 unknown lexicon.txt --as-is --oov noise --to ctm
[ "$(grep -c -e HMM -e Ee <<<"$err")" = 1 ] || wrong "not one line about unknown words: $err"
contains "$(head -n 1 <<<"$err")" "2 words are not in the lexicon" "the first line"
contains "$err" "spoken noise" "--oov noise"
[[ $err != *"ben15: the words hardly fit"* ]] || wrong "who says an unknown word fits the sound as well as others: $err"
diff -r noise out_dir || wrong "noise is not what becomes of unknown words by default"
[ "$(grep -c ' HMM ' out_dir/words.ctm)" = 1 ] || wrong "--oov noise: HMM has no place"
[ "$(grep -c ' SPN ' out_dir/phones.ctm)" = 2 ] || wrong "--oov noise: not two pieces of noise"

printf 'HMM SS SS\n' >mine.dict # the later lexicon adds to the first; a file of that name is that file
align 0 unknown lexicon.txt,mine.dict --as-is --to ctm
contains "$err" "1 word is not in the lexicon" "two lexicons"
[[ $err != *HMM* ]] || wrong "the second lexicon is not looked at: $err"
cp mine.dict lexicon.txt,mine.dict
align 3 unknown lexicon.txt,mine.dict -q
contains "$err" "more than half" "a file with a comma in its name"
rm lexicon.txt,mine.dict

# ---- Capitals ----
cp -r sounds small
for lab in small/*/*.lab; do tr '[:upper:]' '[:lower:]' <"$lab" >lower && mv lower "$lab"; done
align 0 sounds lexicon.txt -q --to ctm
cp out_dir/phones.ctm capital.ctm
align 3 small lexicon.txt -q --as-is
contains "$err" "more than half of all words" "small letters"
contains "$err" "--fold-case takes 14" "small letters"
align 0 small lexicon.txt -q --to ctm --as-is --fold-case
cmp -s out_dir/phones.ctm capital.ctm || wrong "--fold-case gives other phones"
grep -q '[A-Z]' <(cut -d ' ' -f 5 out_dir/words.ctm) && wrong "words are not as in the transcript: $(head -n 3 out_dir/words.ctm)"
expect 0 "$TRELLIS" train small lexicon.txt -o small.trm -n 1 -q --set deltas=0 --as-is --fold-case
cmp -s small.trm tones.trm || wrong "--fold-case trains another model"
expect 1 "$TRELLIS" corpus check small --lexicon lexicon.txt --as-is
contains "$out" "--fold-case takes it" "corpus check of small letters"
expect 0 "$TRELLIS" corpus check small --lexicon lexicon.txt --as-is --fold-case

# ---- Utterances that can't be used ----
cp -r sounds broken
echo "no sound" >broken/anna/anna03.wav
for _ in {1..200}; do echo "AASS"; done >broken/ben/ben16.lab # more words than the sound has room for
align 3 broken lexicon.txt -q
contains "$err" "anna03" "no sound"
absent out_dir "a bad utterance"
align 1 broken lexicon.txt -q --skip-bad
contains "$err" "2 utterances skipped" "--skip-bad"
contains "$err" "anna03" "--skip-bad"
contains "$err" "ben16" "--skip-bad"
[ "$(find out_dir -name '*.TextGrid' | wc -l)" = 22 ] || wrong "--skip-bad: not 22 files: $(ls out_dir)"
contains "$err" "listed in out_dir/skipped.tsv" "the list is mentioned"
[ "$(cut -f 1 out_dir/skipped.tsv | tr '\n' ' ')" = "anna03 ben16 " ] || wrong "--skip-bad: the list has $(<out_dir/skipped.tsv)"
[ "$(awk -F '\t' 'NF != 2 || $2 == ""' out_dir/skipped.tsv)" = "" ] || wrong "--skip-bad: no reason: $(<out_dir/skipped.tsv)"
expect 0 "$TRELLIS" align tones.trm sounds lexicon.txt -q -o out_dir
[ ! -e out_dir/skipped.tsv ] || wrong "nothing was skipped, but the old list is still there"
rm broken/anna/anna03.wav
align 3 broken lexicon.txt -q
contains "$err" "anna03.lab" "a transcript without sound"

# ---- Wrong words and files ----
mistake() { # mistake CODE PART WORDS …
    local code=$1 part=$2
    shift 2
    rm -rf out_dir
    expect "$code" "$TRELLIS" align "$@"
    contains "$err" "$part" "align $*"
    absent out_dir "align $*"
}
mistake 2 "no arguments"
mistake 2 "usage: trellis align" tones.trm sounds -o out_dir
mistake 2 "-o" tones.trm sounds lexicon.txt
mistake 2 "too many" tones.trm sounds lexicon.txt more -o out_dir
mistake 2 "there is no format 'praat'" tones.trm sounds lexicon.txt -o out_dir --to praat
mistake 2 "--oov is one of fail, skip, noise, auto, not 'drop'" tones.trm sounds lexicon.txt -o out_dir --oov drop
mistake 2 "beam" tones.trm sounds lexicon.txt -o out_dir --beam 0
mistake 2 "acoustic_scale" tones.trm sounds lexicon.txt -o out_dir --acoustic-scale 0
mistake 2 "cue_words" tones.trm sounds lexicon.txt -o out_dir --cue-words 0
mistake 2 "--channel is a number" tones.trm sounds lexicon.txt -o out_dir --channel left
mistake 2 "--format is one of auto" tones.trm sounds lexicon.txt -o out_dir --format zip
mistake 2 "exclude each other" tones.trm sounds lexicon.txt -o out_dir --text A --text-file lines.txt
mistake 3 "single sound file" tones.trm sounds lexicon.txt -o out_dir --text "AASS"
mistake 3 "nowhere" tones.trm nowhere lexicon.txt -o out_dir
mistake 3 "nothing.trm" nothing.trm sounds lexicon.txt -o out_dir
mistake 3 "nothing.txt" tones.trm sounds nothing.txt -o out_dir
mistake 3 "nothing.txt" tones.trm sounds/anna/anna01.wav lexicon.txt -o out_dir --text-file nothing.txt
mistake 3 "not a model: a folder without" sounds sounds lexicon.txt -o out_dir
cp sounds/anna/anna01.wav alone.wav
mistake 3 "--text-file" tones.trm alone.wav lexicon.txt -o out_dir
mistake 3 "nobody" tones.trm sounds lexicon.txt -o out_dir --utterance nobody
mistake 3 "nothing.ark" tones.trm sounds lexicon.txt -o out_dir --likelihoods nothing.ark
mistake 3 "no/such" tones.trm sounds lexicon.txt -o no/such/folder
mistake 3 "lexicon.txt" lexicon.txt sounds lexicon.txt -o out_dir # no model
head -c 3000 tones.trm >cut.trm
mistake 3 "cut.trm" cut.trm sounds lexicon.txt -o out_dir
sed 's/^AASS .*/AASS S T AA/' lexicon.txt >foreign.txt
mistake 3 "the phone S, which is not in the model" tones.trm sounds foreign.txt -o out_dir # phones that the model lacks
echo old >file
mistake 3 "file" tones.trm sounds lexicon.txt -o file
[ "$(<file)" = old ] || wrong "a file was taken for the folder"

# ---- Files that are there are replaced whole ----
mkdir -p kept && echo old >kept/words.ctm && echo mine >kept/notes
expect 3 "$TRELLIS" align tones.trm unknown lexicon.txt -o kept --to ctm -q --oov fail
[ "$(<kept/words.ctm)" = old ] || wrong "a failure replaced the old file"
expect 0 "$TRELLIS" align tones.trm sounds lexicon.txt -o kept --to ctm -q
[ "$(wc -l <kept/words.ctm)" = "$words" ] || wrong "the old file stayed"
[ "$(<kept/notes)" = mine ] || wrong "another file in the folder was touched"
[ -z "$(find . -name '*.tmp')" ] || wrong "left behind: $(find . -name '*.tmp')"

finish
