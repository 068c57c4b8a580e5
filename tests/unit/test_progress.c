/* The progress display against a clock that we set, text for text. */
#include "cmocka_test.h"

#include "base/memory.h"

#include <trellis/progress.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct screen {
    double now;
    int writes;
    char text[4000];
};

static double fake_clock(void *user)
{
    return ((struct screen *)user)->now;
}

static void capture(void *user, const char *text, size_t length)
{
    struct screen *screen = user;
    assert_int_equal(strlen(text), length);
    assert_true(strlen(screen->text) + length < sizeof screen->text);
    strcat(screen->text, text);
    screen->writes++;
}

static trl_progress *begin(struct screen *screen, int bar, uint64_t total, int width)
{
    *screen = (struct screen){.now = 1000};
    trl_progress_options o = trl_progress_defaults();
    o.label = "features";
    o.unit = "utt";
    o.total = total;
    o.bar = bar;
    o.width = width;
    o.clock = fake_clock;
    o.write = capture;
    o.user = screen;
    trl_progress *progress;
    assert_int_equal(trl_progress_create(&o, &progress, NULL), 0);
    return progress;
}

/* What the display wrote since the last look. */
static void expect(struct screen *screen, const char *text)
{
    assert_string_equal(screen->text, text);
    screen->text[0] = '\0';
}

static void a_bar_with_rate_and_time_left(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 1, 948, 72);
    trl_progress_add(progress, 0);
    expect(&screen, "");
    screen.now = 1000.09; /* a bar is drawn ten times a second at most */
    trl_progress_add(progress, 0);
    expect(&screen, "");
    screen.now = 1010;
    trl_progress_add(progress, 474); /* half; 47.4 a second, so the other half takes 10 seconds */
    expect(&screen, "\rfeatures [========>      ]  50%  474/948 utt  47/s  0:10 left          ");
    screen.now = 1010.05;
    trl_progress_add(progress, 1);
    expect(&screen, "");
    screen.now = 1020;
    trl_progress_add(progress, 472); /* all but one: not yet 100% */
    expect(&screen, "\rfeatures [===============]  99%  947/948 utt  47/s  0:00 left          ");
    trl_progress_add(progress, 1);
    trl_progress_destroy(progress);
    expect(&screen, "\rfeatures [===============] 100%  948/948 utt  47/s  in 0:20            \n");
}

static void lines_now_and_then(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 0, 100, 0);
    for (int i = 1; i <= 29; i++) {
        screen.now = 1000 + i;
        trl_progress_add(progress, 1);
    }
    assert_int_equal(screen.writes, 2); /* after 10 and 20 seconds */
    expect(&screen, "features  10%  10/100 utt  1.0/s  1:30 left\nfeatures  20%  20/100 utt  1.0/s  1:20 left\n");
    trl_progress_destroy(progress);
    expect(&screen, "features  29%  29/100 utt  1.0/s  in 0:29\n");
}

static void an_unknown_total_has_no_bar_and_no_end(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 1, 0, 40);
    screen.now = 1002;
    trl_progress_add(progress, 5);
    expect(&screen, "\rfeatures 5 utt  2.5/s                  ");
    screen.now = 1002 + 3600 + 62;
    trl_progress_destroy(progress);
    expect(&screen, "\rfeatures 5 utt  0.0/s  in 1:01:04      \n");
}

static void more_than_all_is_all(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 0, 10, 0);
    screen.now = 1010;
    trl_progress_add(progress, 30);
    expect(&screen, "features 100%  30/10 utt  3.0/s\n");
    trl_progress_destroy(progress);
    expect(&screen, "features 100%  30/10 utt  3.0/s  in 0:10\n");
}

static void a_bar_is_cut_to_the_terminal(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 1, 948, 20);
    screen.now = 1010;
    trl_progress_add(progress, 474);
    expect(&screen, "\rfeatures [========>"); /* the last column stays free: a terminal may wrap there */
    trl_progress_destroy(progress);
    expect(&screen, "\rfeatures [========>\n");
    progress = begin(&screen, 1, 948, 0);
    trl_progress_add(progress, 1);
    trl_progress_destroy(progress);
    expect(&screen, "\rf\n");
}

static void a_very_wide_terminal_gets_its_line_end(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 1, 948, 100000);
    trl_progress_add(progress, 1);
    trl_progress_destroy(progress);
    static const char start[] = "\rfeatures [>              ]   0%  1/948 utt  0.0/s  in 0:00   ";
    assert_memory_equal(screen.text, start, sizeof start - 1);
    assert_int_equal(screen.text[strlen(screen.text) - 1], '\n');
}

/* What could not begin has an error message instead. */
static void nothing_of_something_is_not_shown(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress_destroy(begin(&screen, 1, 948, 80));
    expect(&screen, "");
    trl_progress_destroy(begin(&screen, 0, 948, 0));
    expect(&screen, "");
    trl_progress_destroy(begin(&screen, 0, 0, 0));
    expect(&screen, "features 0 utt  0.0/s  in 0:00\n");
}

static void bytes_are_megabytes(void **state)
{
    (void)state;
    struct screen screen = {.now = 1000};
    trl_progress_options o = trl_progress_defaults();
    o.label = "reducing";
    o.unit = "B";
    o.total = 41266224;
    o.clock = fake_clock;
    o.write = capture;
    o.user = &screen;
    trl_progress *progress;
    assert_int_equal(trl_progress_create(&o, &progress, NULL), 0);
    screen.now = 1010;
    trl_progress_add(progress, 20633112);
    expect(&screen, "reducing  50%  20.6/41.3 MB  2.1/s  0:10 left\n");
    screen.now = 1011;
    trl_progress_add(progress, 20633112);
    trl_progress_destroy(progress);
    expect(&screen, "reducing 100%  41.3/41.3 MB  3.8/s  in 0:11\n");
}

static void odd_clocks_do_no_harm(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 0, UINT64_MAX, 0);
    screen.now = 1e9; /* a rate so small that the rest would take 1e20 years */
    trl_progress_add(progress, 1);
    expect(&screen, "features   0%  1/18446744073709551615 utt  0.0/s  99:59:59 left\n");
    screen.now = 900; /* a clock that goes backwards */
    trl_progress_destroy(progress);
    expect(&screen, "features   0%  1/18446744073709551615 utt  0.0/s  in 0:00\n");
}

static void without_a_label_the_line_starts_at_once(void **state)
{
    (void)state;
    struct screen screen = {.now = 0};
    trl_progress_options o = trl_progress_defaults();
    o.clock = fake_clock;
    o.write = capture;
    o.user = &screen;
    o.interval = 2;
    trl_progress *progress;
    assert_int_equal(trl_progress_create(&o, &progress, NULL), 0);
    screen.now = 1.9;
    trl_progress_add(progress, 1);
    expect(&screen, "");
    screen.now = 2;
    trl_progress_add(progress, 39);
    expect(&screen, "40 items  20/s\n");
    trl_progress_destroy(progress);
}

static void *add_many(void *progress)
{
    for (int i = 0; i < 1000; i++)
        trl_progress_add(progress, 1);
    return NULL;
}

static void threads_add_up(void **state)
{
    (void)state;
    struct screen screen;
    trl_progress *progress = begin(&screen, 0, 4000, 0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, progress), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    screen.now = 1100;
    trl_progress_destroy(progress);
    expect(&screen, "features 100%  4000/4000 utt  40/s  in 1:40\n");
}

static void nothing_to_show_is_fine(void **state)
{
    (void)state;
    trl_progress_add(NULL, 1);
    trl_progress_destroy(NULL);
    trl_progress_options o = trl_progress_defaults();
    trl_progress *progress;
    trl_error err;
    assert_int_equal(trl_progress_create(&o, &progress, &err), TRL_EINVAL);
    assert_null(progress);
    o.write = capture;
    trl__memory_fail_after(1);
    assert_int_equal(trl_progress_create(&o, &progress, &err), TRL_ENOMEM);
    trl__memory_fail_after(0);
    assert_null(progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_with_rate_and_time_left),
        cmocka_unit_test(lines_now_and_then),
        cmocka_unit_test(an_unknown_total_has_no_bar_and_no_end),
        cmocka_unit_test(more_than_all_is_all),
        cmocka_unit_test(a_bar_is_cut_to_the_terminal),
        cmocka_unit_test(a_very_wide_terminal_gets_its_line_end),
        cmocka_unit_test(nothing_of_something_is_not_shown),
        cmocka_unit_test(bytes_are_megabytes),
        cmocka_unit_test(odd_clocks_do_no_harm),
        cmocka_unit_test(without_a_label_the_line_starts_at_once),
        cmocka_unit_test(threads_add_up),
        cmocka_unit_test(nothing_to_show_is_fine),
    };
    return RUN(tests);
}
