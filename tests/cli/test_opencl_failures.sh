#!/usr/bin/env bash
# OpenCL devices that fail, as a user meets them: by name, a message that says why; with auto, a warning, and the processor's result. A layer
# under the loader (tests/opencl) makes the failures, of a device that works.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
[ -n "$TRELLIS_FAILING_OPENCL" ] || skip "there is no CL/cl_layer.h, or drivers are not for this build"
"$TRELLIS" devices | grep -q "^opencl:0 .*GFLOP/s" || skip "there is no OpenCL device here"
export OPENCL_LAYERS=$TRELLIS_FAILING_OPENCL
[[ $(FAIL_OPENCL=double "$TRELLIS" devices) == *"no double precision"* ]] || skip "OpenCL's loader knows no layers"
for program in espeak-ng flite sox; do
    command -v $program >/dev/null || skip "$program is not installed"
done
"$TRELLIS_SOURCE_DIR/scripts/make-demo-corpus" data --speakers 1 >/dev/null || wrong "no corpus"
train() { "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 2 --threads 1 -o "$@"; }

# ---- A device that can't be opened ----
expect 0 train cpu.trm --quiet
for failure in "build:kernels do not build" "double:no double precision"; do
    export FAIL_OPENCL=${failure%%:*}
    expect 1 "$TRELLIS" devices
    [[ $out == *$'\nopencl:0 '*[a-zA-Z]*"can't be used: "*"${failure#*:}"* ]] || wrong "$FAIL_OPENCL: devices are listed as $out"
    expect 3 train no.trm --quiet --device opencl:0
    contains "$err" "${failure#*:}" "$FAIL_OPENCL, by name"
    grep "^trellis train: " <<<"$err" | grep -q "?" && wrong "the compiler's lines are not joined: $err"
    [ -e no.trm ] && wrong "a model without a device"
    expect 0 train auto.trm --quiet --device auto
    cmp auto.trm cpu.trm || wrong "$FAIL_OPENCL: auto gives another model than the processor"
    [[ $err == *"opencl:0 ("*") can't be used: "*"${failure#*:}"*"the processor goes on"* ]] || wrong "auto, $FAIL_OPENCL: $err"
    [ "$(grep -c "can't be used" <<<"$err")" = 1 ] || wrong "it is said again: $err"
done

# ---- One that can be opened once: that is enough for many utterances ----
expect 0 "$TRELLIS" features data --model cpu.trm -o frames.trf -q
expect 0 "$TRELLIS" model likelihoods cpu.trm frames.trf -o cpu.ark
utterances=${err%% *}
[ "$utterances" -gt 1 ] || wrong "one utterance only: $err"
expect 0 env FAIL_OPENCL=open FAIL_AFTER=1 "$TRELLIS" model likelihoods cpu.trm frames.trf -o device.ark -q --device opencl:0
[ "$(stat -c %s cpu.ark)" = "$(stat -c %s device.ark)" ] || wrong "other likelihoods on the device"
expect 3 env FAIL_OPENCL=open FAIL_AFTER=0 "$TRELLIS" model likelihoods cpu.trm frames.trf -o no.ark -q --device opencl:0
contains "$err" "the device is not available" "a device that can't be opened"
[ -e no.ark ] && wrong "likelihoods without a device"

# ---- One that fails on the way ----
# shellcheck source=tests/cli/alignments.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/alignments.bash"
boundaries cpu.trm cpu own.ctm
for failure in "memory:no memory left" "lost:the device is lost"; do
    export FAIL_OPENCL=${failure%%:*}
    expect 0 train device.trm --device auto
    contains "$err" "device: opencl, " "auto tells what it takes"
    calls=$(sed -n 's/^calls: //p' <<<"$err")
    [ "${calls:-0}" -gt 8 ] || wrong "$FAIL_OPENCL: few calls, $calls"
    expect 3 env FAIL_AFTER=$((calls * 3 / 4)) "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 2 --threads 1 -o no.trm \
        --quiet --device opencl:0
    contains "$err" "${failure#*:}" "$FAIL_OPENCL, by name"
    [ -e no.trm ] && wrong "a model of half a training"
    expect 0 env FAIL_AFTER=$((calls * 3 / 4)) "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 2 --threads 1 -o half.trm \
        --quiet --device auto
    [[ $err == *"warning: "*" fails: "*"${failure#*:}"*"; the processor goes on" ]] || wrong "auto, $FAIL_OPENCL: $err"
    boundaries half.trm cpu half.ctm
    same_boundaries own.ctm half.ctm
done

# ---- A loader that is no library, and one of something else ----
unset OPENCL_LAYERS FAIL_OPENCL
echo "no library" >libOpenCL.so.1
expect 3 env LD_LIBRARY_PATH="$folder" "$TRELLIS" model likelihoods no.trm no.trf -o no.out --device opencl:0
expect 1 env LD_LIBRARY_PATH="$folder" "$TRELLIS" devices
contains "$out" "can't be used: there is no OpenCL device here: libOpenCL.so.1 can't be used: " "a damaged loader"
expect 0 env LD_LIBRARY_PATH="$folder" "$TRELLIS" train data data/lexicon.txt --components 2 --iterations 1 --quiet -o auto.trm --device auto
contains "$err" "libOpenCL.so.1 can't be used: " "auto says it too"
rm libOpenCL.so.1
echo "int nothing;" | ${CC:-cc} -shared -fPIC -x c -o libOpenCL.so.1 -
expect 1 env LD_LIBRARY_PATH="$folder" "$TRELLIS" devices
contains "$out" "libOpenCL.so.1 is too old: it has no cl" "a loader that lacks functions"
finish
