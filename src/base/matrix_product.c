#include "base/matrix_product.h"
#include "base/cpu.h"

void trl__product_add(const trl__product *product)
{
#if TRELLIS_SIMD
    if (trl__cpu() >= TRL__CPU_AVX2) {
        trl__product_avx2(product);
        return;
    }
#endif
    trl__product_base(product);
}
