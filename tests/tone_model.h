/* A model of tones: every phone is one, so that what was said in a sound is known to the sample.
 *
 *     make_tone_model(lexicon, &frontend_options, &model);          // phones A, B, C, SIL and SPN
 *     play((note){1, 0.2}, samples, &dice);                         // B, for 0.2 s
 */
#ifndef TEST_TONE_MODEL_H
#define TEST_TONE_MODEL_H

#include "align_fixture.h"
#include "make_sound.h"

#include <trellis/frontend.h>

#define RATE 16000
#define PHONES 3
#define STATES 3

/* Silence (phone -1) or phone A, B, C: a tone each. */
typedef struct note {
    int phone;
    double seconds;
} note;

static inline size_t play(note n, float *samples, dice *d)
{
    static const double pitch[PHONES] = {400, 1100, 2700};
    size_t count = (size_t)(n.seconds * RATE + 0.5);
    for (size_t i = 0; i < count; i++)
        samples[i] = 0.01f * (roll(d) - 0.5f) +
                     (n.phone < 0 ? 0 : (float)(0.3 * sin(6.283185307179586 * pitch[n.phone] * (double)i / RATE)));
    return count;
}

/* ---- the model: means and variances of the tones' frames ---- */

static inline void fit_phone(trl_model *model, const trl_frontend *frontend, int phone)
{
    static float samples[RATE];
    dice d = {.seed = 4, .stream = (uint64_t)(phone + 1)};
    trl_extractor *extractor;
    trl_matrix frames = {0};
    size_t count = play((note){phone, 1}, samples, &d);
    must(trl_extractor_create(frontend, &extractor, &err));
    must(trl_extractor_run(extractor, samples, count, NULL, &frames, &err));
    char name[] = {(char)('A' + phone), '\0'};
    int32_t unit = trl_model_find_unit(model, phone < 0 ? "SIL" : name), dim = model->dim;
    for (int32_t s = 0; s < STATES; s++)
        for (int32_t k = 0; k < dim; k++) {
            double sum = 0, square = 0, rows = (double)frames.rows;
            for (size_t t = 0; t < frames.rows; t++) {
                double x = (double)trl_matrix_row(&frames, t)[k];
                sum += x;
                square += x * x;
            }
            int32_t at = trl__model_triple(model, unit, s)->tied * dim + k;
            model->mean[at] = (float)(sum / rows);
            model->variance[at] = (float)(square / rows - sum / rows * sum / rows) + 1;
        }
    trl_matrix_free(&frames);
    trl_extractor_destroy(extractor);
}

static inline void make_tone_model(trl_lexicon *lexicon, const trl_frontend_options *o, trl_model **out)
{
    trl_frontend *frontend;
    trl_model_options m = trl_model_defaults();
    m.states = m.silence_states = STATES;
    must(trl_frontend_create(o, &frontend, &err));
    must(trl_model_create(lexicon, trl_frontend_description(frontend), trl_frontend_dim(frontend), &m, out, &err));
    trl_model *model = *out;
    for (int phone = -1; phone < PHONES; phone++)
        fit_phone(model, frontend, phone);
    int32_t noise = trl_model_find_unit(model, "SPN"); /* anything: wide around zero */
    for (int32_t s = 0; s < STATES; s++)
        for (int32_t k = 0; k < model->dim; k++)
            model->variance[trl__model_triple(model, noise, s)->tied * model->dim + k] = 400;
    trl_frontend_destroy(frontend);
}

#endif
