/* Servers that mean harm to the client of Redis Clusters: answers without end, byte by byte, or that promise what
 * can't be. What the client does ends at the time that it was told, with an error or with requests that are lost, and
 * it holds little memory. The servers are threads that end with their clients. */
#include "bam/lookup.h"
#include "bam/redis_cluster.h"
#include "redis_server.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#define SLOTS "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:%d\r\n"
#define TIMEOUT "0.3" /* seconds; told by TRELLIS_REDIS_TIMEOUT … */
#define WAIT "0.1"    /* … and TRELLIS_REDIS_WAIT */
#define ENOUGH \
    30.0 /* seconds that no operation may take on any machine; without limits they take minutes or for ever */

/* How the text of an answer is sent. */
typedef enum manner {
    AT_ONCE,
    WITHOUT_END, /* and again, and again */
    DROP_BY_DROP /* a byte now and then, always before the client loses its patience, and again without end */
} manner;

typedef struct server {
    int listening, port;
    const char *word; /* of the command that is answered so; others as a good server would */
    const char *text;
    manner how;
    atomic_int is_over;
    pthread_t thread;
} server;

static trl_error err;

/* 0: the client is gone. */
static int put(int client, const char *bytes, size_t size)
{
    return send(client, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Returns 0: the client is gone. */
static int attack(server *s, int client)
{
    int goes_on = 1;
    do {
        size_t size = strlen(s->text);
        if (s->how != DROP_BY_DROP)
            goes_on = put(client, s->text, size);
        for (size_t i = 0; goes_on && s->how == DROP_BY_DROP && i < size; i++)
            goes_on = put(client, s->text + i, 1) && poll(NULL, 0, 50) == 0;
    } while (goes_on && s->how != AT_ONCE && !s->is_over);
    return goes_on && !s->is_over;
}

static void *serve(void *user)
{
    server *s = user;
    for (int client; (client = accept(s->listening, NULL, NULL)) >= 0;) {
        FILE *in = fdopen(client, "r");
        char word[32], slots[200];
        int goes_on = 1;
        while (goes_on && read_command(in, word)) {
            snprintf(slots, sizeof slots, SLOTS, s->port);
            const char *good = strcmp(word, "CLUSTER") == 0 ? slots
                               : strcmp(word, "SCAN") == 0  ? "*2\r\n$1\r\n0\r\n*0\r\n"
                                                            : "$-1\r\n";
            goes_on = strcmp(word, s->word) == 0 ? attack(s, client) : put(client, good, strlen(good));
        }
        fclose(in);
    }
    return NULL;
}

static void begin_server(server *s)
{
    s->listening = listen_on_loopback(&s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end_server(server *s)
{
    s->is_over = 1;
    shutdown(s->listening, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listening);
}

static size_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* Opens, gets a key and removes others; what the last of these said. */
static int use(const trl__redis_settings *settings, trl__redis_request *q)
{
    trl__redis *redis;
    double deadline = trl__redis_deadline(settings);
    int code = trl__redis_open(settings, deadline, &redis, &err);
    *q = (trl__redis_request){.key = "a", .key_size = 1};
    if (code == 0)
        code = trl__redis_run(redis, q, 1, deadline, &err);
    if (code == 0)
        code = trl__redis_remove(redis, "m:*", "m:1:", &err);
    trl__redis_close(redis);
    return code;
}

static void read_settings(int port, trl__redis_settings *settings)
{
    char where[64];
    snprintf(where, sizeof where, "redis://127.0.0.1:%d/m", port);
    assert_int_equal(trl__redis_settings_read(where, settings, &err), 0);
}

/* `saying` NULL: no error, the request is lost. */
static void check(const char *word, const char *text, manner how, const char *saying)
{
    server s = {.word = word, .text = text, .how = how};
    trl__redis_settings settings;
    trl__redis_request q;
    begin_server(&s);
    read_settings(s.port, &settings);
    size_t memory = peak_bytes();
    double start = seconds();
    int code = use(&settings, &q);
    double took = seconds() - start;
    memory = peak_bytes() - memory;
    end_server(&s);
    trl__redis_settings_free(&settings);
    if (code != (saying ? TRL_EIO : 0) || (saying && !strstr(err.text, saying)) ||
        (!saying && q.status != TRL__REDIS_LOST))
        fail_msg("%s, '%.20s', %d: %d, %s", word, text, (int)how, code, code < 0 ? err.text : "no error");
    if (took > ENOUGH || memory > (size_t)300 << 20)
        fail_msg("%s, '%.20s', %d: %g s, %zu bytes", word, text, (int)how, took, memory);
}

static void lines_have_an_end(void **state)
{
    (void)state;
    check("GET", "+", WITHOUT_END, "a line of more than");
    check("CLUSTER", "-and so on ", WITHOUT_END, "a line of more than");
    check("GET", "$1111111", WITHOUT_END, "a line of more than");
    check("SCAN", ":", WITHOUT_END, "a line of more than");
}

static void promises_are_limited(void **state)
{
    (void)state;
    check("GET", "$9223372036854775806\r\nx", AT_ONCE, "no Redis");
    check("GET", "$1099511627776\r\nx", AT_ONCE, "it sends more than this can be");
    check("GET", "$-2\r\n", AT_ONCE, "'-2'");
    check("GET", "$ 3\r\nabc\r\n", AT_ONCE, "' 3'");
    check("GET", "$3\r\nabcd\r\n", AT_ONCE, "longer than was said");
    check("GET", "?garbage\r\n", AT_ONCE, "'?garbage'");
    check("GET", ":99999999999999999999\r\n", AT_ONCE, "where a number");
    check("CLUSTER", "*2147483647\r\n", AT_ONCE, "a list of 2147483647 entries");
    check("CLUSTER", "*1\r\n", WITHOUT_END, "lists in lists");
    check("CLUSTER", "*1000000\r\n*1000000\r\n", AT_ONCE, "a list of 1000000 entries");
    check("GET", "$1000000000\r\nand then nothing", AT_ONCE, NULL);
}

static void slots_must_make_sense(void **state)
{
    static const char *const ranges[] = {
        "*1\r\n*3\r\n:0\r\n:9223372036854775807\r\n*2\r\n$0\r\n\r\n:1\r\n",
        "*1\r\n*3\r\n:-9223372036854775808\r\n:5\r\n*2\r\n$0\r\n\r\n:1\r\n",
        "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$0\r\n\r\n:1\r\n",
        "*1\r\n*3\r\n$1\r\n0\r\n:4\r\n*2\r\n$0\r\n\r\n:1\r\n",
        "*1\r\n*2\r\n:1\r\n:2\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n*-1\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        check("CLUSTER", ranges[i], AT_ONCE, "CLUSTER SLOTS makes no sense");
    /* Addresses that are none: nobody has the slots. */
    check("CLUSTER", "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$3\r\na b\r\n:1\r\n", AT_ONCE, NULL);
    check("CLUSTER", "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$-1\r\n:70000\r\n", AT_ONCE, NULL);
    check("CLUSTER", "*1\r\n*3\r\n:0\r\n:16383\r\n*0\r\n", AT_ONCE, NULL);
}

static void scans_must_make_sense(void **state)
{
    static const char *const found[] = {"*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n",
                                        "*2\r\n$-1\r\n*0\r\n",
                                        "*2\r\n:0\r\n*0\r\n",
                                        "*1\r\n$1\r\n0\r\n",
                                        "*2\r\n$1\r\n0\r\n$1\r\nx\r\n",
                                        "$-1\r\n",
                                        "*2\r\n$30\r\n012345678901234567890123456789\r\n*0\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        check("SCAN", found[i], AT_ONCE, "SCAN makes no sense");
    /* Without end: 20 times what is waited for. */
    check("SCAN", "*2\r\n$1\r\n7\r\n*0\r\n", AT_ONCE, "in time (TRELLIS_REDIS_WAIT)");
    check("SCAN", "*2\r\n$1\r\n7\r\n*1\r\n$3\r\nm:x\r\n", AT_ONCE, "in time (TRELLIS_REDIS_WAIT)");
}

static void drops_have_an_end(void **state)
{
    (void)state;
    check("GET", "$1000\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", DROP_BY_DROP, NULL);
    check("GET", "+xxxx", DROP_BY_DROP, NULL);
    check("CLUSTER", "*1000\r\n", DROP_BY_DROP, "no Redis answers there");
    check("SCAN", "*1000\r\n", DROP_BY_DROP, "old keys could not all be listed");
}

/* What the model is about is there sixteen times: all of them are asked for within the one time. */
static void copies_share_their_time(void **state)
{
    (void)state;
    server s = {.word = "GET", .text = "+x", .how = DROP_BY_DROP};
    trl__lookup *lookup;
    char where[64];
    begin_server(&s);
    snprintf(where, sizeof where, "redis://127.0.0.1:%d/m", s.port);
    double start = seconds();
    assert_int_equal(trl__lookup_open(where, &lookup, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "none of the servers that answer knows of the model"));
    assert_true(seconds() - start < 16 * (0.3 + 0.1)); /* each with a time of its own */
    end_server(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_an_end),     cmocka_unit_test(promises_are_limited),
        cmocka_unit_test(slots_must_make_sense), cmocka_unit_test(scans_must_make_sense),
        cmocka_unit_test(drops_have_an_end),     cmocka_unit_test(copies_share_their_time),
    };
    setenv("TRELLIS_REDIS_TIMEOUT", TIMEOUT, 1);
    setenv("TRELLIS_REDIS_WAIT", WAIT, 1);
    return RUN(tests);
}
