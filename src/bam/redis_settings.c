#include "bam/redis_settings.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCHEME "redis://"
#define USUAL_PORT 6379
#define SECONDS_MOST 3600
#define NAME_MOST 200

int trl__is_redis(const char *where)
{
    return strncmp(where, SCHEME, sizeof SCHEME - 1) == 0;
}

/* ---- the address ---- */

/* HOST, HOST:PORT, or [HOST]:PORT where the host has colons itself. */
static int read_address(char *text, trl__redis_address *out)
{
    char *end = text[0] == '[' ? strchr(text, ']') : strrchr(text, ':');
    int64_t port = USUAL_PORT;
    out->host = text + (text[0] == '[');
    if (text[0] == '[') {
        if (!end)
            return -1;
        *end++ = '\0';
        if (*end && *end != ':')
            return -1;
    }
    if (end && *end == ':') {
        *end = '\0';
        if (trl__parse_int(end + 1, &port) < 0)
            return -1;
    }
    out->port = (int)port;
    return *out->host && port > 0 && port < 65536 ? 0 : -1;
}

static int is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return *name && strlen(name) <= NAME_MOST && name[strspn(name, allowed)] == '\0';
}

static int read_where(const char *where, trl__redis_settings *s, trl_error *err)
{
    size_t length = strlen(where);
    char *list = trl__arena_copy(&s->texts, where, length);
    s->addresses = trl__alloc(length, sizeof *s->addresses);
    if (!list || !s->addresses)
        return trl__fail_memory(err);
    if (strchr(where, '@'))
        return trl__fail(err, TRL_EINVAL,
                         "user and password don't belong in an address, where others see them: set TRELLIS_REDIS_USER "
                         "and TRELLIS_REDIS_PASSWORD, or TRELLIS_REDIS_CONFIG");
    list += sizeof SCHEME - 1;
    char *slash = strchr(list, '/');
    if (!slash || !is_name(slash + 1))
        return trl__fail(err, TRL_EINVAL, "%s: the model's name is missing: redis://HOST:PORT/NAME", where);
    *slash = '\0';
    s->name = slash + 1;
    for (char *next; list; list = next) {
        next = strchr(list, ',');
        if (next)
            *next++ = '\0';
        if (read_address(list, &s->addresses[s->count++]) < 0)
            return trl__fail(err, TRL_EINVAL, "%s: '%s' is no HOST:PORT", where, list);
    }
    return 0;
}

/* ---- settings ---- */

static int set(trl__redis_settings *s, const char *what, const char *value, trl_error *err)
{
    int is_user = strcmp(what, "user") == 0, is_timeout = strcmp(what, "timeout") == 0;
    if (is_user || strcmp(what, "password") == 0) {
        const char *copy = trl__arena_copy(&s->texts, value, strlen(value));
        *(is_user ? &s->user : &s->password) = copy;
        return copy ? 0 : trl__fail_memory(err);
    }
    if (!is_timeout && strcmp(what, "wait") != 0)
        return trl__fail(err, TRL_EINVAL, "'%s' is no setting; user, password, timeout and wait are", what);
    double seconds;
    if (trl__parse_double(value, &seconds) < 0 || !(seconds > 0 && seconds <= SECONDS_MOST))
        return trl__fail(err, TRL_EINVAL, "%s is '%s'; it must be a number of seconds, up to %d", what, value,
                         SECONDS_MOST);
    *(is_timeout ? &s->timeout : &s->wait) = seconds;
    return 0;
}

static int check_private(const char *path, trl_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || (status.st_mode & 077) == 0)
        return 0;
    return trl__fail(err, TRL_EINVAL, "%s has a password, and others than its owner can read or write it; chmod 600 %s",
                     path, path);
}

static int read_config(const char *path, trl__redis_settings *s, trl_error *err)
{
    trl__text text;
    trl_error why;
    char *line;
    size_t length;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    while (code == 0 && trl__text_line(&text, &line, &length)) {
        char *rest = trl__trim(line), *what = trl__next_field(&rest);
        if (what && *what != '#' && (code = set(s, what, trl__trim(rest), &why)) < 0)
            code = trl__fail_line(err, code, path, text.line, "%s", why.text);
    }
    trl__text_free(&text);
    return code == 0 && s->password ? check_private(path, err) : code;
}

int trl__redis_settings_read(const char *where, trl__redis_settings *out, trl_error *err)
{
    static const char *const variables[][2] = {{"TRELLIS_REDIS_USER", "user"},
                                               {"TRELLIS_REDIS_PASSWORD", "password"},
                                               {"TRELLIS_REDIS_TIMEOUT", "timeout"},
                                               {"TRELLIS_REDIS_WAIT", "wait"}};
    *out = (trl__redis_settings){.timeout = 2, .wait = 15};
    const char *config = getenv("TRELLIS_REDIS_CONFIG");
    int code = read_where(where, out, err);
    if (code == 0 && config && *config)
        code = read_config(config, out, err);
    for (size_t i = 0; code == 0 && i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i][0]);
        if (value && *value)
            code = set(out, variables[i][1], value, err);
    }
    return code;
}

void trl__redis_settings_free(trl__redis_settings *s)
{
    trl__free(s->addresses);
    trl__arena_free(&s->texts);
    *s = (trl__redis_settings){0};
}
