/* Weights as the public header has them, and what semirings are called. */
#include "fst/weighted.h"

TRL__EACH(trl_weight, weight_zero, (void));
TRL__EACH(trl_weight, weight_one, (void));
TRL__EACH(trl_weight, weight_plus, (trl_weight a, trl_weight b));
TRL__EACH(trl_weight, weight_times, (trl_weight a, trl_weight b));
TRL__EACH(trl_weight, weight_divide, (trl_weight a, trl_weight b));
TRL__EACH(int, weight_is_zero, (trl_weight a));
TRL__EACH(int, weight_is_member, (trl_weight a));
TRL__EACH(int, weight_equal, (trl_weight a, trl_weight b, float delta));

trl_weight FN(weight_zero)(void)
{
    return to_public(ZERO);
}

trl_weight FN(weight_one)(void)
{
    return to_public(ONE);
}

trl_weight FN(weight_plus)(trl_weight a, trl_weight b)
{
    return to_public(plus(from_public(a), from_public(b)));
}

trl_weight FN(weight_times)(trl_weight a, trl_weight b)
{
    return to_public(times(from_public(a), from_public(b)));
}

trl_weight FN(weight_divide)(trl_weight a, trl_weight b)
{
    return to_public(divide(from_public(a), from_public(b)));
}

int FN(weight_is_zero)(trl_weight a)
{
    return is_zero(from_public(a));
}

int FN(weight_is_member)(trl_weight a)
{
    return is_member(from_public(a));
}

int FN(weight_equal)(trl_weight a, trl_weight b, float delta)
{
    return nearly(from_public(a), from_public(b), delta);
}

#if TRL__FIRST
trl_weight trl_weight_zero(trl_semiring semiring)
{
    TRL__DISPATCH(semiring, weight_zero, ());
}

trl_weight trl_weight_one(trl_semiring semiring)
{
    TRL__DISPATCH(semiring, weight_one, ());
}

trl_weight trl_weight_plus(trl_semiring semiring, trl_weight a, trl_weight b)
{
    TRL__DISPATCH(semiring, weight_plus, (a, b));
}

trl_weight trl_weight_times(trl_semiring semiring, trl_weight a, trl_weight b)
{
    TRL__DISPATCH(semiring, weight_times, (a, b));
}

trl_weight trl_weight_divide(trl_semiring semiring, trl_weight a, trl_weight b)
{
    TRL__DISPATCH(semiring, weight_divide, (a, b));
}

int trl_weight_is_zero(trl_semiring semiring, trl_weight a)
{
    TRL__DISPATCH(semiring, weight_is_zero, (a));
}

int trl_weight_is_member(trl_semiring semiring, trl_weight a)
{
    TRL__DISPATCH(semiring, weight_is_member, (a));
}

int trl_weight_equal(trl_semiring semiring, trl_weight a, trl_weight b, float delta)
{
    TRL__DISPATCH(semiring, weight_equal, (a, b, delta));
}

static const char *const names[TRL_SEMIRINGS] = {"tropical", "log", "real", "lattice"};

const char *trl_semiring_name(trl_semiring semiring)
{
    return (int)semiring >= 0 && semiring < TRL_SEMIRINGS ? names[semiring] : "unknown";
}

int trl_semiring_find(const char *name, trl_semiring *semiring)
{
    for (int i = 0; i < TRL_SEMIRINGS; i++)
        if (strcmp(name, names[i]) == 0) {
            *semiring = (trl_semiring)i;
            return 0;
        }
    return -1;
}
#endif
