/* The library's version, and what was built into it. */
#ifndef TRELLIS_VERSION_H
#define TRELLIS_VERSION_H

#include <trellis/api.h>

TRL_BEGIN_DECLS

#define TRL_VERSION_MAJOR 0
#define TRL_VERSION_MINOR 1
#define TRL_VERSION_PATCH 0
#define TRL_VERSION "0.1.0"

/* The version of the library that is running, which may differ from the header's TRL_VERSION. */
TRL_API const char *trl_version(void);

/* The instruction set the kernels use on this machine: "base", "avx2". The environment variable TRELLIS_CPU
 * (ref, base, avx2) forces one; a level the machine lacks falls back to the best it has. */
TRL_API const char *trl_cpu_level(void);

TRL_END_DECLS

#endif
