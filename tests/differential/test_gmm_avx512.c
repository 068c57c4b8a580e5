/* The AVX-512 kernel on any machine, through SIMDe, against the reference. */
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wpass-failed" /* SIMDe's loops, wherever they are inlined */
#endif
#include "cmocka_test.h"
#include "mixture_fixture.h"

#if __has_include(<simde/x86/avx512.h>)
#define SIMDE_ENABLE_NATIVE_ALIASES
#pragma GCC diagnostic ignored "-Wpragmas" /* SIMDe's headers */
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include <simde/x86/avx512.h>
#define trl__gmm_avx512 gmm_avx512_by_simde
#include "backend/cpu/gmm_avx512.c" /* NOLINT(bugprone-suspicious-include): once more, for SIMDe */

static void the_kernel_agrees_with_the_reference(void **state)
{
    (void)state;
    assert_int_equal(compare_kernel_with_reference(&gmm_avx512_by_simde, 100), 0);
}
#else
static void the_kernel_agrees_with_the_reference(void **state)
{
    (void)state;
    print_message("skipped: SIMDe is not installed (scripts/setup test)\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_agrees_with_the_reference),
    };
    return RUN(tests);
}
