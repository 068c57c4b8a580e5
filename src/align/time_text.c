#include "align/time_text.h"

#include <inttypes.h>
#include <stdio.h>

void trl__time_text(int64_t microseconds, char text[TRL__TIME_SIZE])
{
    int64_t fraction = microseconds % 1000000;
    int digits = fraction ? 6 : 0;
    for (; digits > 0 && fraction % 10 == 0; digits--)
        fraction /= 10;
    int used = snprintf(text, TRL__TIME_SIZE, "%" PRId64, microseconds / 1000000);
    if (digits > 0)
        snprintf(text + used, (size_t)(TRL__TIME_SIZE - used), ".%0*" PRId64, digits, fraction);
}

void trl__clock_text(int64_t milliseconds, char mark, char text[TRL__TIME_SIZE])
{
    int64_t seconds = milliseconds / 1000;
    snprintf(text, TRL__TIME_SIZE, "%02" PRId64 ":%02d:%02d%c%03d", seconds / 3600, (int)(seconds / 60 % 60),
             (int)(seconds % 60), mark, (int)(milliseconds % 1000));
}

void trl__share_text(float share, char text[TRL__TIME_SIZE])
{
    long parts = lround((double)share * 10000);
    snprintf(text, TRL__TIME_SIZE, "%ld.%04ld", parts / 10000, parts % 10000);
}
