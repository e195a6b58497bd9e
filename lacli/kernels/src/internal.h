/* What the C files share among themselves. One `lacli_ops` per instruction set; `lacli_active` is the one in use. */
#ifndef LACLI_INTERNAL_H
#define LACLI_INTERNAL_H

#include "lacli.h"

/* Activations of several rows quantised to int8 with a scale per row and block of 32 columns (symmetric, q in
 * -127..127); columns padded to a multiple of 32 with zeros. A block with a NaN or infinity gets a scale of NaN. */
typedef struct {
    int32_t blocks; /* of a row */
    int8_t *q;      /* [rows][blocks * 32], 64-byte aligned */
    float *scale;   /* [rows][blocks] */
    int32_t *sum;   /* [rows][blocks]: sum of q */
} lacli_quantised;

/* The loops that differ between instruction sets. All are exact by row and give the same bits in every set.
 * "lanes" below: a reduction over n values keeps 16 partial results, lane i taking values i, i + 16, ...; then
 * lanes are folded 8 on 8, 4 on 4, 2 on 2, 1 on 1. */
typedef struct {
    const char *name;
    int (*supported)(void);
    /* y[row * y_stride + i] (+)= panels [first, last) of matrix times rows, plus bias; a row i of the matrix beyond
     * matrix->rows is not written. acc = fma(float(int32 dot), scale_w * scale_x, acc), then, with minima,
     * acc = fma(minimum, scale_x * float(sum), acc), block by block in ascending order. Unquantised kinds read x
     * ([rows][x_stride]) instead of `quantised`. */
    void (*matmul)(const lacli_matrix *matrix, const lacli_quantised *quantised, const float *x, int64_t x_stride,
                   int32_t rows, int32_t first, int32_t last, float *y, int64_t y_stride, int add);
    /* One row to int8: `columns` floats, the rest of the last block is zero. */
    void (*quantise)(const float *x, int32_t columns, int8_t *q, float *scale, int32_t *sum);
    /* out = x / sqrt(mean(x^2) + epsilon) * weight; the sum of squares in lanes. In place allowed. */
    void (*rms_norm)(const float *x, const float *weight, float epsilon, int32_t n, float *out);
    /* out = gate / (1 + exp(-gate)) * up. In place allowed. */
    void (*silu_mul)(const float *gate, const float *up, int32_t n, float *out);
    /* Rotate one head in place by its position's cosine and sine [head_dim / 2], halves as in Hugging Face. */
    void (*rotate)(float *head, const float *cosine, const float *sine, int32_t head_dim);
    /* scores[q][first + j] for the slots [first, last), both multiples of 16: dot of query q with each key, over
     * head_dim in ascending order by fma. keys: one layer and head of the cache. */
    void (*scores)(const float *const *queries, int32_t count, const void *keys, int32_t kind, int32_t head_dim,
                   int32_t first, int32_t last, float *const *scores);
    /* In place exp(score - max) over n scores; returns their sum, in lanes by index. Scores of -inf give 0. */
    float (*softmax)(float *scores, int32_t n);
    /* out[q][d] for d in [d_first, d_last) = sum over j ascending, by fma, of weights[q][j] * a value, from start[q]
     * to end[q]: that of slot j where j < past, of slots[q][j - past] beyond. d_first is a multiple of 16. values: one
     * layer and head of the cache. */
    void (*mix)(const float *const *weights, int32_t count, int32_t past, const int32_t *const *slots,
                const int32_t *start, const int32_t *end, const void *values, int32_t kind, int32_t head_dim,
                int32_t d_first, int32_t d_last, float *const *out);
    /* Put a head's key (key != 0: the transposed layout of lacli_cache) or value into slot `slot`. */
    void (*store)(const float *head, void *cache, int32_t kind, int32_t head_dim, int32_t slot, int key);
    /* Merge logits[0..n), of ids first_id.., into the best LACLI_TOP so far. */
    void (*top)(const float *logits, int32_t n, int32_t first_id, int32_t *ids, float *best);
    /* Read memory, for measuring. */
    uint64_t (*read)(const void *data, size_t bytes);
} lacli_ops;

extern const lacli_ops *lacli_active;

/* Threads. `work` runs once on every thread of the pool; inside it threads may meet at barriers and take turns. */
typedef void lacli_work(void *context, int thread, lacli_threads *pool);
void lacli_run(lacli_threads *pool, lacli_work *work, void *context);
int lacli_threads_count(const lacli_threads *pool);
void lacli_barrier(lacli_threads *pool); /* spins briefly, then sleeps: a busy machine must not stall it */
/* Dynamic shares of a phase: the next number from 0 on for phase number `phase` (counted by the caller, the same on
 * all threads, starting at 0 in each lacli_run). Numbers of a phase end where the caller says. */
int32_t lacli_next(lacli_threads *pool, int32_t phase);

/* Work space that lives as long as the pool, grown as needed, 64-byte aligned; NULL without memory. */
void *lacli_scratch(lacli_threads *pool, size_t bytes);

#endif
