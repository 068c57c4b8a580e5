#!/usr/bin/env bash
# The kernels as CUDA's compiler sees them: no warning, no spills, within the limits of registers and shared memory.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -z "$TRELLIS_SANITIZE" ] || skip "the same in every build"
expect_code=0
"$TRELLIS_SOURCE_DIR/scripts/check-cuda" "$folder/table" || expect_code=$?
[ "$expect_code" = 77 ] && skip "nvcc is not installed"
[ "$expect_code" = 0 ] || wrong "scripts/check-cuda ends with $expect_code"
# Every kernel in the documentation's table, and none besides.
kernels() { sed -n 's/^| `\([a-z_]*\)` |.*/\1/p' "$1" | sort; }
diff <(kernels "$folder/table") <(kernels "$TRELLIS_SOURCE_DIR/docs/opencl.md") || wrong "docs/opencl.md has other kernels"
finish
