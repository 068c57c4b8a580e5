/* Says something to the application's log callback; see trellis/log.h. */
#ifndef TRL_BASE_LOG_WRITE_H
#define TRL_BASE_LOG_WRITE_H

#include <trellis/log.h>

void trl__log(trl_log_level level, const char *format, ...) TRL_PRINTF(2, 3);

#endif
