# Sourced by tests of the validation of [001] IV-G: a store that has learnt the test by heart (Nmin = 1) chooses from lists that have the truth, by its score alone.

# CORPUS OUT LEXICON: a corpus and AN4's lexicon in which words that sound the same are one word, since no acoustic model can tell them apart.
merge_homophones() {
    mkdir -p "$2"
    awk -v corpus="$1" -v out="$2" -v lexicon="$3" '
        function first(said, word) { if (!(said in owner)) owner[said] = word; return owner[said] }
        BEGIN {
            while ((getline line < lexicon) > 0) {
                n = split(line, f); said = ""
                for (i = 2; i <= n; i++) said = said " " f[i]
                word = f[1]; sub(/\([0-9]+\)$/, "", word)
                if (!(word in as)) as[word] = first(said, word)
                if (as[word] == word && !((word said) in seen)) { seen[word said] = 1; print word said > (out "/lexicon.txt") }
            }
            while ((getline line < (corpus "/text")) > 0) {
                n = split(line, f); text = f[1]
                for (i = 2; i <= n; i++) text = text " " (f[i] in as ? as[f[i]] : f[i])
                print text > (out "/text")
            }
        }'
    cp "$1/wav.scp" "$1/utt2spk" "$2"
}

# DATA ORDER OPTION…: the word error rate of a store of this order; $data.trm, $data.nb and the corpus $data are there.
# shellcheck disable=SC2154 # out is what expect leaves
validate() {
    local data=$1 order=$2
    shift 2
    rm -rf store scored
    expect 0 "$TRELLIS" bam train "$data.trm" "$data" "$data/lexicon.txt" -o store --order "$order" --min-frames 1 --alpha 0 --beta 1 -q "$@"
    expect 0 "$TRELLIS" bam rescore "$data.trm" "$data" "$data/lexicon.txt" "$data.nb" store --to lists -o scored -q --lambda 0 --lm-weight 0.1
    expect 0 "$TRELLIS" bam eval "$data/text" scored --truth-listed
    rate=$(awk '/BAM Nmin/ { print $1 }' <<<"$out")
    first=$(awk '/first pass, / { print $1 }' <<<"$out")
    echo "M = $order $*: $rate % (first pass $first %; $(tail -n 1 <<<"$out"))"
}

below() { awk "BEGIN { exit !($1 < $2) }" || wrong "$3: $1 is not below $2"; }
