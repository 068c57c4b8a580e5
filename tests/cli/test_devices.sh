#!/usr/bin/env bash
# Devices as a user meets them: the list, names that are wrong, a machine without OpenCL, and a training on each shape that ends where the
# processor's does.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

expect 3 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" train no.tsv no.txt -o no.trm --device opencl:0:fast
"$TRELLIS" version | grep -q "^backends: cpu" || wrong "version does not say which backends are in"
"$TRELLIS" version | grep -q opencl || skip "this build is without OpenCL"
[ -z "$TRELLIS_SANITIZE" ] || skip "the driver's own threads and code are not built for sanitizers"

# Without a driver the processor is listed, and auto finds it.
expect 0 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" devices
contains "$out" "GFLOP/s  " "the processor is listed"
grep -q opencl <<<"$out" && wrong "a device is listed where there is none"

expect 0 "$TRELLIS" devices
contains "$out" "GFLOP/s  " "the processor is listed"
grep -q "^opencl:0 .*GFLOP/s" <<<"$out" || skip "there is no OpenCL device here"

for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 2 >/dev/null || wrong "no corpus"
train() { "$TRELLIS" train data data/lexicon.txt --components 4 --iterations 2 --quiet "$@"; }

expect 3 train -o no.trm --device opencl:99
contains "$err" "OpenCL devices, counted from 0" "the message counts devices"
expect 3 train -o no.trm --device opencl:0:fast
contains "$err" "gpu or cpu" "the message names the shapes"
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
