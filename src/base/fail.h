/* How functions inside the library report failure: `return trl__fail(err, TRL_EFORMAT, "…", …);` */
#ifndef TRL_BASE_FAIL_H
#define TRL_BASE_FAIL_H

#include <stdint.h>
#include <trellis/error.h>

/* Writes the text and returns code. */
int trl__fail(trl_error *err, int code, const char *format, ...) TRL_PRINTF(3, 4);

/* The same with the place in front: "file:line: …" (line 0: "file: …"). */
int trl__fail_line(trl_error *err, int code, const char *file, int64_t line, const char *format, ...) TRL_PRINTF(5, 6);

/* The same for binary files: "file: at byte 12: …". */
int trl__fail_byte(trl_error *err, int code, const char *file, uint64_t offset, const char *format, ...)
    TRL_PRINTF(5, 6);

int trl__fail_memory(trl_error *err);

/* Puts the file in front of what was said of its content by somebody who does not know it. Returns code; success, a
 * lack of memory, and texts that name the file stay as they are. */
int trl__fail_in(trl_error *err, int code, const char *file);

/* For a failed system call: code from errno (ENOENT -> TRL_ENOENT, ENOMEM -> TRL_ENOMEM, else TRL_EIO), "path: verb:
 * reason". */
int trl__fail_errno(trl_error *err, const char *path, const char *verb);

/* clang's analyzer sees one file at a time: here it learns that a failure is never 0. */
#if defined(__clang_analyzer__) && !defined(TRL_FAIL_DEFINED_HERE)
#define trl__fail(...) (trl__fail(__VA_ARGS__), -1)
#define trl__fail_line(...) (trl__fail_line(__VA_ARGS__), -1)
#define trl__fail_byte(...) (trl__fail_byte(__VA_ARGS__), -1)
#define trl__fail_memory(err) (trl__fail_memory(err), -1)
#define trl__fail_errno(...) (trl__fail_errno(__VA_ARGS__), -1)
#endif

#endif
