/* The log: levels, silence, and one message at a time from many threads. */
#include "cmocka_test.h"

#include "base/log_write.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct heard {
    int count;
    trl_log_level level;
    char text[2000];
    atomic_int inside, overlaps;
};

static void hear(void *user, trl_log_level level, const char *text)
{
    struct heard *heard = user;
    if (atomic_fetch_add(&heard->inside, 1) != 0)
        atomic_fetch_add(&heard->overlaps, 1);
    heard->count++;
    heard->level = level;
    strncpy(heard->text, text, sizeof heard->text - 1);
    atomic_fetch_sub(&heard->inside, 1);
}

static void levels_filter(void **state)
{
    (void)state;
    for (int limit = TRL_LOG_ERROR; limit <= TRL_LOG_DEBUG; limit++) {
        for (int level = TRL_LOG_ERROR; level <= TRL_LOG_DEBUG; level++) {
            struct heard heard = {0};
            trl_log_set((trl_log_level)limit, hear, &heard);
            trl__log((trl_log_level)level, "n=%d %s", 5, "x");
            assert_int_equal(heard.count, level <= limit);
            assert_string_equal(heard.text, level <= limit ? "n=5 x" : "");
            if (heard.count)
                assert_int_equal(heard.level, level);
        }
    }
}

static void without_a_callback_nothing_is_said(void **state)
{
    (void)state;
    struct heard heard = {0};
    trl_log_set(TRL_LOG_DEBUG, hear, &heard);
    trl_log_set(TRL_LOG_DEBUG, NULL, &heard);
    trl__log(TRL_LOG_ERROR, "x");
    assert_int_equal(heard.count, 0);
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    struct heard heard = {0};
    char text[1901];
    memset(text, 'a', 1900);
    text[1900] = '\0';
    trl_log_set(TRL_LOG_DEBUG, hear, &heard);
    trl__log(TRL_LOG_ERROR, "%s", text);
    assert_int_equal(strlen(heard.text), 999);
}

static void *talk(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++)
        trl__log(TRL_LOG_INFO, "%d", i);
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    struct heard heard = {0};
    pthread_t threads[4];
    trl_log_set(TRL_LOG_INFO, hear, &heard);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(heard.count, 2000);
    assert_int_equal(heard.overlaps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_filter),
        cmocka_unit_test(without_a_callback_nothing_is_said),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(threads_take_turns),
    };
    return RUN(tests);
}
