/* Marks what libtrellis exports, and opens the door for C++. Every public header includes this one. */
#ifndef TRELLIS_API_H
#define TRELLIS_API_H

#if defined(__GNUC__)
#define TRL_API __attribute__((visibility("default")))
#define TRL_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define TRL_API
#define TRL_PRINTF(format_index, first_index)
#endif

#ifdef __cplusplus
#define TRL_BEGIN_DECLS extern "C" {
#define TRL_END_DECLS }
#else
#define TRL_BEGIN_DECLS
#define TRL_END_DECLS
#endif

#endif
