#!/usr/bin/env bash
# Word errors against data and model size ([001] Figs. 2 and 3), on speech that trellis-bench has made:
#
#     bench/bam_series.sh TRELLIS SPEECH HOURS MIN MAX LEAVES
#
# SPEECH has train/, test/, lexicon.txt, words.arpa; HOURS are those of train. In the current folder: first pass triphones of every eighth utterance; stores of M = 1, 2, 3
# from an eighth, a quarter, half and all of the data, with at least MIN and at most MAX frames per M-phone; weights from half of the test's speakers, the errors of series.json
# from the others. A row has hours, M, M-phones, those of them that a sample was taken of, Gaussians, WER, WER of the first pass.
set -euo pipefail
trellis=$1 speech=$2 hours=$3 least=$4 most=$5 leaves=$6

part() { # FOLDER NEW CONDITION-OF-AWK: the utterances of a corpus for which it holds; n: the number of the line, who: that of the speaker
    mkdir -p "$2"
    for list in wav.scp text utt2spk; do
        awk "{ n = NR - 1; who = substr(\$1, match(\$1, /[0-9]/)) + 0 } $3" "$1/$list" >"$2/$list"
    done
    sed -i "s|^\([^ ]* \)|\1$speech/|" "$2/wav.scp"
}

for eighths in 1 2 4 8; do
    part "$speech/train" "train$eighths" "n % 8 < $eighths"
done
part "$speech/test" dev "who % 2 == 0"
part "$speech/test" test "who % 2 == 1"

"$trellis" train train1 "$speech/lexicon.txt" -o first.trm --stages mono,tri --leaves "$leaves" --skip-bad -q || [ $? = 1 ]
"$trellis" graph first.trm "$speech/lexicon.txt" "$speech/words.arpa" -o first.trg -q
for set in dev test; do
    "$trellis" decode first.trm first.trg $set --to nbest-jsonl --nbest 10 --lattice-beam 12 -o $set.jsonl -q
done

rows=()
for eighths in 1 2 4 8; do
    now=$(awk "BEGIN { print $hours * $eighths / 8 }")
    for order in 1 2 3; do
        name=$eighths-$order
        "$trellis" bam train first.trm train$eighths "$speech/lexicon.txt" -o store --order $order --min-frames "$least" --max-frames "$most" \
            --skip-bad -q || [ $? = 1 ]
        for set in dev test; do
            "$trellis" bam rescore first.trm $set "$speech/lexicon.txt" $set.jsonl store --to lists --hours "$now" -o $set-$name -q
        done
        echo "$now $order $("$trellis" bam info store | awk '/^M-phones kept/ { print $3 + 0, $4 } /^Gaussians  / { print $2 }' | xargs)" >>sizes
        rm -rf store
        rows+=("test-$name")
    done
done
# One choice of weights, made where there is most data.
read -ra weights <<<"$("$trellis" bam tune dev/text dev-8-1 dev-8-2 dev-8-3 2>&1 >tuned | sed -n 's/.*best:.*\(--lambda.*\)/\1/p')"
"$trellis" bam eval test/text "${rows[@]}" "${weights[@]}" --hits --plot-data data.svg --plot-size size.svg | tee eval
awk '/^[0-9.]+ .*first pass,/ && !first { first = $1 } /^[0-9.]+ .* BAM / { print $1, first }' eval | paste -d ' ' sizes - | awk '
    { printf "%s{\"hours\": %s, \"order\": %s, \"mphones\": %s, \"sampled\": %s, \"gaussians\": %s, \"wer\": %s, \"wer_first_pass\": %s}",
        NR == 1 ? "[" : ",\n ", $1, $2, $3, $4, $5, $6, $7 }
    END { print "]" }' >series.json
