/* A team of threads that share out short loops, thousands of them a second, and may do other work in between.
 *
 *     trl__team_create(2, 0, &team, err);
 *     trl__team_for(team, count, fn, user);         // fn(user, item, worker) for every item; returns when all are done
 *     trl__team_idle(team, piece, user);            // what threads do that have no loop; NULL: no more
 *     trl__team_destroy(team);
 *
 * A pool (trellis/pool.h) is for loops whose items take milliseconds. Here a loop may take microseconds: threads look for the next one for a while before they
 * sleep, and a loop never waits for a thread that has not come. So it is as quick as the caller alone, at worst, whatever the other threads are
 * doing, and where there are fewer cores than threads they sleep at once. Where others want the cores too, threads come late or lose their core in the middle of an
 * item; when loops are hardly quicker for them, the caller works alone for a while, longer each time.
 *
 * Workers are numbered: 0 is the caller, 1 … threads - 1 share loops with it, helpers behind them do idle work only. One thread may use a team at a time.
 */
#ifndef TRL_BASE_TEAM_H
#define TRL_BASE_TEAM_H

#include <stdint.h>
#include <trellis/error.h>

#define TRL__TEAM_MOST 64 /* workers */

typedef struct trl__team trl__team;

/* Between two looks at what another thread will change. */
static inline void trl__relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* threads: with the caller. TRL_EINVAL, TRL_ENOMEM. */
int trl__team_create(int threads, int helpers, trl__team **out, trl_error *err);
void trl__team_destroy(trl__team *team); /* idle work has been ended; NULL is allowed */

int trl__team_threads(const trl__team *team); /* that share loops; NULL: 1 */
int trl__team_workers(const trl__team *team); /* with the helpers; NULL: 1 */

/* Whether loops are shared out at the moment: 0 where there is nobody to share them with, or the caller works alone for a while. */
int trl__team_is_sharing(const trl__team *team);

/* For tests: loops are shared out whatever it brings. */
void trl__team_insist(trl__team *team);

/* Items lie in as many ranges as there are threads. Each thread begins with its own and then helps the others, so that an item
 * of one loop is as a rule done by the thread that had it in the last, and its cache has what it needs. */
typedef void (*trl__team_fn)(void *user, int32_t item, int worker);
void trl__team_for(trl__team *team, int32_t count, trl__team_fn fn, void *user);

/* A piece of idle work; returns 0 where there is none for the moment. is_free: no loop has come for a while; else one may come at any moment, and whoever
 * takes a piece will miss it. Ending idle work (NULL) waits for the pieces that are being done. */
typedef int (*trl__team_idle_fn)(void *user, int worker, int is_free);
void trl__team_idle(trl__team *team, trl__team_idle_fn fn, void *user);
void trl__team_more(trl__team *team); /* there is idle work again */

/* The caller waits for what pieces of idle work bring about. */
void trl__team_wait(trl__team *team, int (*is_done)(void *user), void *user);

#endif
