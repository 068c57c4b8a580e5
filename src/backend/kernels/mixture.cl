/* The scores of a group of COMPONENTS in one lane: the dot product (1, o, o²)·(h, u, v) of [004] 3.2.2, or, where variances are tiny,
 * h + v (o - mean)². Constants come first, then dimension by dimension, component fastest. */

/* A sum of powers of two that grows: best + log2(sum). The best component is the first of equals. */
typedef struct mixture_sum {
    float best, sum;
    int component;
} mixture_sum;

FUNCTION mixture_sum empty_sum(void)
{
    mixture_sum m;
    m.best = -3.4e38f;
    m.sum = 0.0f;
    m.component = 0;
    return m;
}

FUNCTION mixture_sum add_score(mixture_sum m, float score, int component)
{
    if (score > m.best) {
        m.sum = m.sum * EXP2F(m.best - score) + 1.0f;
        m.best = score;
        m.component = component;
    } else {
        m.sum += EXP2F(score - m.best);
    }
    return m;
}

/* The same function for parameters in local and in global memory. */
#define DEFINE_GROUP_SCORES(name, SPACE)                                                                               \
    FUNCTION void name(SPACE const float *group, GLOBAL const float *lane, int dim, int differences, float *score)     \
    {                                                                                                                  \
        SPACE const float *p = group + COMPONENTS;                                                                     \
        for (int c = 0; c < COMPONENTS; c++)                                                                           \
            score[c] = group[c];                                                                                       \
        if (!differences)                                                                                              \
            for (int r = 0; r < 2 * dim; r++, p += COMPONENTS) {                                                       \
                float x = lane[r * LANE_STRIDE];                                                                       \
                for (int c = 0; c < COMPONENTS; c++)                                                                   \
                    score[c] = FMAF(p[c], x, score[c]);                                                                \
            }                                                                                                          \
        else                                                                                                           \
            for (int k = 0; k < dim; k++, p += 2 * COMPONENTS) {                                                       \
                float x = lane[(2 * dim + k) * LANE_STRIDE];                                                           \
                for (int c = 0; c < COMPONENTS; c++) {                                                                 \
                    float d = x - p[c];                                                                                \
                    score[c] = FMAF(p[COMPONENTS + c] * d, d, score[c]);                                               \
                }                                                                                                      \
            }                                                                                                          \
    }

DEFINE_GROUP_SCORES(local_group_scores, LOCAL_POINTER)
DEFINE_GROUP_SCORES(global_group_scores, GLOBAL)
