#!/usr/bin/env bash
# Every kernel in both shapes under oclgrind, which interprets them and watches every access: no race between work-items, nothing outside
# a buffer, and the reference's results.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
runtime=
for place in /usr/lib/oclgrind /usr/local/lib /usr/lib; do
    [ -e $place/liboclgrind-rt-icd.so ] && runtime=$place/liboclgrind-rt-icd.so && break
done
[ -n "$runtime" ] || skip "oclgrind is not installed"
[ -z "$TRELLIS_SANITIZE" ] || skip "oclgrind and the sanitizers each want to see every access"
"$TRELLIS" version | grep -q opencl || skip "this build is without OpenCL"
TRELLIS_FAKE_CUDA='' OCL_ICD_VENDORS=$runtime OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 TRELLIS_TEST_SMALL=1 TRELLIS_NEEDS_OPENCL=1 \
    "$TRELLIS_BUILD_DIR/tests/test_device_batches" >"$folder/out" 2>&1 || {
    cat "$folder/out"
    wrong "results under oclgrind differ, or it could not be used"
}
grep -qi "race\|invalid\|error" "$folder/out" && cat "$folder/out" && wrong "oclgrind has remarks"
grep -q "ragged_batches_are_single_searches" "$folder/out" || wrong "the test did not run"
finish
