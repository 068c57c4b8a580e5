#!/usr/bin/env bash
# CUDA devices as a user meets them, by way of a libcuda that runs CUDA's kernels on the processor (tests/cuda): the list, what is said
# where a driver or device can't be used, and a training that ends where the processor's does.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
[ -n "$TRELLIS_FAKE_CUDA" ] || skip "there is no C++ compiler for the fake libcuda, or it is not for this sanitizer"
export OCL_ICD_VENDORS="$folder/none" # CUDA's devices only
with_cuda() { env LD_LIBRARY_PATH="$TRELLIS_FAKE_CUDA" "$@"; }

expect 0 with_cuda "$TRELLIS" devices
contains "$out" "GFLOP/s  gpu    1.1 GB       fake device 0" "the first device is listed"
contains "$out" "fake device 1" "and the second"

# What is missing, in words. An empty model file is not looked at before the device.
attempt() { with_cuda "$@" "$TRELLIS" train data data/lexicon.txt -o "$model" --quiet --components 2 --iterations 1 "${device[@]}"; }
for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 1 >/dev/null || wrong "no corpus"
device=(--device cuda) model=no.trm
expect 3 attempt LD_LIBRARY_PATH="$folder"
contains "$err" "libcuda.so.1, which comes with NVIDIA's driver, is not installed" "no library"
expect 3 attempt FAKE_CUDA_DEVICES=0
contains "$err" "it has no device" "no device"
expect 3 attempt FAKE_CUDA_OLD=1
contains "$err" "NVIDIA's driver (CUDA 12.4) can't be used" "cuInit fails"
expect 3 attempt FAKE_CUDA_REFUSE=222
contains "$err" "install a newer driver" "an old driver"
expect 3 attempt FAKE_CUDA_REFUSE=209
contains "$err" "compute capability 6.1; the kernels are for 7.5 and newer" "an old device"
device=(--device cuda:7)
expect 3 attempt
contains "$err" "there are 2 CUDA devices, counted from 0" "a wrong number"
device=(--device cuda:0:cpu)
expect 3 attempt
contains "$err" "graphics processors only" "a wrong shape"
[ -e no.trm ] && wrong "a model without a device"
device=(--device auto) model=auto.trm
for trouble in LD_LIBRARY_PATH="$folder" FAKE_CUDA_DEVICES=0 FAKE_CUDA_OLD=1 FAKE_CUDA_REFUSE=222; do
    expect 0 attempt "$trouble"
done

# A training ends where the processor's does, on one device, on two, on the processor and a device, with hardly any memory, and when the
# device is lost on the way.
train() { with_cuda "${setting[@]}" "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 2 "$@"; }
# shellcheck source=tests/cli/alignments.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/alignments.bash"
same_as_cpu() { # MODEL
    boundaries "$1" cpu other.ctm
    same_boundaries own.ctm other.ctm
}
setting=(OTHER=1)
expect 0 train -o cpu.trm --quiet
boundaries cpu.trm cpu own.ctm
expect 0 train -o cuda.trm --quiet --device cuda --threads 2
same_as_cpu cuda.trm
expect 0 train -o two.trm --quiet --device cuda:0,cuda:1 --threads 3
cmp cuda.trm two.trm || wrong "two devices of one kind give another model than one"
expect 0 train -o mixed.trm --quiet --device cpu,cuda:1 --threads 2
same_as_cpu mixed.trm

# Batches of a few utterances, each sent while the one before is computed, give the bytes of a training whose queues can't follow each other, so that
# nothing is sent ahead. Queues without kernels are those of transfers; what comes by them comes between the first kernel of a batch and the
# wait for it, but where memory grows.
setting=(FAKE_CUDA_MEMORY=25000000 FAKE_CUDA_APART=1 FAKE_CUDA_LOG=apart.log)
expect 0 train -o apart.trm --quiet --device cuda --threads 1
setting=(FAKE_CUDA_MEMORY=25000000 FAKE_CUDA_LOG=ahead.log)
expect 0 train -o ahead.trm --quiet --device cuda --threads 1
cmp apart.trm ahead.trm || wrong "what is sent ahead gives another model"
same_as_cpu ahead.trm
early_uploads() { # LOG: how many are before the wait, and how many are not
    awk 'NR == FNR { kernels[$2] = kernels[$2] || $1 == "kernel"; next }
        kernels[$2] && $1 == "kernel" { begun = begun || $3 == "place_frames" }
        kernels[$2] && $1 == "wait" { begun = 0 }
        $1 == "follow" { followed[$2] = 1 }
        $1 == "upload" && !kernels[$2] && followed[$2] { early += begun; late += !begun }
        END { print early + 0, late + 0 }' "$1" "$1"
}
read -r early late < <(early_uploads ahead.log)
[ "$early" -gt 20 ] && [ "$early" -gt "$((2 * late))" ] || wrong "$early uploads of later batches come before a wait, $late behind"
[ "$(early_uploads apart.log)" = "0 0" ] || wrong "queues that can't follow each other were used"
setting=(OTHER=1)
expect 3 train -o no.trm --quiet --device cpu,cuda --threads 1
contains "$err" "2 devices need a thread each" "too few threads"
setting=(FAKE_CUDA_MEMORY=3000000)
expect 0 train -o small.trm --quiet --device cuda --threads 2
same_as_cpu small.trm
setting=(FAKE_CUDA_FULL=12) # in the first batch, which is cut in two then
expect 0 train -o halves.trm --quiet --device cuda --threads 1
same_as_cpu halves.trm
setting=(FAKE_CUDA_LOST=2000)
expect 3 train -o no.trm --quiet --device cuda --threads 2
contains "$err" "the device is lost" "a device that is lost, and not auto"
[ -e no.trm ] && wrong "a model of half a training"
expect 0 train -o lost.trm --device auto --threads 2
contains "$err" "; the processor goes on" "the warning says so"
same_as_cpu lost.trm
finish
