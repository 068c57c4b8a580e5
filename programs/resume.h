/* Commands whose work can be gone on with: when they are interrupted or fail, they say what is kept, and the command
 * line that goes on with it.
 *
 *     resume_remember(argc, argv);                              // main
 *     resume_offer("checkpoint in model.trm.work", NULL);       // from here on Ctrl-C, SIGTERM and SIGHUP say so, and end the process
 *     resume_say();                                             // after a failure
 *     resume_withdraw();                                        // all is done
 */
#ifndef TRELLIS_RESUME_H
#define TRELLIS_RESUME_H

#include <stddef.h>

void resume_remember(int argc, char **argv);

/* `kept` is what there is, and where; with `count` the number there at that moment stands in front of it. Both must
 * stay. While `count` is 0 nothing is said. */
void resume_offer(const char *kept, const volatile size_t *count);
void resume_withdraw(void);

/* Nothing where nothing is offered. */
void resume_say(void);

#endif
