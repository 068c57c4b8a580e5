#include "decode_profile.h"

#include <inttypes.h>

void profile_add(trl_decode_profile *sum, const trl_decode_profile *p)
{
    sum->expansion += p->expansion;
    sum->merging += p->merging;
    sum->pruning += p->pruning;
    sum->composition += p->composition;
    sum->likelihoods += p->likelihoods;
    sum->waiting += p->waiting;
    sum->total += p->total;
    sum->frames += p->frames;
    sum->shared_frames += p->shared_frames;
    sum->scores += p->scores;
    sum->made += p->made;
    sum->twice += p->twice;
    sum->mode = p->mode;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Also with --quiet: who wants no profile does not ask for one. */
static const cli_common asked_for;

static void say_time(const char *name, double seconds, double total)
{
    cli_say(&asked_for, "  %-12s %9.3f s %6.1f %%", name, seconds, percent(seconds, total));
}

void profile_say(const trl_decode_profile *p)
{
    static const char *const modes[] = {"block", "demand", "ahead", "auto, not chosen yet"};
    cli_say(&asked_for, "time of all threads in the search:");
    say_time("expansion", p->expansion, p->total);
    say_time("merging", p->merging, p->total);
    say_time("pruning", p->pruning, p->total);
    say_time("composition", p->composition, p->total);
    say_time("likelihoods", p->likelihoods, p->total);
    say_time("waiting", p->waiting, p->total);
    cli_say(&asked_for, "  %-12s %9.3f s", "all", p->total);
    cli_say(&asked_for, "%" PRIu64 " of %" PRIu64 " frames were shared by threads", p->shared_frames, p->frames);
    cli_say(&asked_for, "likelihoods (%s): %" PRIu64 " of %" PRIu64 " made (%.2f %%), %" PRIu64 " twice (%.4f %%)",
            modes[p->mode], p->made, p->scores, percent((double)p->made, (double)p->scores), p->twice,
            percent((double)p->twice, (double)p->made));
}
