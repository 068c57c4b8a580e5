#include "backend/device/run_time_library.h"

#include <dlfcn.h>
#include <string.h>

void *trl__run_time_library(const char *name, const char *other)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(other, RTLD_NOW | RTLD_LOCAL);
}

/* A pointer to a function out of one to data, as POSIX has it. */
int trl__run_time_function(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
