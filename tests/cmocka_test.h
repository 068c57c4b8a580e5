/* What every cmocka program needs, in the order cmocka wants it. */
#ifndef TEST_CMOCKA_TEST_H
#define TEST_CMOCKA_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* For programs that take long: the thread sanitizer, which makes them ten times slower, sees the tests with threads in their names. Of many random cases the sanitizers
 * see the first ones: what they look for does not hide in one of thousands. */
#if defined __SANITIZE_THREAD__
#define RUN_LONG(tests) (cmocka_set_test_filter("*threads*"), RUN(tests))
#define RANDOM_CASES(count) ((count) / 4)
#elif defined __SANITIZE_ADDRESS__
#define RUN_LONG(tests) RUN(tests)
#define RANDOM_CASES(count) ((count) / 4)
#else
#define RUN_LONG(tests) RUN(tests)
#define RANDOM_CASES(count) (count)
#endif

#endif
