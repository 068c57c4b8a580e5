/* Times as text. They are rounded to whole units first, so that a segment ends exactly where the next begins, and
 * printed from integers, so that no locale changes the decimal point. */
#ifndef TRL_ALIGN_TIME_TEXT_H
#define TRL_ALIGN_TIME_TEXT_H

#include <math.h>
#include <stdint.h>

#define TRL__TIME_SIZE 40 /* bytes of a time as text */

static inline int64_t trl__microseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e6);
}

/* Seconds, "1.2345": as many digits as it needs. */
void trl__time_text(int64_t microseconds, char text[TRL__TIME_SIZE]);

/* "00:01:02.345", with this mark before the milliseconds. */
void trl__clock_text(int64_t milliseconds, char mark, char text[TRL__TIME_SIZE]);

/* A number from 0 to 1 with four digits: "0.9871". */
void trl__share_text(float share, char text[TRL__TIME_SIZE]);

#endif
