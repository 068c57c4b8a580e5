#!/usr/bin/env bash
# A real corpus trained on an OpenCL device from beginning to end, beside the processor: the same alignments.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
an4=$TRELLIS_SHARED/data/an4
[ -d "$an4" ] || skip "no AN4 beside the project"
"$TRELLIS" devices | grep -q "^opencl:0 .*GFLOP/s" || skip "there is no OpenCL device here"
lexicon=$an4/lexicon.txt
cd "$an4" || exit 1 # the recordings' paths are relative
train() { "$TRELLIS" train train "$lexicon" -o "$folder/$1.trm" --device "$2" --quiet || wrong "no training on $2"; }
phones() { # MODEL DEVICE: its alignment with the model on the device
    "$TRELLIS" align "$folder/$1.trm" train "$lexicon" --device "$2" --to ctm --quiet -o "$folder/$1-$2" || wrong "no alignment on $2"
    cut -d' ' -f1-5 "$folder/$1-$2/phones.ctm" >"$folder/$1-$2.phones"
}
# Frames (10 ms) in a hundred thousand that have the same phone in both.
alike() {
    awk '
        { first = int($3 * 100 + 0.5); last = first + int($4 * 100 + 0.5) }
        NR == FNR { for (t = first; t < last; t++) label[$1, t] = $5; next }
        { for (t = first; t < last; t++) { all++; same += label[$1, t] == $5 } }
        END { print int(100000 * (all > 100000 ? same / all : 0)) }' "$folder/$1.phones" "$folder/$2.phones"
}
train own cpu
train other opencl:0
train plain cpu:base
phones own cpu
phones own opencl:0
phones other cpu
phones plain cpu
same_model=$(alike own-cpu own-opencl:0)
same_training=$(alike own-cpu other-cpu)
levels=$(alike own-cpu plain-cpu)
echo "same model: $same_model; models of their own: $same_training, of two instruction sets: $levels (of 100000 frames)"
[ "$same_model" -ge 99900 ] || wrong "with the same model the device aligns otherwise"
# Models that were trained apart differ by what rounding makes of fifty iterations with splits; a device's no more than an instruction set's.
[ "$same_training" -ge $((levels - 500)) ] || wrong "the device's training goes another way than rounding explains"
finish
