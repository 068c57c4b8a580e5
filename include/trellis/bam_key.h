/* M-phones: a phone's state among the phones around it, and the keys by which they are sorted, sharded and stored ([001] II, III-A1).
 *
 *     trl_bam_phones_of_model(model, 1, &phones, &err);                  // the symbols, here with word boundaries
 *     unsigned char key[TRL_BAM_KEY_MOST];
 *     trl_bam_key_parse(phones, 3, "ih_1 / ae k sh ___ n sil", key, &err);
 *     do {
 *         trl_bam_key_format(phones, 3, key, text, sizeof text);
 *         puts(text);                                                    // … / k sh ___ n sil, … / sh ___ n
 *     } while (trl_bam_key_back_off(3, key));
 *
 * A key of order M has 4 + 4 M bytes: the central phone and its state, then the context in order of proximity, the nearest on the left, the
 * nearest on the right, the second on the left …, M on either side. All are 16-bit numbers, the high byte first. A place where there is nothing,
 * because the utterance ends or because of backing off, has TRL_BAM_MISSING, which is above all symbols. So in plain byte
 * order (memcmp) every M-phone comes after all those that back off to it and before all others that do not have its context: what has
 * been gathered of it is complete when it comes ([001] III-A2).
 *
 * Backing off: an M-phone with as many symbols on the left as on the right loses one at both ends, any other one at its longer end. The last
 * one has a symbol on both sides, or on its only side. All M-phones of such a chain share their first 8 bytes, the state and the
 * central triphone, which is what they are sharded by.
 *
 * In text a key is written as in the paper: PHONE_STATE / LEFT ___ RIGHT, states from 1. `#` is the word boundary. A phone that is
 * called `#` or `___`, or whose name begins with a backslash, has a backslash in front; so every key can be read back.
 *
 * Indices: symbols from 0, phones in the order of the model's units, then the word boundary; states from 0 (in text from 1).
 */
#ifndef TRELLIS_BAM_KEY_H
#define TRELLIS_BAM_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/model.h>

TRL_BEGIN_DECLS

#define TRL_BAM_ORDER_MOST 15
#define TRL_BAM_KEY_MOST (4 + 4 * TRL_BAM_ORDER_MOST) /* bytes */
#define TRL_BAM_MISSING 0xffff                        /* a place of the context that has no symbol */
#define TRL_BAM_STATES_MOST 0xffff

/* The symbols that keys are made of. */
typedef struct trl_bam_phones trl_bam_phones;

/* Those of a model: its units, without their place in the word, and the word boundary where it is wanted. Returns 0, TRL_ELIMIT (too many),
 * TRL_ENOMEM. */
TRL_API int trl_bam_phones_of_model(const trl_model *model, int word_boundaries, trl_bam_phones **out, trl_error *err);

/* From a text, one phone per line. Returns 0, TRL_EFORMAT (a phone twice, with blanks, or empty), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_bam_phones_of_text(const char *text, int word_boundaries, trl_bam_phones **out, trl_error *err);
TRL_API void trl_bam_phones_destroy(trl_bam_phones *phones);

TRL_API int32_t trl_bam_phones_count(const trl_bam_phones *phones);    /* without the word boundary */
TRL_API int32_t trl_bam_phones_symbols(const trl_bam_phones *phones);  /* with it: symbols are below */
TRL_API int32_t trl_bam_phones_boundary(const trl_bam_phones *phones); /* its symbol; -1: not wanted */
TRL_API const char *trl_bam_phones_name(const trl_bam_phones *phones, int32_t phone);
TRL_API int32_t trl_bam_phones_find(const trl_bam_phones *phones, const char *name); /* a phone; -1: none */

/* An M-phone taken apart. */
typedef struct trl_bam_mphone {
    int32_t phone, state;
    int32_t left, right;                      /* symbols on either side, at most the order */
    uint16_t left_symbol[TRL_BAM_ORDER_MOST]; /* the nearest first */
    uint16_t right_symbol[TRL_BAM_ORDER_MOST];
} trl_bam_mphone;

static inline size_t trl_bam_key_size(int order)
{
    return 4 + 4 * (size_t)order;
}

/* Order is 1 … TRL_BAM_ORDER_MOST in all of these. */
TRL_API void trl_bam_key_write(const trl_bam_mphone *mphone, int order, unsigned char *key);

/* The other way, from bytes that are not trusted. `phones` (NULL: any symbol will do) says which symbols there are. Returns 0, or TRL_ECORRUPT: a symbol
 * that does not exist, or one behind a place without. */
TRL_API int trl_bam_key_read(const trl_bam_phones *phones, int order, const unsigned char *key, trl_bam_mphone *mphone,
                             trl_error *err);

/* How many symbols a key has on either side; its own order is the larger number. */
TRL_API void trl_bam_key_context(int order, const unsigned char *key, int *left, int *right);
TRL_API int trl_bam_key_order(int order, const unsigned char *key);

/* The next shorter M-phone in place; 0: there is none, and the key stays as it is. */
TRL_API int trl_bam_key_back_off(int order, unsigned char *key);

/* Which of `shards` parts it belongs to: a hash of state and central triphone. */
TRL_API uint32_t trl_bam_key_shard(const unsigned char *key, uint32_t shards);

/* As text; returns its length, which may be size or more: then it was cut. The key must be valid. */
TRL_API size_t trl_bam_key_format(const trl_bam_phones *phones, int order, const unsigned char *key, char *text,
                                  size_t size);
/* From text, blanks between the symbols. Returns 0, TRL_EFORMAT (not of this form, or a context longer than the order), TRL_ENOENT (no such
 * phone), TRL_ENOMEM. */
TRL_API int trl_bam_key_parse(const trl_bam_phones *phones, int order, const char *text, unsigned char *key,
                              trl_error *err);

TRL_END_DECLS

#endif
