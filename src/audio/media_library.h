/* FFmpeg's functions, found when the program runs: a hundred libraries that most runs have no use for, and that may
 * not be installed. */
#ifndef TRL_AUDIO_MEDIA_LIBRARY_H
#define TRL_AUDIO_MEDIA_LIBRARY_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <trellis/error.h>

#define TRL__MEDIA_FUNCTIONS(X)               \
    X(avutil, av_frame_alloc)                 \
    X(avutil, av_frame_free)                  \
    X(avutil, av_free)                        \
    X(avutil, av_log_get_level)               \
    X(avutil, av_log_set_level)               \
    X(avutil, av_malloc)                      \
    X(avutil, av_rescale_q)                   \
    X(avutil, av_sample_fmt_is_planar)        \
    X(avutil, av_strerror)                    \
    X(avcodec, av_packet_alloc)               \
    X(avcodec, av_packet_free)                \
    X(avcodec, av_packet_unref)               \
    X(avcodec, avcodec_alloc_context3)        \
    X(avcodec, avcodec_find_decoder)          \
    X(avcodec, avcodec_free_context)          \
    X(avcodec, avcodec_get_name)              \
    X(avcodec, avcodec_open2)                 \
    X(avcodec, avcodec_parameters_to_context) \
    X(avcodec, avcodec_receive_frame)         \
    X(avcodec, avcodec_send_packet)           \
    X(avformat, av_find_input_format)         \
    X(avformat, av_read_frame)                \
    X(avformat, avformat_alloc_context)       \
    X(avformat, avformat_close_input)         \
    X(avformat, avformat_open_input)          \
    X(avformat, avio_alloc_context)           \
    X(avformat, avio_context_free)

typedef struct trl__media_library {
#define TRL__MEDIA_POINTER(library, function) __typeof__(&(function)) function;
    TRL__MEDIA_FUNCTIONS(TRL__MEDIA_POINTER)
#undef TRL__MEDIA_POINTER
} trl__media_library;

/* TRL_EUNSUPPORTED: they are not here, or can't be used. Any thread. */
int trl__media_library_get(const trl__media_library **out, trl_error *err);

#endif
