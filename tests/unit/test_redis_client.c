/* The client of Redis Clusters: slots, addresses, settings; and servers that answer in every way that they should not, played by a thread. Whatever they do, a run ends in time. */
#include "bam/redis_cluster.h"
#include "base/memory.h"
#include "redis_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static uint32_t slot_of(const char *key)
{
    return trl__redis_slot(key, strlen(key));
}

/* CRC16/XMODEM's check value, and the examples of Redis's specification of hash tags. */
static void slots_are_those_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(slot_of("123456789"), 0x31c3);
    assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
    assert_int_equal(slot_of("{user1000}.followers"), slot_of("user1000"));
    assert_int_equal(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    assert_int_equal(slot_of("foo{bar}{zap}"), slot_of("bar"));
    assert_int_not_equal(slot_of("foo{}{bar}"), slot_of("bar"));
    assert_int_not_equal(slot_of("foo{bar"), slot_of("bar"));
}

static void addresses_are_read(void **state)
{
    trl__redis_settings s;
    trl_error err;
    (void)state;
    assert_int_equal(trl__redis_settings_read("redis://a,b:7001,[::1]:7002,[::2]/my-model.2", &s, &err), 0);
    assert_int_equal(s.count, 4);
    assert_string_equal(s.name, "my-model.2");
    assert_string_equal(s.addresses[0].host, "a");
    assert_int_equal(s.addresses[0].port, 6379);
    assert_string_equal(s.addresses[1].host, "b");
    assert_int_equal(s.addresses[1].port, 7001);
    assert_string_equal(s.addresses[2].host, "::1");
    assert_int_equal(s.addresses[2].port, 7002);
    assert_string_equal(s.addresses[3].host, "::2");
    assert_null(s.password);
    trl__redis_settings_free(&s);
    static const char *const bad[] = {"redis://",       "redis://a",       "redis://a/",       "redis:///m",
                                      "redis://a:0/m",  "redis://a:x/m",   "redis://a,/m",     "redis://[::1/m",
                                      "redis://[a]b/m", "redis://a/m{x}",  "redis://a/m/n",    "redis://u:p@a/m",
                                      "redis://a:/m",   "redis://a:1e5/m", "redis://a:70000/m"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(trl__redis_settings_read(bad[i], &s, &err), TRL_EINVAL);
        trl__redis_settings_free(&s);
    }
}

/* ---- a server ---- */

typedef struct server {
    int listening, port;
    const char *slots; /* its answer to CLUSTER SLOTS; NULL: it has them all */
    const char *get;   /* its answer to GET; NULL: none, "": it hangs up. %d becomes its port */
    const char *asking;
    atomic_int gets; /* that came */
    pthread_t thread;
} server;

static server make_server(void)
{
    server s = {.listening = 0};
    s.listening = listen_on_loopback(&s.port);
    return s;
}

/* A client that is gone meanwhile ends no process. */
static void answer(int client, const server *s, const char *text)
{
    char bytes[200];
    const char *mark = strstr(text, "%d");
    int size = mark ? snprintf(bytes, sizeof bytes, "%.*s%d%s", (int)(mark - text), text, s->port, mark + 2)
                    : snprintf(bytes, sizeof bytes, "%s", text);
    send(client, bytes, (size_t)size, MSG_NOSIGNAL);
}

static void *serve(void *user)
{
    server *s = user;
    for (int client; (client = accept(s->listening, NULL, NULL)) >= 0;) {
        FILE *in = fdopen(client, "r");
        char word[32];
        int on = 1;
        while (on && read_command(in, word)) {
            int is_get = strcmp(word, "GET") == 0;
            s->gets += is_get;
            if (strcmp(word, "ASKING") == 0)
                answer(client, s, s->asking);
            else if (!is_get)
                answer(client, s, s->slots ? s->slots : "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:%d\r\n");
            else if (s->get)
                answer(client, s, s->get);
            on = !is_get || !s->get || *s->get;
        }
        fclose(in);
    }
    return NULL;
}

static void end_server(server *s)
{
    shutdown(s->listening, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listening);
}

#define WAIT 0.3
#define REQUESTS 5

static long failing; /* which allocation fails; 0: none */
static const char *asking = "+OK\r\n";

/* Five requests to a server with these answers; what run returned. */
static int run_against(const char *slots, const char *get, trl__redis_request requests[REQUESTS], trl_error *err)
{
    char where[64];
    trl__redis_settings settings;
    trl__redis *redis;
    server s = make_server();
    s.slots = slots;
    s.get = get;
    s.asking = asking;
    assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
    snprintf(where, sizeof where, "redis://127.0.0.1:%d/m", s.port);
    assert_int_equal(trl__redis_settings_read(where, &settings, err), 0);
    settings.timeout = get && !get[0] ? 0.5 : 2; /* only who is silent is waited for */
    settings.wait = WAIT;
    trl__memory_fail_after(failing);
    double deadline = trl__redis_deadline(&settings);
    int code = trl__redis_open(&settings, deadline, &redis, err);
    for (size_t i = 0; i < REQUESTS; i++)
        requests[i] = (trl__redis_request){.key = &"abcde"[i], .key_size = 1};
    if (code == 0)
        code = trl__redis_run(redis, requests, REQUESTS, deadline, err);
    trl__memory_fail_after(0);
    trl__redis_close(redis);
    end_server(&s);
    trl__redis_settings_free(&settings);
    return code;
}

static void answers_are_taken(void **state)
{
    trl__redis_request r[REQUESTS];
    trl_error err;
    (void)state;
    assert_int_equal(run_against(NULL, "$-1\r\n", r, &err), 0);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(r[i].status, TRL__REDIS_NONE);
    assert_int_equal(run_against("-ERR This instance has cluster support disabled\r\n", "$0\r\n\r\n", r, &err), 0);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_true(r[i].status == TRL__REDIS_VALUE && r[i].value_size == 0);
    assert_int_equal(run_against(NULL, "$5\r\nab\r\nc\r\n", r, &err), 0);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(r[i].value_size, 5);
}

/* Of a server that can't, is silent, hangs up, sends its clients in circles, or has no slots, all is lost; it takes as long as it may, and what one more answer takes. */
static void what_is_not_answered_is_lost_in_time(void **state)
{
    static const char *const gets[] = {
        NULL,
        "",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-TRYAGAIN later\r\n",
        "-LOADING data\r\n",
        "-MOVED 1 127.0.0.1:%d\r\n",
        "-MOVED nonsense\r\n",
        "-ASK 1 127.0.0.1:1\r\n",
    };
    trl__redis_request r[REQUESTS];
    trl_error err;
    (void)state;
    for (size_t g = 0; g < sizeof gets / sizeof *gets; g++) {
        double start = seconds();
        assert_int_equal(run_against(NULL, gets[g], r, &err), 0);
        assert_true(seconds() - start < 60); /* not without end */
        for (size_t i = 0; i < REQUESTS; i++)
            assert_int_equal(r[i].status, TRL__REDIS_LOST);
    }
    assert_int_equal(run_against("*0\r\n", "$-1\r\n", r, &err), 0);
    assert_int_equal(r[0].status, TRL__REDIS_LOST);
}

static void errors_are_said(void **state)
{
    trl__redis_request r[REQUESTS];
    trl_error err;
    (void)state;
    assert_int_equal(run_against(NULL, "-NOPERM no right to get\r\n", r, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "no right to get"));
    assert_int_equal(run_against(NULL, ":17\r\n", r, &err), TRL_EIO);
    assert_int_equal(run_against("-NOAUTH who are you\r\n", "", r, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "who are you"));
    assert_int_equal(run_against(NULL, "+OK\r\n", r, &err), TRL_EIO); /* to GET */
    assert_int_equal(run_against(NULL, "-ERR \033[2J\r\n", r, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "ERR ?[2J")); /* nothing that a terminal obeys */
    asking = "-NOPERM no right to ask\r\n";
    assert_int_equal(run_against(NULL, "-ASK 1 127.0.0.1:%d\r\n", r, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "no right to ask"));
    asking = "+OK\r\n";
}

static void memory_runs_out(void **state)
{
    trl__redis_request r[REQUESTS];
    trl_error err;
    int code = TRL_ENOMEM;
    (void)state;
    for (failing = 1; code != 0; failing++) {
        code = run_against(NULL, "$3\r\nabc\r\n", r, &err);
        assert_true(code == 0 || code == TRL_ENOMEM);
    }
    assert_true(failing > 3);
    failing = 0;
    assert_int_equal(r[REQUESTS - 1].status, TRL__REDIS_VALUE);
}

/* A server that was lost once is not waited for again, and asked again only after a while. */
static void a_lost_server_is_not_waited_for_twice(void **state)
{
    char where[64];
    trl__redis_settings settings;
    trl__redis *redis;
    trl_error err;
    server s = make_server();
    (void)state;
    s.get = "-CLUSTERDOWN gone\r\n";
    assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
    snprintf(where, sizeof where, "redis://127.0.0.1:%d/m", s.port);
    assert_int_equal(trl__redis_settings_read(where, &settings, &err), 0);
    settings.timeout = 2;
    settings.wait = 0.1;
    assert_int_equal(trl__redis_open(&settings, trl__redis_deadline(&settings), &redis, &err), 0);
    trl__redis_request r = {.key = "a", .key_size = 1};
    assert_int_equal(trl__redis_run(redis, &r, 1, trl__redis_deadline(&settings), &err), 0);
    assert_int_equal(r.status, TRL__REDIS_LOST);
    int before = s.gets;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(trl__redis_run(redis, &r, 1, trl__redis_deadline(&settings), &err), 0);
        assert_int_equal(r.status, TRL__REDIS_LOST);
    }
    trl__redis_close(redis);
    end_server(&s);
    trl__redis_settings_free(&settings);
    assert_true(s.gets - before < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_the_specification),
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(answers_are_taken),
        cmocka_unit_test(what_is_not_answered_is_lost_in_time),
        cmocka_unit_test(errors_are_said),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(a_lost_server_is_not_waited_for_twice),
    };
    return RUN(tests);
}
