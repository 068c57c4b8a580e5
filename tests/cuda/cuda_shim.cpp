#include "cuda_shim.h"

#include <memory>
#include <ucontext.h>
#include <vector>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace shim
{
bool backwards = false;

namespace
{
const size_t STACK = 256 << 10;

/* Where a stack is left. Beyond the start, jumps do what swapcontext does without its system calls. The sanitizer would take the library's
 * own jumps for the end of all that is on the stack; it does not see the compiler's. */
struct place {
    ucontext_t context;
    void *jump[5];
    bool started;
};

struct fiber {
    place at;
    std::vector<char> stack;
    bool ended;
    void *shadow; /* the address sanitizer's */
};

struct block_run {
    shim_index block, thread, size;
    place scheduler;
    void *shadow;
    const void *scheduler_stack;
    size_t scheduler_size;
    fiber fibers[1024]; /* made when they are first used, and kept */
    size_t count;
    fiber *now;
    const std::function<void()> *work;
};

thread_local block_run *current;

/* The sanitizer has to know which stack is in use. */
void before_switch(void **shadow, const void *stack, size_t size)
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(shadow, stack, size);
#else
    (void)shadow, (void)stack, (void)size;
#endif
}

void after_switch(void *shadow, const void **stack, size_t *size)
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(shadow, stack, size);
#else
    (void)shadow, (void)stack, (void)size;
#endif
}

__attribute__((noinline)) void jump_to(place *to)
{
    if (to->started)
        __builtin_longjmp(to->jump, 1);
    setcontext(&to->context);
}

__attribute__((noinline)) void go(place *from, place *to)
{
    from->started = true;
    if (__builtin_setjmp(from->jump) == 0)
        jump_to(to);
}

void to_scheduler()
{
    fiber *own = current->now;
    before_switch(&own->shadow, current->scheduler_stack, current->scheduler_size);
    go(&own->at, &current->scheduler);
    after_switch(own->shadow, &current->scheduler_stack, &current->scheduler_size);
}

/* A fiber runs a thread of one block after the other, without end. */
void begin_fiber()
{
    after_switch(nullptr, &current->scheduler_stack, &current->scheduler_size);
    for (;;) {
        (*current->work)();
        current->now->ended = true;
        to_scheduler();
    }
}

void resume(block_run &r, unsigned number)
{
    r.now = &r.fibers[number];
    r.thread = {number, 0, 0};
    before_switch(&r.shadow, r.now->stack.data(), STACK);
    go(&r.scheduler, &r.now->at);
    after_switch(r.shadow, nullptr, nullptr);
}

void make_fiber(fiber &f)
{
    f.stack.resize(STACK);
    getcontext(&f.at.context);
    f.at.context.uc_stack.ss_sp = f.stack.data();
    f.at.context.uc_stack.ss_size = STACK;
    f.at.context.uc_link = nullptr;
    makecontext(&f.at.context, begin_fiber, 0);
}

/* All threads to their next barrier, or to their end; true: they are all at an end. */
bool step(block_run &r, int *trouble)
{
    size_t count = r.count, ended = 0;
    for (size_t i = 0; i < count; i++)
        if (unsigned n = (unsigned)(backwards ? count - 1 - i : i); !r.fibers[n].ended)
            resume(r, n);
    for (size_t i = 0; i < count; i++)
        ended += r.fibers[i].ended;
    if (ended > 0 && ended < count)
        *trouble = -1;
    return ended > 0;
}
} // namespace

const shim_index &block_index()
{
    return current->block;
}

const shim_index &thread_index()
{
    return current->thread;
}

const shim_index &block_size()
{
    return current->size;
}

void synchronise()
{
    to_scheduler();
}

int run(unsigned blocks, unsigned threads, const std::function<void()> &thread)
{
    static thread_local std::unique_ptr<block_run> kept;
    int trouble = 0;
    if (!kept)
        kept = std::make_unique<block_run>();
    current = kept.get();
    current->count = threads;
    for (unsigned t = 0; t < threads; t++)
        if (current->fibers[t].stack.empty())
            make_fiber(current->fibers[t]);
    current->work = &thread;
    current->size = {threads, 1, 1};
    for (unsigned b = 0; b < blocks && trouble == 0; b++) {
        current->block = {b, 0, 0};
        for (unsigned t = 0; t < threads; t++)
            current->fibers[t].ended = false;
        while (!step(*current, &trouble)) {
        }
    }
    if (trouble < 0) /* those that wait still have their stacks in use */
        kept.reset();
    return trouble;
}
} // namespace shim
