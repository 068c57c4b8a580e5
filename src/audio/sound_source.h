/* The bytes of a sound file, wherever they are: a file, standard input or memory.
 *
 * A regular file is read through a window of fixed size. Pipes and standard input are taken into memory first, because
 * most formats need seeking. libsndfile gets its bytes through trl__sound_source_io.
 */
#ifndef TRL_AUDIO_SOUND_SOURCE_H
#define TRL_AUDIO_SOUND_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sndfile.h>
#include <trellis/error.h>

typedef struct trl__sound_source {
    char *name;    /* for messages; owned */
    int fd;        /* -1: everything is in the window */
    uint64_t size; /* bytes, as they are seen */
    uint64_t position;
    const uint8_t *window; /* bytes window_start … window_start + window_size - 1 */
    uint64_t window_start;
    size_t window_size;
    uint8_t *owned;        /* memory behind the window, or NULL when it is the caller's */
    int io_error;          /* errno of a failed read, or 0 */
    unsigned long starved; /* reads at the end of the bytes since the last that gave any */
    int is_uncounted;      /* how many samples there are shows only when they are decoded */
    uint64_t patch_at;     /* where patch_size bytes are seen as `patch` instead of what the file has */
    uint8_t patch[4];
    size_t patch_size;
    uint8_t front[256]; /* front_size bytes that are seen instead of the file's first `skipped` */
    size_t front_size;
    uint64_t skipped;
} trl__sound_source;

/* Returns 0, TRL_ENOENT, TRL_EIO (also: a folder), TRL_ELIMIT (endless pipe), TRL_ENOMEM. */
int trl__sound_source_open(const char *path, trl__sound_source *out, trl_error *err);

/* The bytes stay the caller's and must outlive the source. */
int trl__sound_source_from_memory(const char *name, const void *bytes, size_t size, trl__sound_source *out,
                                  trl_error *err);

void trl__sound_source_close(trl__sound_source *source);

/* Up to n bytes from offset on; fewer only at the end of the file or when reading fails (io_error). */
size_t trl__sound_source_get(trl__sound_source *source, uint64_t offset, void *bytes, size_t n);

/* Where in the file that is what is seen at this place. */
uint64_t trl__sound_source_place(const trl__sound_source *source, uint64_t at);

/* Says why reading failed (io_error). Returns the code. */
int trl__sound_source_fail(const trl__sound_source *source, trl_error *err);

extern SF_VIRTUAL_IO trl__sound_source_io; /* user data: a trl__sound_source */

#endif
