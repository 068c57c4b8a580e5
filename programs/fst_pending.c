/* Stand-ins for operations that are not merged yet. */
#include "fst_command.h"
#define WEAK __attribute__((weak))
#define NO return cli_error(err, TRL_EUNSUPPORTED, "not there yet")
WEAK int trl_fst_randequivalent(const trl_fst *a, const trl_fst *b, int32_t n, float d, uint64_t s, int32_t l, int *y,
                                trl_error *err)
{
    (void)a, (void)b, (void)n, (void)d, (void)s, (void)l, (void)y;
    NO;
}
WEAK int trl_fst_epsnormalize(const trl_fst *f, trl_side s, trl_fst **out, trl_error *err)
{
    (void)f, (void)s, (void)out;
    NO;
}
WEAK int trl_fst_synchronize(const trl_fst *f, int64_t n, trl_fst **out, trl_error *err)
{
    (void)f, (void)n, (void)out;
    NO;
}
WEAK int trl_fst_randgen(const trl_fst *f, const trl_randgen_options *o, trl_fst **out, trl_error *err)
{
    (void)f, (void)o, (void)out;
    NO;
}
