/* What every cmocka program needs, in the order cmocka wants it. */
#ifndef TEST_CMOCKA_TEST_H
#define TEST_CMOCKA_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

#endif
