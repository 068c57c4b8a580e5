/* Libraries that are found when the program runs: a binary that was built for them starts where they are not
 * installed. */
#ifndef TRL_BASE_RUN_TIME_LIBRARY_H
#define TRL_BASE_RUN_TIME_LIBRARY_H

#include <trellis/error.h>

/* The library, or where it is not installed the one with the other name. It stays until the program ends. TRL_ENOENT: neither is installed;
 * TRL_EDEVICE: it is, but can't be loaded. */
int trl__run_time_library(const char *name, const char *other, void **library, trl_error *err);
/* Puts the address of a function into the pointer to a function that `function` points to. 0: the library does not have it. */
int trl__run_time_function(void *library, const char *name, void *function);

#endif
