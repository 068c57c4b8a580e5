#!/usr/bin/env bash
# trellis lm and lm perplexity, as a user runs them.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
equal() { [ "$1" = "$2" ] || wrong "$3: '$1' instead of '$2'"; }

printf 'turn left\nturn right\n\nturn left now\ngo home\n' >text
gzip -k text
expect 0 "$TRELLIS" lm text --smoothing witten-bell -o words.arpa
contains "$err" "4 sentences, 9 words, 0 unknown; n-grams by order: 9, 10, 8" "what was trained"
expect 0 "$TRELLIS" lm -q text.gz --smoothing witten-bell
equal "$out" "$(<words.arpa)" "a packed text"
equal "$err" "" "quiet"
expect 0 "$TRELLIS" lm -q - --smoothing witten-bell -o packed.arpa.gz <text
cmp -s <(gunzip -c packed.arpa.gz) words.arpa || wrong "the packed model is another"

# The default, and that it says what it could not estimate.
expect 0 "$TRELLIS" lm text -o kn.arpa
contains "$err" "discounts" "Kneser-Ney of a small text"
cmp -s kn.arpa words.arpa && wrong "Kneser-Ney is Witten-Bell"
expect 0 "$TRELLIS" lm -q text --smoothing kneser-ney
equal "$out" "$(<kn.arpa)" "the default smoothing"

# The other commands read it.
expect 0 "$TRELLIS" fst arpa words.arpa -o words.fst
expect 0 "$TRELLIS" fst info words.fst
contains "$out" "# of states" "the machine"

# Options.
expect 0 "$TRELLIS" lm text --order 1 --closed -o one.arpa
grep -q '<unk>' one.arpa && wrong "a closed model with <unk>"
grep -q '2-grams' one.arpa && wrong "2-grams of order 1"
expect 0 "$TRELLIS" lm -q text --cutoff 2 -o cut.arpa
equal "$(grep -c '^ngram 2=2$' cut.arpa)" 1 "2-grams that were there twice: <s> turn, turn left"
expect 0 "$TRELLIS" lm -q text --cutoff 1,2 -o cut.arpa
equal "$(grep '^ngram' cut.arpa | tr '\n' ' ')" "ngram 1=9 ngram 2=10 ngram 3=1 " "the numbers of --cutoff 1,2"
expect 0 "$TRELLIS" lm -q text --prune 10 -o pruned.arpa
equal "$(grep -c '^ngram [23]=0$' pruned.arpa)" 2 "everything pruned"
printf 'turn 1\nleft 2\nleft(2) 3\n' >vocabulary
expect 0 "$TRELLIS" lm text --vocabulary vocabulary -o small.arpa
contains "$err" "9 words, 4 unknown; n-grams by order: 5" "a vocabulary"

# Perplexity: by hand, 10^(sum / events). Every event of the unigram model below is 1/4 or 1/2.
printf '\\data\\\nngram 1=4\n\n\\1-grams:\n-0.60206\t</s>\n-99\t<s>\n-0.60206\tb\n-0.30103\ta\n\n\\end\\\n' >uni.arpa
printf 'a b x\n' >held-out
expect 0 "$TRELLIS" lm perplexity uni.arpa held-out
contains "$out" "log10 probability   -1.5051" "perplexity"
contains "$out" "perplexity          3.175" "perplexity"
contains "$out" "unknown words       1" "perplexity"
expect 0 "$TRELLIS" lm perplexity --json uni.arpa held-out
equal "$(python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["events"], d["words"], round(d["perplexity"], 3))' <<<"$out")" \
    "3 3 3.175" "perplexity as JSON"

# The text of a Kaldi-style data folder: the ids are no words, however the folder says which ids there are.
expect 0 "$TRELLIS" lm -q text --smoothing witten-bell -o plain.arpa
for list in utt2spk segments wav.scp; do
    rm -rf data
    mkdir data
    awk 'NF { printf "utt-%02d %s\n", NR, $0 }' text >data/text
    awk '{ print $1, "speaker", 0, 1 }' data/text >"data/$list"
    expect 0 "$TRELLIS" lm data/text --smoothing witten-bell -o data/lm.arpa
    cmp -s data/lm.arpa plain.arpa || wrong "$list: ids are words"
    contains "$err" "data/text: the text of a Kaldi-style data folder" "$list: that ids are left out"
done
gzip -k data/text
expect 0 "$TRELLIS" lm -q data/text.gz --smoothing witten-bell
equal "$out" "$(<plain.arpa)" "a packed text of Kaldi's"
equal "$err" "" "Kaldi's text, quietly"
expect 0 "$TRELLIS" lm perplexity plain.arpa text
plain=$out
expect 0 "$TRELLIS" lm perplexity plain.arpa data/text
equal "$out" "$plain" "the perplexity of Kaldi's text"
expect 0 "$TRELLIS" lm -q - --text kaldi --smoothing witten-bell <data/text
equal "$out" "$(<plain.arpa)" "Kaldi's text from a pipe"
expect 0 "$TRELLIS" lm data/text --text plain -o data/lm.arpa
contains "$err" "4 sentences, 13 words" "ids that are to be words"
cp text data/sentences
expect 0 "$TRELLIS" lm -q data/sentences --smoothing witten-bell
equal "$out" "$(<plain.arpa)" "another text in the folder"
expect 2 "$TRELLIS" lm text --text magic

# What is wrong is said.
expect 2 "$TRELLIS" lm
expect 2 "$TRELLIS" lm text --smoothing magic
contains "$err" "kneser-ney, witten-bell" "an unknown smoothing"
for list in x "1," 1,,2 -1 1.5; do
    expect 2 "$TRELLIS" lm text "--cutoff=$list"
done
expect 3 "$TRELLIS" lm text --cutoff 3,2
contains "$err" "cut-off of 3-grams" "cut-offs that fall"
expect 3 "$TRELLIS" lm text --order 99
expect 3 "$TRELLIS" lm missing
contains "$err" "missing" "a missing text"
expect 3 "$TRELLIS" lm perplexity text text
contains "$err" "no ARPA file" "a text as model"
printf 'a </s> b\n' >marks
expect 3 "$TRELLIS" lm marks -o never.arpa
contains "$err" "marks:1:" "a mark inside a sentence"
[ -e never.arpa ] && wrong "a failure leaves a file"
finish
