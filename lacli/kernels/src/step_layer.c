/* The phases of a layer but attention: norms, projections, the MLP. */
#include "step.h"

const lacli_inputs *lacli_step_norm(lacli_turn *turn, const float *weight, int32_t rows, const int32_t *of,
                                    int quantise)
{
    lacli_step *step = turn->step;
    const lacli_model *model = step->model;
    int own = rows <= LACLI_OWN_ROWS;
    lacli_inputs *to = own ? step->own + turn->thread : &step->normed;
    for (int32_t row = own ? 0 : lacli_take(turn); row < rows; row = own ? row + 1 : lacli_take(turn)) {
        const float *from = step->hidden + (int64_t)(of ? of[row] : row) * model->hidden;
        lacli_active->rms_norm(from, weight, model->norm_epsilon, model->hidden, to->x + row * to->stride);
        if (quantise)
            lacli_quantise_part(to, row, 0, model->hidden);
    }
    if (!own)
        lacli_meet(turn);
    return to;
}

static void multiply(const lacli_step *step, const lacli_matrix *matrix, const lacli_inputs *inputs, int32_t first,
                     int32_t last, float *y, int64_t y_stride, int add)
{
    lacli_active->matmul(matrix, &inputs->quantised, inputs->x, inputs->stride, step->rows->rows, first, last, y,
                         y_stride, add);
}

/* The matrix of a joint head of queries, keys and values, and where its outputs start among `heads`. */
static const lacli_matrix *matrix_of(const lacli_step *step, const lacli_layer *layer, int32_t head, int32_t *start)
{
    const lacli_model *model = step->model;
    if (head < model->heads) {
        *start = 0;
        return &layer->query;
    }
    *start = model->heads + (head < model->heads + model->kv_heads ? 0 : model->kv_heads);
    return *start == model->heads ? &layer->key : &layer->value;
}

/* A head of all rows, once projected: its norm and rotation; keys and values go to the cache. */
static void finish_head(const lacli_step *step, int32_t index, int32_t head)
{
    const lacli_model *model = step->model;
    const lacli_layer *layer = &model->layer[index];
    int32_t head_dim = model->head_dim, kv_head = (head - model->heads) % model->kv_heads;
    int is_query = head < model->heads, is_value = head >= model->heads + model->kv_heads;
    const float *norm = is_query ? layer->query_norm : layer->key_norm;
    for (int32_t row = 0; row < step->rows->rows; row++) {
        float *x = step->heads + row * step->heads_stride + (int64_t)head * head_dim;
        const lacli_part *part = &step->parts[step->part_of[row]];
        int64_t position = (int64_t)part->length + step->depths[row];
        if (!is_value && norm)
            lacli_active->rms_norm(x, norm, model->norm_epsilon, head_dim, x);
        if (!is_value)
            lacli_active->rotate(x, step->rows->cosine + position * (head_dim / 2),
                                 step->rows->sine + position * (head_dim / 2), head_dim);
        if (is_query) {
            for (int32_t d = 0; d < head_dim; d++)
                x[d] *= model->query_scale;
            continue;
        }
        lacli_active->store(x, lacli_cached(model, part->cache, is_value, index, kv_head), part->cache->kind, head_dim,
                            part->length + row - step->firsts[step->part_of[row]], !is_value);
    }
}

void lacli_step_project(lacli_turn *turn, int32_t index)
{
    lacli_step *step = turn->step;
    const lacli_model *model = step->model;
    const lacli_layer *layer = &model->layer[index];
    int quantise = lacli_is_quantised(layer->query.kind) || lacli_is_quantised(layer->key.kind) ||
                   lacli_is_quantised(layer->value.kind);
    const lacli_inputs *inputs = lacli_step_norm(turn, layer->input_norm, step->rows->rows, NULL, quantise);
    int32_t count = model->heads + 2 * model->kv_heads, head_dim = model->head_dim;
    if (head_dim % LACLI_PANEL == 0) {
        for (int32_t head; (head = lacli_take(turn)) < count;) {
            int32_t start, panels = head_dim / LACLI_PANEL;
            const lacli_matrix *matrix = matrix_of(step, layer, head, &start);
            int32_t first = (head - start) * panels;
            multiply(step, matrix, inputs, first, first + panels, step->heads + (int64_t)start * head_dim,
                     step->heads_stride, 0);
            finish_head(step, index, head);
        }
    } else { /* heads share panels */
        int32_t queries = lacli_panels(layer->query.rows), keys = lacli_panels(layer->key.rows);
        for (int32_t panel; (panel = lacli_take(turn)) < queries + 2 * keys;) {
            int32_t start, first = panel < queries ? 0 : panel < queries + keys ? queries : queries + keys;
            int32_t head = first == 0 ? 0 : model->heads + (first == queries ? 0 : model->kv_heads);
            const lacli_matrix *matrix = matrix_of(step, layer, head, &start);
            multiply(step, matrix, inputs, panel - first, panel - first + 1,
                     step->heads + (int64_t)start * head_dim, step->heads_stride, 0);
        }
        lacli_meet(turn);
        for (int32_t head; (head = lacli_take(turn)) < count;)
            finish_head(step, index, head);
    }
    lacli_meet(turn);
}

/* Onto the residual stream. */
static void add_product(lacli_turn *turn, const lacli_matrix *matrix, const lacli_inputs *inputs)
{
    lacli_step *step = turn->step;
    int32_t panels = lacli_panels(matrix->rows), share = lacli_share(turn, panels), unit;
    while ((unit = lacli_take(turn)) < (panels + share - 1) / share) {
        int32_t first = unit * share, last = first + share < panels ? first + share : panels;
        multiply(step, matrix, inputs, first, last, step->hidden, step->model->hidden, 1);
    }
    lacli_meet(turn);
}

void lacli_step_output(lacli_turn *turn, int32_t index)
{
    add_product(turn, &turn->step->model->layer[index].output, &turn->step->mixed);
}

void lacli_step_feed(lacli_turn *turn, int32_t index)
{
    lacli_step *step = turn->step;
    const lacli_layer *layer = &step->model->layer[index];
    lacli_inputs *inner = &step->inner;
    int quantise = lacli_is_quantised(layer->gate.kind) || lacli_is_quantised(layer->up.kind);
    const lacli_inputs *inputs = lacli_step_norm(turn, layer->post_norm, step->rows->rows, NULL, quantise);
    int32_t columns = step->model->intermediate, panels = lacli_panels(columns), blocks = lacli_blocks(columns);
    int32_t share = lacli_share(turn, blocks), unit;
    while ((unit = lacli_take(turn)) < (blocks + share - 1) / share) {
        int32_t first = unit * share * 2, last = first + share * 2 < panels ? first + share * 2 : panels;
        int32_t from = first * LACLI_PANEL, to = last * LACLI_PANEL < columns ? last * LACLI_PANEL : columns;
        multiply(step, &layer->gate, inputs, first, last, inner->x, inner->stride, 0);
        multiply(step, &layer->up, inputs, first, last, step->up, inner->stride, 0);
        for (int32_t row = 0; row < step->rows->rows; row++) {
            float *gate = inner->x + row * inner->stride + from;
            lacli_active->silu_mul(gate, step->up + row * inner->stride + from, to - from, gate);
            if (lacli_is_quantised(layer->down.kind))
                lacli_quantise_part(inner, row, from, to);
        }
    }
    lacli_meet(turn);
    add_product(turn, &layer->down, inner);
}
