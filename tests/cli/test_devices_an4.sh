#!/usr/bin/env bash
# A real corpus trained on an OpenCL device from beginning to end, beside the processor: the same alignments. Minutes: in make test-long only.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -n "${TRELLIS_LONG:-}" ] || skip "long; make test-long runs it"
[ -z "$TRELLIS_SANITIZE" ] || skip "the driver's own threads and code are not built for sanitizers"
an4=$TRELLIS_SHARED/data/an4
[ -d "$an4" ] || skip "no AN4 beside the project"
"$TRELLIS" devices | grep -q "^opencl:0 .*GFLOP/s" || skip "there is no OpenCL device here"
lexicon=$an4/lexicon.txt
cd "$an4" || exit 1 # the recordings' paths are relative
phones() { # NAME DEVICE
    "$TRELLIS" train train "$lexicon" -o "$folder/$1.trm" --device "$2" --quiet || wrong "no training on $2"
    "$TRELLIS" align "$folder/$1.trm" train "$lexicon" --device "$2" --to ctm --quiet -o "$folder/$1" || wrong "no alignment on $2"
    cut -d' ' -f1-5 "$folder/$1/phones.ctm" >"$folder/$1.phones"
}
phones cpu cpu
phones opencl opencl:0
# Frames (10 ms) of phones whose label at that time is another.
awk '
    { first = int($3 * 100 + 0.5); last = first + int($4 * 100 + 0.5) }
    NR == FNR { for (t = first; t < last; t++) label[$1, t] = $5; next }
    { for (t = first; t < last; t++) { all++; same += label[$1, t] == $5 } }
    END { printf "%d of %d frames are aligned alike\n", same, all; exit !(all > 100000 && same >= 0.999 * all) }
' "$folder/cpu.phones" "$folder/opencl.phones" || wrong "another alignment"
finish
