#!/usr/bin/env bash
# Recognition and transducers on a device, as a user asks for them: the processor's words and numbers, and clear messages.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
"$TRELLIS" version | grep -q opencl || skip "this build is without OpenCL"
[ -z "$TRELLIS_SANITIZE" ] || skip "the driver's own threads and code are not built for sanitizers"
cd "$folder" || exit 1
"$TRELLIS" devices | grep -q "^opencl:0 .*GFLOP/s" || skip "there is no OpenCL device here"

# ---- Recognition: the device fills the look-ahead buffer, alone and with several threads that search ----
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -o cpu.txt
[ "$(wc -w <cpu.txt)" -gt 48 ] || wrong "few words: $(cat cpu.txt)"
for shape in cpu gpu; do
    expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -o device.txt --device opencl:0:$shape
    cmp device.txt cpu.txt || wrong "$shape: other words than on the processor"
done
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -o device.txt --device opencl:0 --search-threads 2 --threads 2 --ahead 0.5
cmp device.txt cpu.txt || wrong "two threads that search: other words"
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -o device.txt --device opencl:0 --likelihood-mode block
cmp device.txt cpu.txt || wrong "blocks: other words"
expect 3 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" decode tones.trm loop.trg sounds -q --device opencl
contains "$err" "no OpenCL device" "the message says what is missing"
expect 0 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" decode tones.trm loop.trg sounds -q -o device.txt --device auto
cmp device.txt cpu.txt || wrong "auto: other words"

# ---- Transducers ----
printf '0 1 1 1 0.75\n0 2 1 2 2.5\n1 3 2 3\n2 3 2 3 0.5\n3 0 0 5 1\n3\n' >machine.txt
expect 0 "$TRELLIS" fst compile machine.txt -o machine.fst
printf '1 2\n1\n\n1 2 1 2\n7\n' >strings.txt
for operation in "viterbi --weights" forward backward; do
    # shellcheck disable=SC2086
    expect 1 "$TRELLIS" fst $operation machine.fst strings.txt --method serial -o cpu.out
    for method in frontier all-arcs; do
        # shellcheck disable=SC2086
        expect 1 "$TRELLIS" fst $operation machine.fst strings.txt --device opencl:0 --method $method -o device.out
        cmp cpu.out device.out || wrong "$operation, $method: $(cat device.out), not $(cat cpu.out)"
        contains "$err" "3 of 5 inputs have no path" "message"
    done
done
expect 1 "$TRELLIS" fst counts -q machine.fst strings.txt --method serial
counts=$out
expect 1 "$TRELLIS" fst counts -q machine.fst strings.txt --device opencl:0
[ "$out" = "$counts" ] || wrong "counts: $out, not $counts"
expect 3 "$TRELLIS" fst viterbi machine.fst strings.txt --device opencl:0 --method prefix
contains "$err" "frontier and all-arcs" "the message names the methods"
printf '0 1 0 0 0.5\n1 0 0 0 0.5\n1\n' >cycle.txt
expect 0 "$TRELLIS" fst compile cycle.txt -o cycle.fst
expect 3 "$TRELLIS" fst forward cycle.fst strings.txt --device opencl:0
contains "$err" "make cycles" "the message says what is not followed"
expect 1 env OCL_ICD_VENDORS="$folder/none" "$TRELLIS" fst viterbi machine.fst strings.txt --device auto
finish
