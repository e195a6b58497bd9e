/* A forward: its checks are in step_check.c; here its work space, and its phases from first to last. */
#include "step.h"

/* A piece of the work space that starts at *used of `base`; with no base only its size counts. */
static void *carve(char *base, size_t *used, size_t bytes)
{
    char *piece = base ? base + *used : NULL;
    *used += (bytes + 127) / 128 * 128;
    return piece;
}

static void carve_inputs(lacli_inputs *inputs, int32_t rows, int32_t columns, char *base, size_t *used)
{
    lacli_quantised *to = &inputs->quantised;
    to->blocks = lacli_blocks(columns);
    size_t blocks = (size_t)rows * (size_t)to->blocks;
    inputs->stride = (int64_t)to->blocks * LACLI_BLOCK;
    inputs->x = carve(base, used, blocks * LACLI_BLOCK * sizeof *inputs->x);
    to->q = carve(base, used, blocks * LACLI_BLOCK);
    to->scale = carve(base, used, blocks * sizeof *to->scale);
    to->sum = carve(base, used, blocks * sizeof *to->sum);
}

/* Units of so many queries that a head of keys gives. */
static int64_t count_units(const lacli_step *step, int64_t width)
{
    int64_t group = step->model->heads / step->model->kv_heads, count = 0;
    for (int32_t part = 0; part < step->parts_count; part++)
        count += (step->parts[part].rows * group + width - 1) / width;
    return count;
}

static void share_units(lacli_step *step)
{
    int32_t group = step->model->heads / step->model->kv_heads, width = step->unit_queries, at = 0;
    for (int32_t part = 0; part < step->parts_count; part++) {
        int32_t queries = step->parts[part].rows * group;
        for (int32_t first = 0; first < queries; first += width)
            step->units[at++] = (lacli_unit){part, first, queries - first < width ? queries - first : width};
    }
}

/* How attention is shared, and the memory it needs. */
static void plan_attention(lacli_step *step, char *base, size_t *used)
{
    int32_t kv_heads = step->model->kv_heads, threads = step->threads;
    int64_t queries = (int64_t)step->rows->rows * (step->model->heads / kv_heads), width = LACLI_UNIT_QUERIES;
    while (width > 3 && kv_heads * count_units(step, width) < 3 * threads)
        width /= 2;
    step->spread = threads > 1 && queries <= LACLI_UNIT_QUERIES && step->parts_count == 1 &&
                   step->parts->length >= LACLI_SPREAD_LENGTH && kv_heads * count_units(step, width) < 3 * threads;
    if (step->spread)
        width = queries;
    step->unit_queries = (int32_t)width;
    step->units_count = (int32_t)count_units(step, width);
    step->units = carve(base, used, (size_t)step->units_count * sizeof *step->units);
    int64_t longest = 0;
    step->part_rows = 0;
    for (int32_t part = 0; part < step->parts_count; part++) {
        int32_t rows = step->parts[part].rows;
        int64_t end = (int64_t)step->parts[part].length + rows;
        longest = end > longest ? end : longest;
        step->part_rows = rows > step->part_rows ? rows : step->part_rows;
    }
    step->score_stride = (longest + 15) / 16 * 16;
    step->score_stride += step->score_stride % 256 == 0 ? 16 : 0; /* lest all queries meet in the same cache sets */
    size_t holders = (size_t)(step->spread ? kv_heads : threads), each = (size_t)width * sizeof(float);
    step->scores = carve(base, used, holders * each * (size_t)step->score_stride);
    step->sums = carve(base, used, holders * each);
    step->slots = carve(base, used, (size_t)threads * each * (size_t)step->part_rows);
}

/* Lay out the work space at `base`; returns its size. */
static size_t plan(lacli_step *step, char *base)
{
    const lacli_model *model = step->model;
    int32_t rows = step->rows->rows, threads = step->threads;
    size_t used = 0, wanted = (size_t)threads * (size_t)step->rows->wanted * LACLI_TOP;
    int64_t head_dim = model->head_dim;
    step->heads_stride = (model->heads + (int64_t)2 * model->kv_heads) * head_dim;
    step->firsts = carve(base, &used, (size_t)step->parts_count * sizeof *step->firsts);
    step->part_of = carve(base, &used, (size_t)rows * sizeof *step->part_of);
    step->depths = carve(base, &used, (size_t)rows * sizeof *step->depths);
    step->hidden = carve(base, &used, (size_t)rows * (size_t)model->hidden * sizeof(float));
    step->heads = carve(base, &used, (size_t)rows * (size_t)step->heads_stride * sizeof(float));
    carve_inputs(&step->normed, rows, model->hidden, base, &used);
    carve_inputs(&step->mixed, rows, model->heads * model->head_dim, base, &used);
    carve_inputs(&step->inner, rows, model->intermediate, base, &used);
    step->up = carve(base, &used, (size_t)rows * (size_t)step->inner.stride * sizeof(float));
    step->own = carve(base, &used, (size_t)threads * sizeof *step->own);
    for (int thread = 0; thread < threads; thread++) {
        lacli_inputs own;
        carve_inputs(base ? step->own + thread : &own, LACLI_OWN_ROWS, model->hidden, base, &used);
    }
    plan_attention(step, base, &used);
    step->top_ids = carve(base, &used, wanted * sizeof *step->top_ids);
    step->top_logits = carve(base, &used, wanted * sizeof *step->top_logits);
    return used;
}

static void walk(void *context, int thread, lacli_threads *pool)
{
    lacli_step *step = context;
    lacli_turn turn = {step, thread, 0};
    (void)pool;
    lacli_step_embed(&turn);
    for (int32_t layer = 0; layer < step->model->layers; layer++) {
        lacli_step_project(&turn, layer);
        if (step->rows->wanted == 0 && layer == step->model->layers - 1)
            return; /* the cache is all that was asked for */
        lacli_step_attend(&turn, layer);
        lacli_step_output(&turn, layer);
        lacli_step_feed(&turn, layer);
    }
    if (step->rows->wanted > 0)
        lacli_step_head(&turn);
}

int lacli_forward(lacli_threads *threads, const lacli_model *model, const lacli_part *parts, int32_t count,
                  const lacli_rows *rows)
{
    int error = lacli_step_check(model, parts, count, rows);
    if (error)
        return error;
    lacli_step step = {.model = model, .parts = parts, .rows = rows, .pool = threads, .parts_count = count,
                       .threads = lacli_threads_count(threads)};
    char *base = lacli_scratch(threads, plan(&step, NULL));
    if (!base)
        return LACLI_E_MEMORY;
    plan(&step, base);
    share_units(&step);
    for (int32_t part = 0, row = 0; part < count; part++) {
        step.firsts[part] = row;
        for (int32_t end = row + parts[part].rows; row < end; row++) {
            step.part_of[row] = part;
            step.depths[row] = rows->parents[row] < 0 ? 0 : step.depths[rows->parents[row]] + 1;
        }
    }
    lacli_run(threads, walk, &step);
    return 0;
}
