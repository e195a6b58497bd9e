/* One forward while it runs: what the files of the step share. step.c lays it out and walks the phases,
 * step_layer.c has those of a layer, step_attention.c attention, step_ends.c embedding and head. */
#ifndef LACLI_STEP_H
#define LACLI_STEP_H

#include "gemm.h"

/* Up to so many rows each thread normalises them all for itself: cheaper than to share and to meet. */
#define LACLI_OWN_ROWS 4
/* Queries of one head of keys that a thread takes at a time. */
#define LACLI_UNIT_QUERIES 12
/* Cached positions from which few heads are worth two more meetings of the threads. */
#define LACLI_SPREAD_LENGTH 512

/* Inputs of a matrix: floats [rows][stride], and the same quantised. */
typedef struct {
    float *x;
    int64_t stride;
    lacli_quantised quantised;
} lacli_inputs;

/* Queries of one part and head of keys that a thread takes together. */
typedef struct {
    int32_t part, first, count; /* a row's heads side by side, counted from the part's first row on */
} lacli_unit;

typedef struct {
    const lacli_model *model;
    const lacli_part *parts;
    const lacli_rows *rows;
    lacli_threads *pool;
    int32_t parts_count, threads;
    int32_t *firsts;              /* [parts_count]: the first row of each */
    int32_t *part_of, *depths;    /* [rows] */
    float *hidden;                /* [rows][model->hidden]: the residual stream */
    float *heads;                 /* [rows][heads_stride]: queries, keys, values, a head after the other */
    float *up;                    /* [rows][inner.stride] */
    lacli_inputs normed, mixed, inner; /* of query, key, value, gate, up and the head; of output; of down */
    lacli_inputs *own;            /* [threads]: LACLI_OWN_ROWS rows of `normed` for each thread */
    int64_t heads_stride, score_stride;
    lacli_unit *units;            /* [units_count]: what attention is shared by, for each head of keys */
    int32_t units_count, unit_queries; /* unit_queries: the most of a unit */
    int32_t part_rows;            /* the most of a part */
    int spread;                   /* attention is shared by positions, as there are too few heads for all threads */
    float *scores;                /* [threads][unit_queries], or spread [kv_heads][queries], [score_stride] each */
    float *sums;                  /* spread: [kv_heads][queries] */
    int32_t *slots;               /* [threads][unit_queries][part_rows] */
    int32_t *top_ids;             /* [threads][wanted][LACLI_TOP]: the best each thread has met */
    float *top_logits;
} lacli_step;

/* One thread's view of it. */
typedef struct {
    lacli_step *step;
    int thread;
    int32_t phase;
} lacli_turn;

/* The next unit of the running phase. */
LACLI_INLINE int32_t lacli_take(const lacli_turn *turn)
{
    return lacli_next(turn->step->pool, turn->phase);
}

/* All units of the phase are done by all threads, and seen by all. */
LACLI_INLINE void lacli_meet(lacli_turn *turn)
{
    lacli_barrier(turn->step->pool);
    turn->phase++;
}

/* Units of so many that each thread gets about 8, for panels and the like. */
LACLI_INLINE int32_t lacli_share(const lacli_turn *turn, int32_t count)
{
    int32_t share = count / (turn->step->threads * 8);
    return share < 1 ? 1 : share > 16 ? 16 : share;
}

/* One layer and head of the cache. */
LACLI_INLINE char *lacli_cached(const lacli_model *model, const lacli_cache *cache, int values, int32_t layer,
                                int32_t kv_head)
{
    int64_t index = ((int64_t)layer * model->kv_heads + kv_head) * cache->capacity;
    char *start = values ? cache->values : cache->keys;
    return start + index * model->head_dim * (cache->kind == LACLI_F16 ? 2 : 4);
}

/* Quantise columns [first, last) of a row, `first` a multiple of 32 and `last` one or the end. */
LACLI_INLINE void lacli_quantise_part(const lacli_inputs *inputs, int32_t row, int32_t first, int32_t last)
{
    const lacli_quantised *to = &inputs->quantised;
    int64_t block = (int64_t)row * to->blocks + first / LACLI_BLOCK;
    lacli_active->quantise(inputs->x + row * inputs->stride + first, last - first, to->q + block * LACLI_BLOCK,
                           to->scale + block, to->sum + block);
}

int lacli_step_check(const lacli_model *model, const lacli_part *parts, int32_t count, const lacli_rows *rows);
int lacli_keep_check(const lacli_model *model, const lacli_cache *cache, int32_t length, int32_t count,
                     const int32_t *path);
/* Hidden states of all rows at the start. */
void lacli_step_embed(lacli_turn *turn);
/* RMS norm of rows (`of` NULL: row i) for the matrices that follow; quantised too where `quantise`. */
const lacli_inputs *lacli_step_norm(lacli_turn *turn, const float *weight, int32_t rows, const int32_t *of,
                                    int quantise);
/* Queries, keys and values, rotated; keys and values stored. */
void lacli_step_project(lacli_turn *turn, int32_t layer);
/* Attention of all rows, up to the inputs of the output matrix. */
void lacli_step_attend(lacli_turn *turn, int32_t layer);
/* The rest of a layer. */
void lacli_step_output(lacli_turn *turn, int32_t layer);
void lacli_step_feed(lacli_turn *turn, int32_t layer);
/* Logits and the best tokens of the wanted rows. */
void lacli_step_head(lacli_turn *turn);

#endif
