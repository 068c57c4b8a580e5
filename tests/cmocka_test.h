/* What every cmocka program needs, in the order cmocka wants it. */
#ifndef TEST_CMOCKA_TEST_H
#define TEST_CMOCKA_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* For programs that take long: the thread sanitizer, which makes them ten times slower, sees the tests with threads in their names. */
#ifdef __SANITIZE_THREAD__
#define RUN_LONG(tests) (cmocka_set_test_filter("*threads*"), RUN(tests))
#define OF_THREADS(count) ((count) / 4) /* random cases of those with threads all over */
#else
#define RUN_LONG(tests) RUN(tests)
#define OF_THREADS(count) (count)
#endif

#endif
