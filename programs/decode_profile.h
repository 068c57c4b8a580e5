/* Where the time of recognition went: the table of trellis decode --profile. */
#ifndef TRELLIS_DECODE_PROFILE_H
#define TRELLIS_DECODE_PROFILE_H

#include "cli.h"

#include <trellis/decode.h>

void profile_add(trl_decode_profile *sum, const trl_decode_profile *p);
void profile_say(const trl_decode_profile *p);

#endif
