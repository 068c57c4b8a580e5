/* Libraries of device drivers, found when the program runs: a binary that was built for a device starts where there is none. */
#ifndef TRL_BACKEND_DEVICE_RUN_TIME_LIBRARY_H
#define TRL_BACKEND_DEVICE_RUN_TIME_LIBRARY_H

/* The first of two names that loads; NULL: neither does. It stays until the program ends. */
void *trl__run_time_library(const char *name, const char *other);
/* Puts the address of a function into the pointer to a function that `function` points to. 0: the library does not have it. */
int trl__run_time_function(void *library, const char *name, void *function);

#endif
