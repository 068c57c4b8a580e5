/* Errors: every function that can fail returns 0 or a negative TRL_E… code, and explains itself in a trl_error.
 *
 *     trl_error err;
 *     if (trl_lexicon_read("lexicon.txt", NULL, &lexicon, &err) < 0)
 *         fprintf(stderr, "%s\n", err.text);       // lexicon.txt:12: word without phones; …
 *
 * The library never prints, exits or aborts. A trl_error belongs to the caller, needs no initialisation and no
 * clean-up, and is written only on failure. Every `trl_error *err` parameter may be NULL.
 */
#ifndef TRELLIS_ERROR_H
#define TRELLIS_ERROR_H

#include <trellis/api.h>

TRL_BEGIN_DECLS

/* One list makes the enumeration and the strings: X(name, value, meaning). */
#define TRL_ERROR_LIST(X)                                                 \
    X(TRL_EINVAL, -1, "invalid argument or option")                       \
    X(TRL_ENOMEM, -2, "out of memory")                                    \
    X(TRL_EIO, -3, "reading or writing failed")                           \
    X(TRL_ENOENT, -4, "no such file, utterance or entry")                 \
    X(TRL_EFORMAT, -5, "the content is not in the expected format")       \
    X(TRL_ECORRUPT, -6, "the file is truncated or damaged")               \
    X(TRL_EUNSUPPORTED, -7, "valid, but not supported")                   \
    X(TRL_ELIMIT, -8, "a limit was exceeded")                             \
    X(TRL_ENUMBER, -9, "a number is NaN or infinite where it may not be") \
    X(TRL_ECANCELLED, -10, "stopped on request")                          \
    X(TRL_EDEVICE, -11, "a device is missing or has failed")

typedef enum trl_error_code {
    TRL_OK = 0,
#define TRL_ERROR_ENUM(name, value, meaning) name = value,
    TRL_ERROR_LIST(TRL_ERROR_ENUM)
#undef TRL_ERROR_ENUM
} trl_error_code;

/* What went wrong, for a person: which file, which line or offset, what to do. */
typedef struct trl_error {
    int code;        /* the value the function returned */
    char text[1000]; /* one line, UTF-8, no newline at the end */
} trl_error;

/* The meaning of a code, as a static string; "unknown error" for a value that is none of them. */
TRL_API const char *trl_error_meaning(int code);

TRL_END_DECLS

#endif
