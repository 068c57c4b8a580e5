#include "base/run_time_library.h"
#include "base/fail.h"

#include <dlfcn.h>
#include <string.h>

/* The loader tells in words only what it did not find: the library itself, or something that it needs. */
static int is_missing(const char *why, const char *name)
{
    return strncmp(why, name, strlen(name)) == 0 && strstr(why, "No such file") != NULL;
}

int trl__run_time_library(const char *name, const char *other, void **library, trl_error *err)
{
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*library)
        return 0;
    const char *why = dlerror();
    if (why && !is_missing(why, name))
        return trl__fail(err, TRL_EDEVICE, "%s can't be used: %s", name, why);
    *library = dlopen(other, RTLD_NOW | RTLD_LOCAL);
    return *library ? 0 : trl__fail(err, TRL_ENOENT, "%s is not installed", name);
}

/* A pointer to a function out of one to data, as POSIX has it. */
int trl__run_time_function(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
