#!/usr/bin/env bash
# The ladder on AN4: speakers that no stage has heard are more likely with each rung. Triphones see the frames of monophones; LDA has a space
# of its own, in which speakers' transforms are counted.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
an4=$TRELLIS_SHARED/data/an4
[ -f "$an4/train/wav.scp" ] || skip "there is no AN4 in $an4"
[ -z "${TRELLIS_SANITIZE:-}" ] || skip "under a sanitizer this takes minutes; tests/property/test_stages does the same with less data"
cd "$folder" || exit 1
lexicon=$an4/lexicon.txt
last='' models=()
for rung in mono tri lda sat; do
    expect 0 "$TRELLIS" train "$an4/train" "$lexicon" -o $rung.trm --stages $rung "${models[@]}" --components 8 --iterations 3 --skip-bad
    expect 0 "$TRELLIS" align $rung.trm "$an4/test" "$lexicon" -o $rung --to ctm --skip-bad
    score=$(sed -n 's/.*log-likelihood \(-\?[0-9.]*\) per frame.*/\1/p' <<<"$err")
    echo "$rung: $score per frame"
    [ -n "$score" ] || wrong "$rung: no log-likelihood in: $err"
    [ -z "$last" ] || awk "BEGIN { exit !($score > $last + 0.3) }" || wrong "$rung: $score, after $last"
    last=$score
    models=(--from "$rung.trm")
done
contains "$err" "adapted to 10 of 10 speakers" "the last rung adapts"
finish
