#!/usr/bin/env bash
# Devices as a user meets them: the list, names that are wrong, a machine without OpenCL, and a training on each shape that ends where the
# processor's does.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

# A name that is none is the command line's fault, wherever a device can be chosen; a device that is not there is not.
for command in "train no.tsv no.txt -o no.trm" "align no.trm no.tsv no.txt -o no" "decode no.trm no.trg no.tsv" \
    "model likelihoods no.trm no.trf -o no.trf" "fst viterbi no.fst" "fst counts no.fst" "fst train no.fst"; do
    for name in opencl:0:fast cpux cpu:foo cpu,foo auto,cpu; do
        # shellcheck disable=SC2086
        expect 2 "$TRELLIS" $command --device $name
        contains "$err" "--device: " "$command --device $name"
    done
done
printf '0 1 1 1\n1\n' >machine.txt
"$TRELLIS" fst compile machine.txt -o machine.fst
printf "1\t1\n" >pairs.txt
echo 1 >strings.txt
for operation in viterbi counts train; do
    input=strings.txt
    [ $operation = train ] && input=pairs.txt
    expect 3 "$TRELLIS" fst $operation machine.fst $input -o no.out --device cpu,cpu
    contains "$err" "transducers take one device" "fst $operation on two devices"
done
[ -e no.out ] && wrong "a result in spite of the device's name"
expect 0 "$TRELLIS" fst viterbi machine.fst strings.txt --device cpu:ref
[ "$out" = 1 ] || wrong "cpu:ref: $out"
"$TRELLIS" version | grep -q "^backends: cpu" || wrong "version does not say which backends are in"
"$TRELLIS" version | grep -q opencl || skip "this build is without OpenCL"
[ -z "$TRELLIS_SANITIZE" ] || skip "the driver's own threads and code are not built for sanitizers"

# Without a driver the processor is listed, and auto finds it.
expect 0 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" devices
contains "$out" "GFLOP/s  " "the processor is listed"
grep -q opencl <<<"$out" && wrong "a device is listed where there is none"
contains "$err" "opencl: there is no OpenCL device here" "what is missing"
expect 0 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" devices -q
[ -z "$err" ] || wrong "remarks with --quiet: $err"

expect 0 "$TRELLIS" devices
contains "$out" "GFLOP/s  " "the processor is listed"
grep -q "^opencl:0 .*GFLOP/s" <<<"$out" || skip "there is no OpenCL device here"

for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 2 >/dev/null || wrong "no corpus"
train() { "$TRELLIS" train data data/lexicon.txt --components 4 --iterations 2 --quiet "$@"; }

expect 3 train -o no.trm --device opencl:99
contains "$err" "opencl:99: there " "the message has the name"
contains "$err" ", counted from 0" "and counts devices"
expect 3 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" train data data/lexicon.txt -o no.trm --device opencl
contains "$err" "no OpenCL device" "the message says what is missing"
[ -e no.trm ] && wrong "a model without a device"
expect 0 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 1 --quiet \
    -o auto.trm --device auto

# Each device with its own model.
# shellcheck source=tests/cli/alignments.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/alignments.bash"
expect 0 train -o cpu.trm
boundaries cpu.trm cpu own.ctm
for shape in cpu gpu; do
    expect 0 train -o $shape.other.trm --device opencl:0:$shape
    boundaries $shape.other.trm opencl:0:$shape $shape.ctm
    same_boundaries own.ctm $shape.ctm
    # The same bytes whenever it is run, with any number of threads.
    expect 0 train -o again.trm --device opencl:0:$shape --threads 3
    cmp again.trm $shape.other.trm || wrong "$shape: another model with three threads"
done

# Baum-Welch in batches: few audits, as those go one by one. Log-likelihoods of all iterations, to a hundredth.
soft() { # DEVICE
    expect 0 "$TRELLIS" train data data/lexicon.txt --components 4 --iterations 2 --em baum-welch --audit 0.01 --margin 20 -o soft.trm \
        --device "$1"
    awk '$1 ~ /^[0-9]+\/7$/ { printf "%s %.2f\n", $1, $4 + 0 }' <<<"$err"
}
soft cpu >own.soft
[ "$(grep -c -- "/7 -" own.soft)" -ge 6 ] || wrong "training tells no likelihoods: $(cat own.soft)"
for shape in cpu gpu; do
    soft opencl:0:$shape >$shape.soft
    paste -d" " own.soft $shape.soft | awk '($2 - $4) ^ 2 > 0.011 ^ 2' | grep . && wrong "$shape: Baum-Welch goes another way"
done

# Two devices give what one gives, the processor and a device together what they give alone. PoCL makes two of the processor when asked.
export POCL_DEVICES="pthread pthread"
if "$TRELLIS" devices | grep -q "^opencl:1 "; then
    expect 0 train -o two.trm --device opencl:0:cpu,opencl:1:cpu --threads 2
    cmp two.trm cpu.other.trm || wrong "two devices give another model than one"
fi
expect 0 train -o mixed.trm --device cpu,opencl:0:cpu --threads 2
boundaries mixed.trm cpu,opencl:0:cpu mixed.ctm
same_boundaries own.ctm mixed.ctm
finish
