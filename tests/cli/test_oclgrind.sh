#!/usr/bin/env bash
# Every kernel in both shapes under oclgrind, which interprets them and watches every access: no race between work-items, nothing outside
# a buffer, and the reference's results.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
runtime=
for place in /usr/lib/oclgrind /usr/local/lib /usr/lib; do
    [ -e $place/liboclgrind-rt-icd.so ] && runtime=$place/liboclgrind-rt-icd.so && break
done
[ -z "$TRELLIS_SANITIZE" ] || skip "oclgrind and the sanitizers each want to see every access"
"$TRELLIS" version | grep -q opencl || skip "this build is without OpenCL"
if [ -z "$runtime" ]; then
    [ -z "${TRELLIS_NEEDS_OPENCL:-}" ] || wrong "oclgrind is not installed"
    [ "$faults" != 0 ] || skip "oclgrind is not installed"
    finish
fi
watch() { # PROGRAM TEST
    TRELLIS_FAKE_CUDA='' OCL_ICD_VENDORS=$runtime OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 TRELLIS_TEST_SMALL=1 TRELLIS_NEEDS_OPENCL=1 \
        "$TRELLIS_BUILD_DIR/tests/$1" >"$folder/$1" 2>&1 || {
        cat "$folder/$1"
        wrong "results of $1 under oclgrind differ, or it could not be used"
    }
    grep -qi "race\|invalid\|error" "$folder/$1" && cat "$folder/$1" && wrong "oclgrind has remarks"
    grep -q "$2" "$folder/$1" || wrong "the test did not run"
}
watch test_device_batches ragged_batches_are_single_searches
watch test_device_machines ragged_batches_are_serials
finish
