/* The two ends of a forward: token ids to hidden states, and hidden states to logits and the best tokens. */
#include <math.h>

#include "half.h"
#include "step.h"

/* Row `id` of a matrix as floats. */
static void read_row(const lacli_matrix *matrix, int32_t id, float *out)
{
    int32_t columns = matrix->columns, kind = matrix->kind;
    if (kind == LACLI_F32) {
        memcpy(out, (const char *)matrix->data + (int64_t)id * columns * 4, (size_t)columns * sizeof *out);
        return;
    }
    if (kind == LACLI_BF16) {
        const char *from = (const char *)matrix->data + (int64_t)id * columns * 2;
        for (int32_t column = 0; column < columns; column++) {
            uint16_t half;
            memcpy(&half, from + column * 2, sizeof half);
            out[column] = lacli_bits_float((uint32_t)half << 16);
        }
        return;
    }
    int32_t blocks = lacli_blocks(columns), lane = id % LACLI_PANEL, nibbles = lacli_is_nibbles(kind);
    int32_t zero = kind == LACLI_Q4 ? 8 : kind == LACLI_Q4M ? 0 : 128;
    const uint8_t *values = (const uint8_t *)matrix->data + id / LACLI_PANEL * lacli_panel_stride(kind, blocks);
    const uint16_t *scales = (const uint16_t *)(values + lacli_values_bytes(kind, blocks));
    const uint16_t *minima = scales + (int64_t)blocks * LACLI_PANEL;
    for (int32_t column = 0; column < columns; column++) {
        int32_t block = column / LACLI_BLOCK, place = column % LACLI_BLOCK, within = nibbles ? place % 16 : place;
        int64_t group = (int64_t)block * (nibbles ? 4 : 8) + within / 4;
        int32_t byte = values[(group * LACLI_PANEL + lane) * 4 + within % 4];
        int32_t q = (nibbles ? (place < 16 ? byte & 15 : byte >> 4) : byte) - zero;
        float scale = lacli_half_to_float(scales[block * LACLI_PANEL + lane]);
        float minimum = lacli_has_minimum(kind) ? lacli_half_to_float(minima[block * LACLI_PANEL + lane]) : 0.0f;
        out[column] = __builtin_fmaf(scale, (float)q, minimum);
    }
}

void lacli_step_embed(lacli_turn *turn)
{
    lacli_step *step = turn->step;
    for (int32_t row; (row = lacli_take(turn)) < step->rows->rows;)
        read_row(&step->model->embedding, step->rows->token_ids[row],
                 step->hidden + (int64_t)row * step->model->hidden);
    lacli_meet(turn);
}

static void no_tops(int32_t *ids, float *logits, int32_t rows)
{
    for (int64_t i = 0; i < (int64_t)rows * LACLI_TOP; i++) {
        ids[i] = -1;
        logits[i] = -INFINITY;
    }
}

/* Onto the best of a row what another thread has found. */
static void merge_tops(const int32_t *ids, const float *logits, int32_t *best_ids, float *best)
{
    for (int i = 0; i < LACLI_TOP; i++)
        if (ids[i] >= 0)
            lacli_active->top(logits + i, 1, ids[i], best_ids, best);
}

void lacli_step_head(lacli_turn *turn)
{
    lacli_step *step = turn->step;
    const lacli_rows *rows = step->rows;
    const lacli_matrix *head = &step->model->head;
    int32_t wanted = rows->wanted, vocab = head->rows, panels = lacli_panels(vocab);
    int32_t share = lacli_share(turn, panels), unit;
    int64_t own = (int64_t)turn->thread * wanted * LACLI_TOP;
    const lacli_inputs *inputs =
        lacli_step_norm(turn, step->model->final_norm, wanted, rows->wanted_rows, lacli_is_quantised(head->kind));
    no_tops(step->top_ids + own, step->top_logits + own, wanted);
    while ((unit = lacli_take(turn)) < (panels + share - 1) / share) {
        int32_t first = unit * share, last = first + share < panels ? first + share : panels;
        int32_t from = first * LACLI_PANEL, to = last * LACLI_PANEL < vocab ? last * LACLI_PANEL : vocab;
        lacli_active->matmul(head, &inputs->quantised, inputs->x, inputs->stride, wanted, first, last, rows->logits,
                             vocab, 0);
        for (int32_t row = 0; row < wanted; row++)
            lacli_active->top(rows->logits + (int64_t)row * vocab + from, to - from, from,
                              step->top_ids + own + row * LACLI_TOP, step->top_logits + own + row * LACLI_TOP);
    }
    lacli_meet(turn);
    for (int32_t row; (row = lacli_take(turn)) < wanted;) {
        int32_t *ids = rows->top_ids + (int64_t)row * LACLI_TOP;
        float *logits = rows->top_logits + (int64_t)row * LACLI_TOP;
        no_tops(ids, logits, 1);
        for (int thread = 0; thread < step->threads; thread++) {
            int64_t at = ((int64_t)thread * wanted + row) * LACLI_TOP;
            merge_tops(step->top_ids + at, step->top_logits + at, ids, logits);
        }
    }
}
