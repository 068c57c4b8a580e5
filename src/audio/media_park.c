#include "audio/media_park.h"

#include "audio/sound_length.h"
#include "base/memory.h"

#include <pthread.h>
#include <sys/stat.h>

#define PLACES 16 /* with a file and a megabyte or so each */

typedef struct place {
    trl__media *media; /* NULL: free */
    trl__sound_source source;
    struct stat file;
} place;

static place places[PLACES];
static size_t oldest;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The one that is furthest on; NULL: none. */
static place *find(const struct stat *file, int64_t least, int64_t most)
{
    place *best = NULL;
    for (size_t i = 0; i < PLACES; i++) {
        place *p = &places[i];
        if (!p->media || !trl__is_same_file(&p->file, file) || trl__media_position(p->media) > most ||
            trl__media_position(p->media) <= least)
            continue;
        least = trl__media_position(p->media);
        best = p;
    }
    return best;
}

/* In messages the file has the name by which it was opened now. */
static void swap(place *p, trl__media **media, trl__sound_source *source)
{
    char *name = source->name;
    trl__sound_source other = *source;
    *source = p->source;
    other.name = source->name;
    source->name = name;
    trl__media_close(*media);
    trl__sound_source_close(&other);
    *media = p->media;
    trl__media_move(*media, source);
    p->media = NULL;
}

void trl__media_take_parked(trl__media **media, trl__sound_source *source, int64_t frame)
{
    struct stat file;
    if (!trl__is_settled_file(source, &file))
        return;
    pthread_mutex_lock(&mutex);
    place *p = find(&file, trl__media_position(*media), frame);
    if (p)
        swap(p, media, source);
    pthread_mutex_unlock(&mutex);
}

void trl__media_park(trl__media *media, trl__sound_source *source)
{
    struct stat file;
    if (!trl__media_goes_on(media) || !trl__is_settled_file(source, &file)) {
        trl__media_close(media);
        return;
    }
    pthread_mutex_lock(&mutex);
    place *p = &places[oldest];
    place old = *p;
    oldest = (oldest + 1) % PLACES;
    *p = (place){media, *source, file};
    trl__media_move(media, &p->source);
    *source = (trl__sound_source){.fd = -1};
    pthread_mutex_unlock(&mutex);
    if (old.media) {
        trl__media_close(old.media);
        trl__sound_source_close(&old.source);
    }
}
