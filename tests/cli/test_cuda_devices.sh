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
attempt() { with_cuda "$@" "$TRELLIS" train data data/lexicon.txt -o no.trm --quiet --components 2 --iterations 1 "${device[@]}"; }
for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 1 >/dev/null || wrong "no corpus"
device=(--device cuda)
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
device=(--device auto)
for trouble in LD_LIBRARY_PATH="$folder" FAKE_CUDA_DEVICES=0 FAKE_CUDA_OLD=1 FAKE_CUDA_REFUSE=222; do
    expect 0 attempt "$trouble"
done

finish
