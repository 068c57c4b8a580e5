/* Names of devices: which are taken, and what is said of the others. */
#include "backend/device_name.h"
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>
#include <trellis/device.h>

static trl_error err;

static void names_have_parts(void **state)
{
    (void)state;
    const struct {
        const char *text;
        trl__device_name name;
    } cases[] = {
        {"cpu", {"cpu", "", 0}},           {"cpu:avx512", {"cpu", "avx512", 0}}, {"opencl", {"opencl", "", 0}},
        {"opencl:12", {"opencl", "", 12}}, {"opencl:gpu", {"opencl", "gpu", 0}}, {"opencl:3:cpu", {"opencl", "cpu", 3}},
        {"cuda:1", {"cuda", "", 1}},       {"cuda:1:gpu", {"cuda", "gpu", 1}},   {"auto", {"auto", "", 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trl__device_name name;
        assert_int_equal(trl__device_name_parse(cases[i].text, strlen(cases[i].text), &name, &err), 0);
        assert_string_equal(name.family, cases[i].name.family);
        assert_string_equal(name.level, cases[i].name.level);
        assert_int_equal(name.index, cases[i].name.index);
        assert_int_equal(trl_device_check_name(cases[i].text, &err), 0);
    }
    assert_int_equal(trl_device_check_name("cpu:avx2,opencl:0:gpu,cuda:1", &err), 0);
}

/* The whole name is in the message, and what could have been meant. */
static void wrong_names_are_shown_whole(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"cpux", "cpu:avx2"},
        {"cpu:foo", "cpu:avx2"},
        {"cpu:0", "cpu:avx2"},
        {"cpu:", "cpu:avx2"},
        {"opencl:0x", "opencl:N:gpu"},
        {"opencl:-1", "opencl:N:gpu"},
        {"opencl:", "opencl:N:gpu"},
        {"opencl::", "opencl:N:gpu"},
        {"opencl:0:", "opencl:N:gpu"},
        {"opencl:0:fast", "gpu or cpu"},
        {"opencl:0:gpu:1", "opencl:N:gpu"},
        {"opencl:12345678901", "opencl:N:gpu"},
        {"cuda:x", "cuda, cuda:N"},
        {"auto:1", "auto"},
        {"gpu", "opencl:N:gpu"},
        {"", "opencl:N:gpu"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char quoted[40];
        snprintf(quoted, sizeof quoted, "\"%s\"", cases[i][0]);
        assert_int_equal(trl_device_check_name(cases[i][0], &err), TRL_EINVAL);
        if (!strstr(err.text, quoted) || !strstr(err.text, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], err.text);
    }
    assert_int_equal(trl_device_check_name("cuda:x", &err), TRL_EINVAL);
    assert_null(strstr(err.text, "cpu")); /* a shape that CUDA does not have */
}

static void lists_are_of_names(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "cpu,", ",cpu", "cpu,,cpu", "cpu,foo", "auto,cpu", "cpu,auto", "cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(trl_device_check_name(wrong[i], &err), TRL_EINVAL);
}

static void counts_agree_with_their_nouns(void **state)
{
    (void)state;
    assert_int_equal(trl__device_name_beyond("opencl", "OpenCL", 1000, 1, &err), TRL_EINVAL);
    assert_string_equal(err.text, "opencl:1000: there is 1 OpenCL device, counted from 0");
    trl__device_name_beyond("cuda", "CUDA", 2, 2, &err);
    assert_string_equal(err.text, "cuda:2: there are 2 CUDA devices, counted from 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_parts),
        cmocka_unit_test(wrong_names_are_shown_whole),
        cmocka_unit_test(lists_are_of_names),
        cmocka_unit_test(counts_agree_with_their_nouns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
