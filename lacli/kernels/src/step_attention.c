/* Attention of a forward: which thread computes what. No way of sharing changes a bit.
 *
 * A row reduces over its keys in logical order: the past, then its ancestors by depth, wherever their slots lie.
 * Scores are computed for all slots, then each row moves those of its ancestors together. */
#include <math.h>

#include "step.h"

/* Some queries of one part and head of keys. Positions and slots count from `base`, a multiple of 16, on: what lies
 * before it none of them sees. */
typedef struct {
    const lacli_cache *cache;
    int32_t count, base, past, highest; /* highest: the last row among them, counted in its part */
    int32_t row[LACLI_UNIT_QUERIES], head[LACLI_UNIT_QUERIES];
    int32_t start[LACLI_UNIT_QUERIES], end[LACLI_UNIT_QUERIES];
    const float *query[LACLI_UNIT_QUERIES];
    const int32_t *slots[LACLI_UNIT_QUERIES];
    float *scores[LACLI_UNIT_QUERIES], *out[LACLI_UNIT_QUERIES];
} unit_t;

static int32_t first_seen(const lacli_step *step, const lacli_layer *layer, int32_t row)
{
    int64_t first = (int64_t)step->parts[step->part_of[row]].length + step->depths[row] + 1 - layer->window;
    return layer->window && first > 0 ? (int32_t)first : 0;
}

/* The queries of a unit and head of keys, with the ancestors of each row among the thread's own slots. */
static void gather_queries(const lacli_turn *turn, int32_t index, int32_t kv_head, const lacli_unit *of, float *scores,
                           unit_t *unit)
{
    const lacli_step *step = turn->step;
    const lacli_model *model = step->model;
    const lacli_layer *layer = &model->layer[index];
    const lacli_part *part = &step->parts[of->part];
    int32_t group = model->heads / model->kv_heads, count = of->count, first_row = step->firsts[of->part];
    int32_t *slots = step->slots + (int64_t)turn->thread * step->unit_queries * step->part_rows;
    unit->cache = part->cache;
    unit->count = count;
    unit->base = part->length;
    for (int32_t q = 0; q < count; q++) {
        unit->row[q] = first_row + (of->first + q) / group;
        unit->head[q] = kv_head * group + (of->first + q) % group;
        int32_t start = first_seen(step, layer, unit->row[q]);
        unit->base = start < unit->base ? start : unit->base;
    }
    unit->base -= unit->base % 16;
    unit->past = part->length - unit->base;
    unit->highest = unit->row[count - 1] - first_row;
    for (int32_t q = 0; q < count; q++) {
        int32_t row = unit->row[q], *to = slots + (int64_t)q * step->part_rows;
        int64_t at = (int64_t)unit->head[q] * model->head_dim;
        unit->query[q] = step->heads + row * step->heads_stride + at;
        unit->out[q] = step->mixed.x + row * step->mixed.stride + at;
        unit->scores[q] = scores + q * step->score_stride;
        unit->start[q] = first_seen(step, layer, row) - unit->base;
        unit->end[q] = unit->past + step->depths[row] + 1;
        if (q > 0 && row == unit->row[q - 1]) {
            unit->slots[q] = unit->slots[q - 1];
            continue;
        }
        unit->slots[q] = to;
        for (int32_t depth = step->depths[row], ancestor = row; depth >= 0; depth--) {
            to[depth] = unit->past + ancestor - first_row;
            ancestor = step->rows->parents[ancestor];
        }
    }
}

/* Scores of the groups of 16 slots [first, last) of those that the queries can see. */
static int32_t score_groups(const unit_t *unit)
{
    return (unit->past + unit->highest + 16) / 16;
}

static void score(const lacli_step *step, int32_t index, int32_t kv_head, const unit_t *unit, int32_t first,
                  int32_t last)
{
    int32_t head_dim = step->model->head_dim, bytes = unit->cache->kind == LACLI_F16 ? 2 : 4;
    const char *keys = lacli_cached(step->model, unit->cache, 0, index, kv_head);
    lacli_active->scores(unit->query, unit->count, keys + (int64_t)unit->base * head_dim * bytes, unit->cache->kind,
                         head_dim, first * 16, last * 16, unit->scores);
}

/* Scores of one query by slot to weights by position; returns their sum. */
static float weigh(const unit_t *unit, int32_t q)
{
    float *scores = unit->scores[q];
    int32_t from = unit->start[q] - unit->start[q] % 16;
    for (int32_t j = unit->past; j < unit->end[q]; j++) /* slots ascend, so none is overwritten before it is read */
        scores[j] = scores[unit->slots[q][j - unit->past]];
    for (int32_t j = from; j < unit->start[q]; j++)
        scores[j] = -INFINITY;
    return lacli_active->softmax(scores + from, unit->end[q] - from);
}

/* Lanes [first, last) of the result, ready for the output matrix where whole blocks lie in a head. */
static void mix(const lacli_step *step, int32_t index, int32_t kv_head, const unit_t *unit, const float *sums,
                int32_t first, int32_t last)
{
    const lacli_model *model = step->model;
    int32_t head_dim = model->head_dim, bytes = unit->cache->kind == LACLI_F16 ? 2 : 4;
    const char *values = lacli_cached(model, unit->cache, 1, index, kv_head);
    lacli_active->mix((const float *const *)unit->scores, unit->count, unit->past, unit->slots, unit->start, unit->end,
                      values + (int64_t)unit->base * head_dim * bytes, unit->cache->kind, head_dim, first, last,
                      unit->out);
    for (int32_t q = 0; q < unit->count; q++) {
        float factor = 1.0f / sums[q];
        int32_t at = unit->head[q] * head_dim;
        for (int32_t d = first; d < last; d++)
            unit->out[q][d] *= factor;
        if (head_dim % LACLI_BLOCK == 0 && lacli_is_quantised(model->layer[index].output.kind))
            lacli_quantise_part(&step->mixed, unit->row[q], at + first, at + last);
    }
}

/* A thread does all of some queries. */
static void attend_by_queries(lacli_turn *turn, int32_t index)
{
    lacli_step *step = turn->step;
    int32_t kv_heads = step->model->kv_heads, taken;
    float *scores = step->scores + (int64_t)turn->thread * step->unit_queries * step->score_stride;
    while ((taken = lacli_take(turn)) < kv_heads * step->units_count) {
        int32_t kv_head = taken / step->units_count;
        float sums[LACLI_UNIT_QUERIES];
        unit_t unit;
        gather_queries(turn, index, kv_head, &step->units[taken % step->units_count], scores, &unit);
        score(step, index, kv_head, &unit, 0, score_groups(&unit));
        for (int32_t q = 0; q < unit.count; q++)
            sums[q] = weigh(&unit, q);
        mix(step, index, kv_head, &unit, sums, 0, step->model->head_dim);
    }
    lacli_meet(turn);
}

/* All threads share each head of the one unit: scores by positions, then weights by query, then sums by lanes. */
static void attend_by_positions(lacli_turn *turn, int32_t index)
{
    lacli_step *step = turn->step;
    const lacli_model *model = step->model;
    int32_t queries = step->rows->rows * (model->heads / model->kv_heads), head_dim = model->head_dim, taken;
    int32_t parts = (step->threads * 8 + model->kv_heads - 1) / model->kv_heads;
    int32_t lanes = head_dim % LACLI_BLOCK ? LACLI_PANEL : LACLI_BLOCK, slices = (head_dim + lanes - 1) / lanes;
    unit_t unit;
#define GATHER(kv_head) \
    gather_queries(turn, index, kv_head, step->units, \
                   step->scores + (int64_t)(kv_head) * queries * step->score_stride, &unit)
    while ((taken = lacli_take(turn)) < model->kv_heads * parts) {
        int32_t kv_head = taken / parts, part = taken % parts;
        GATHER(kv_head);
        int64_t groups = score_groups(&unit);
        score(step, index, kv_head, &unit, (int32_t)(groups * part / parts), (int32_t)(groups * (part + 1) / parts));
    }
    lacli_meet(turn);
    while ((taken = lacli_take(turn)) < model->kv_heads * queries) {
        GATHER(taken / queries);
        step->sums[taken] = weigh(&unit, taken % queries);
    }
    lacli_meet(turn);
    while ((taken = lacli_take(turn)) < model->kv_heads * slices) {
        int32_t kv_head = taken / slices, first = taken % slices * lanes;
        GATHER(kv_head);
        mix(step, index, kv_head, &unit, step->sums + (int64_t)kv_head * queries, first,
            first + lanes < head_dim ? first + lanes : head_dim);
    }
#undef GATHER
    lacli_meet(turn);
}

void lacli_step_attend(lacli_turn *turn, int32_t index)
{
    lacli_step *step = turn->step;
    const lacli_layer *layer = &step->model->layer[index];
    if (step->spread)
        attend_by_positions(turn, index);
    else
        attend_by_queries(turn, index);
    if (step->model->head_dim % LACLI_BLOCK == 0 || !lacli_is_quantised(layer->output.kind))
        return;
    for (int32_t row; (row = lacli_take(turn)) < step->rows->rows;)
        lacli_quantise_part(&step->mixed, row, 0, layer->output.columns);
    lacli_meet(turn);
}
