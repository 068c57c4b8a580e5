#include "backend/device_name.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/device.h>

#define MOST_DIGITS 9 /* of a number that is an int */

typedef struct family {
    const char *name, *forms;
    const char *const *levels;
    int is_numbered;
} family;

static const char *const cpu_levels[] = {"ref", "scalar", "base", "avx2", "avx512", "neon", NULL};
static const char *const shapes[] = {"gpu", "cpu", NULL};
static const family families[] = {
    {"cpu", "cpu, or with a level of instructions: cpu:ref, cpu:scalar, cpu:base, cpu:avx2, cpu:avx512, cpu:neon",
     cpu_levels, 0},
    {"opencl", "opencl, opencl:N, or with the shape of the kernels, gpu or cpu: opencl:N:gpu, opencl:N:cpu", shapes, 1},
    {"cuda", "cuda, cuda:N", shapes, 1},
    {"auto", "auto", NULL, 0},
};

static int fail_name(trl_error *err, const char *text, size_t length, const family *f)
{
    int shown = length < 100 ? (int)length : 100;
    if (f)
        return trl__fail(err, TRL_EINVAL, "there is no device \"%.*s\"; it would be %s (see `trellis devices`)", shown,
                         text, f->forms);
    return trl__fail(
        err, TRL_EINVAL,
        "there is no device \"%.*s\"; what there is: cpu, cpu:ref, cpu:scalar, cpu:base, cpu:avx2, "
        "cpu:avx512, cpu:neon, opencl, opencl:N, opencl:N:gpu, opencl:N:cpu, cuda, cuda:N, auto, several of "
        "them with commas (see `trellis devices`)",
        shown, text);
}

static const family *find_family(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].name) == length && memcmp(families[i].name, text, length) == 0)
            return &families[i];
    return NULL;
}

static int is_level(const family *f, const char *level)
{
    for (const char *const *l = f->levels; l && *l; l++)
        if (strcmp(*l, level) == 0)
            return 1;
    return 0;
}

/* The part up to the next colon; *rest is what follows it, NULL: nothing does. Returns 0 where it is too long for any. */
static int take_part(const char **rest, const char *end, char *part, size_t room)
{
    const char *colon = memchr(*rest, ':', (size_t)(end - *rest));
    size_t length = (size_t)((colon ? colon : end) - *rest);
    if (length >= room)
        return 0;
    memcpy(part, *rest, length);
    part[length] = '\0';
    *rest = colon ? colon + 1 : NULL;
    return 1;
}

int trl__device_name_parse(const char *text, size_t length, trl__device_name *name, trl_error *err)
{
    const char *end = text + length, *colon = memchr(text, ':', length), *rest = colon ? colon + 1 : NULL;
    const family *f = find_family(text, colon ? (size_t)(colon - text) : length);
    char part[MOST_DIGITS + 1];
    *name = (trl__device_name){.index = 0};
    if (!f)
        return fail_name(err, text, length, NULL);
    memcpy(name->family, f->name, strlen(f->name) + 1);
    if (rest && f->is_numbered && rest < end && *rest >= '0' && *rest <= '9') {
        if (!take_part(&rest, end, part, sizeof part) || part[strspn(part, "0123456789")])
            return fail_name(err, text, length, f);
        name->index = (int)strtol(part, NULL, 10);
    }
    if (rest && (!take_part(&rest, end, name->level, sizeof name->level) || rest || !is_level(f, name->level)))
        return fail_name(err, text, length, f);
    return 0;
}

int trl__device_name_beyond(const char *backend, const char *kind, int index, int count, trl_error *err)
{
    return trl__fail(err, TRL_EINVAL, "%s:%d: there %s %d %s device%s, counted from 0", backend, index,
                     count == 1 ? "is" : "are", count, kind, count == 1 ? "" : "s");
}

int trl_device_check_name(const char *text, trl_error *err)
{
    for (size_t count = 1;; count++) {
        trl__device_name name;
        size_t length = strcspn(text, ",");
        int is_last = text[length] == '\0', code = trl__device_name_parse(text, length, &name, err);
        if (code < 0)
            return code;
        if (strcmp(name.family, "auto") == 0 && (count > 1 || !is_last))
            return trl__fail(err, TRL_EINVAL, "auto is one device, chosen for you; it can't be in a list");
        if (count > TRL__DEVICES_MOST)
            return trl__fail(err, TRL_EINVAL, "a list of devices has 1 to %d names, with commas between them",
                             TRL__DEVICES_MOST);
        if (is_last)
            return 0;
        text += length + 1;
    }
}
