/* The instruction set: what TRELLIS_CPU may force. */
#include "cmocka_test.h"

#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/version.h>

static void the_environment_forces_a_level(void **state)
{
    (void)state;
    unsetenv("TRELLIS_CPU");
    trl__cpu_level best = trl__cpu();
    const char *best_name = trl_cpu_level();
    assert_true(best >= TRL__CPU_BASE);
    assert_string_equal(best_name, trl__cpu_level_name(best));
    setenv("TRELLIS_CPU", "ref", 1);
    assert_int_equal(trl__cpu(), TRL__CPU_REF);
    assert_string_equal(trl_cpu_level(), "ref");
    setenv("TRELLIS_CPU", "base", 1);
    assert_int_equal(trl__cpu(), TRL__CPU_BASE);
    setenv("TRELLIS_CPU", "avx2", 1);
    assert_int_equal(trl__cpu(), best < TRL__CPU_AVX2 ? best : TRL__CPU_AVX2);
    setenv("TRELLIS_CPU", "avx9000", 1);
    assert_int_equal(trl__cpu(), best);
    setenv("TRELLIS_CPU", "", 1);
    assert_int_equal(trl__cpu(), best);
}

static void the_version_is_the_headers(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", TRL_VERSION_MAJOR, TRL_VERSION_MINOR, TRL_VERSION_PATCH);
    assert_string_equal(trl_version(), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_forces_a_level),
        cmocka_unit_test(the_version_is_the_headers),
    };
    return RUN(tests);
}
