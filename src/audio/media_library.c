#if TRELLIS_FFMPEG
#include "audio/media_library.h"

#include "base/fail.h"
#include "base/run_time_library.h"

#include <pthread.h>

/* Structures differ between major versions: those that the headers are of. */
#define AVUTIL "libavutil.so." AV_STRINGIFY(LIBAVUTIL_VERSION_MAJOR)
#define AVCODEC "libavcodec.so." AV_STRINGIFY(LIBAVCODEC_VERSION_MAJOR)
#define AVFORMAT "libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR)

static trl__media_library library;
static trl_error trouble; /* code 0: none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What it has to say comes back as codes; a program that uses FFmpeg itself may have chosen otherwise. */
static void silence(void)
{
    if (library.av_log_get_level() == AV_LOG_INFO)
        library.av_log_set_level(AV_LOG_QUIET);
}

static void load(void)
{
    void *avutil, *avcodec, *avformat;
    if (trl__run_time_library(AVUTIL, AVUTIL, &avutil, &trouble) < 0 ||
        trl__run_time_library(AVCODEC, AVCODEC, &avcodec, &trouble) < 0 ||
        trl__run_time_library(AVFORMAT, AVFORMAT, &avformat, &trouble) < 0)
        return;
#define FIND(handle, function)                                                              \
    if (trouble.code == 0 && !trl__run_time_function(handle, #function, &library.function)) \
        trl__fail(&trouble, TRL_EUNSUPPORTED, "FFmpeg's libraries have no %s", #function);
    TRL__MEDIA_FUNCTIONS(FIND)
    if (trouble.code == 0)
        silence();
}

int trl__media_library_get(const trl__media_library **out, trl_error *err)
{
    pthread_once(&once, load);
    *out = trouble.code == 0 ? &library : NULL;
    return *out ? 0 : trl__fail(err, TRL_EUNSUPPORTED, "%.800s", trouble.text);
}

#else
typedef int trl__no_media_library; /* a file of C has at least one declaration */
#endif
