#include "bam/record_merge.h"
#include "base/fail.h"
#include "base/memory.h"

typedef struct head {
    trl__bam_record record;
    trl__record_next next;
    void *sequence;
} head;

/* A heap: every head comes before its two children. */
struct trl__merge {
    head *heap;
    size_t count;
    int taken; /* the first was given out: the next call goes on from it */
    unsigned char *last;
    size_t last_size, last_capacity;
    void *twin; /* the last sequence with a record that was there twice */
};

int trl__merge_open(size_t most, trl__merge **out, trl_error *err)
{
    trl__merge *m = trl__alloc_zero(1, sizeof *m);
    *out = m;
    if (m && (m->heap = trl__alloc(most + 1, sizeof *m->heap)))
        return 0;
    trl__free(m);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__merge_close(trl__merge *m)
{
    if (!m)
        return;
    trl__free(m->heap);
    trl__free(m->last);
    trl__free(m);
}

static int before(const head *a, const head *b)
{
    return trl__bam_compare(a->record.body, a->record.size, b->record.body, b->record.size) < 0;
}

static void sink(trl__merge *m, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
        if (child + 1 < m->count && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &m->heap[i]))
            return;
        head kept = m->heap[i];
        m->heap[i] = m->heap[child];
        m->heap[child] = kept;
    }
}

int trl__merge_add(trl__merge *m, trl__record_next next, void *sequence, trl_error *err)
{
    head *new = &m->heap[m->count];
    *new = (head){.next = next, .sequence = sequence};
    int code = next(sequence, &new->record, err);
    if (code <= 0)
        return code;
    for (size_t i = m->count++; i > 0 && before(&m->heap[i], &m->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        head kept = m->heap[i];
        m->heap[i] = m->heap[(i - 1) / 2];
        m->heap[(i - 1) / 2] = kept;
    }
    return 0;
}

static int advance(trl__merge *m, trl_error *err)
{
    int code = m->heap[0].next(m->heap[0].sequence, &m->heap[0].record, err);
    if (code < 0)
        return code;
    if (code == 0)
        m->heap[0] = m->heap[--m->count];
    sink(m, 0);
    return 0;
}

void *trl__merge_sequence(const trl__merge *m)
{
    return m->heap[0].sequence;
}

void *trl__merge_twin(const trl__merge *m)
{
    return m->twin;
}

int trl__merge_next(trl__merge *m, trl__bam_record *record, trl_error *err)
{
    for (;;) {
        int code = m->taken ? advance(m, err) : 0;
        m->taken = 0;
        if (code < 0 || m->count == 0)
            return code;
        *record = m->heap[0].record;
        m->taken = 1;
        if (m->last_size > 0 && trl__bam_compare(m->last, m->last_size, record->body, record->size) == 0) {
            m->twin = m->heap[0].sequence;
            continue;
        }
        if (TRL_GROW(m->last, m->last_capacity, record->size) < 0)
            return trl__fail_memory(err);
        memcpy(m->last, record->body, record->size);
        m->last_size = record->size;
        return 1;
    }
}
