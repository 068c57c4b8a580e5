#!/usr/bin/env bash
# The kernels as CUDA's compiler sees them: no warning, no spills, within the limits of registers and shared memory; and the documentation has
# their figures.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -z "$TRELLIS_SANITIZE" ] || skip "the same in every build"
expect_code=0
"$TRELLIS_SOURCE_DIR/scripts/check-cuda" "$folder/table" || expect_code=$?
[ "$expect_code" = 77 ] && skip "nvcc is not installed"
[ "$expect_code" = 0 ] || wrong "scripts/check-cuda ends with $expect_code"
# Every kernel in the documentation's table, and none besides. Another version of the compiler may well use other registers.
sed -n '/^| kernel (nvcc/,/^$/{/^|/p}' "$TRELLIS_SOURCE_DIR/docs/opencl.md" >"$folder/documented"
version() { head -n 1 "$1" | cut -d'|' -f2; }
kernels() { cut -d'|' -f2 "$1" | tail -n +3 | sort; }
if [ "$(version "$folder/table")" = "$(version "$folder/documented")" ]; then
    diff "$folder/table" "$folder/documented" || wrong "docs/opencl.md has other figures"
else
    diff <(kernels "$folder/table") <(kernels "$folder/documented") || wrong "docs/opencl.md has other kernels"
fi
finish
