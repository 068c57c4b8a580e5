#!/usr/bin/env bash
# The NEON kernel, compiled for aarch64 and run by qemu where the machine is another one, against the reference.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$TRELLIS_SOURCE_DIR" || exit 1
compiler=aarch64-linux-gnu-gcc run=qemu-aarch64
for tool in $compiler $run; do
    command -v "$tool" >/dev/null || skip "$tool is not installed (scripts/setup test)"
done

# What the kernels stand on; functions that nobody calls, and what those would need, are left out.
files=(src/backend/cpu/gmm_{neon,base,ref,scalar,pack}.c src/base/{error,memory,pool,random,text_file}.c tests/neon_kernel.c)
expect 0 $compiler -std=c11 -D_XOPEN_SOURCE=700 -DTRELLIS_SIMD=0 -O2 -Wall -Wextra -Werror -ffp-contract=off -static -ffunction-sections \
    -Wl,--gc-sections -Iinclude -Isrc -Itests "${files[@]}" -pthread -lm -o "$folder/neon_kernel"
[ "$faults" != 0 ] || expect 0 $run "$folder/neon_kernel"
[ "$faults" = 0 ] || echo "$out"
finish
