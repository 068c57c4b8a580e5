/* Every kernel of this machine against the reference. */
#include "cmocka_test.h"
#include "mixture_fixture.h"

#include "base/cpu.h"

static void kernels_agree_with_the_reference(void **state)
{
    (void)state;
    const trl__gmm_kernel *kernels[4] = {&trl__gmm_scalar, &trl__gmm_base};
    size_t count = 2;
#if defined __aarch64__
    kernels[count++] = &trl__gmm_neon;
#endif
#if TRELLIS_SIMD
    if (trl__cpu_best() >= TRL__CPU_AVX2)
        kernels[count++] = &trl__gmm_avx2;
    if (trl__cpu_best() >= TRL__CPU_AVX512)
        kernels[count++] = &trl__gmm_avx512;
#endif
    for (size_t i = 0; i < count; i++)
        assert_int_equal(compare_kernel_with_reference(kernels[i], 300), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_the_reference),
    };
    return RUN(tests);
}
