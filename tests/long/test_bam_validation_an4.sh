#!/usr/bin/env bash
# The validation of [001] IV-G on AN4's training set, 42 minutes: Table VII with orders 1, 2, 3 and 5, with word boundaries and without.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
# shellcheck source=tests/bam_validation.bash
source "$TRELLIS_SOURCE_DIR/tests/bam_validation.bash"
an4=$TRELLIS_SHARED/data/an4
[ -f "$an4/train/wav.scp" ] || skip "there is no AN4 in $an4"
cd "$folder" || exit 1
merge_homophones "$an4/train" an4 "$an4/lexicon.txt"
sed -i "s|^\([^ ]* \)|\1$an4/|" an4/wav.scp
expect 0 "$TRELLIS" train an4 an4/lexicon.txt -o an4.trm --components 2 --iterations 2 -q
expect 0 "$TRELLIS" graph an4.trm an4/lexicon.txt --loop -o an4.trg -q
expect 0 "$TRELLIS" decode an4.trm an4.trg an4 --to nbest --nbest 10 --lattice-beam 12 -o an4.nb -q
for option in --no-boundaries ''; do
    last=100
    for order in 1 2 3 5; do
        validate an4 "$order" ${option:+"$option"}
        below "$rate" "$last + 1e-9" "M = $order $option"
        last=$rate
    done
    below "$rate" 0.3 "M = 5 $option"
    [ -n "$option" ] && phones_alone=$rate
done
below "$rate" "$phones_alone + 1e-9" "word boundaries at M = 5"
finish
