/* The NEON kernel against the reference; test_neon.sh builds it for aarch64 and runs it with qemu. */
#include "mixture_fixture.h"

int main(void)
{
    return compare_kernel_with_reference(&trl__gmm_neon, 20) == 0 &&
                   compare_kernel_with_reference(&trl__gmm_base, 5) == 0
               ? 0
               : 1;
}
