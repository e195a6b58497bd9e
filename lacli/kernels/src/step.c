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

/* How attention is shared, and the memory it needs. */
static void plan_attention(lacli_step *step, char *base, size_t *used)
{
    int32_t kv_heads = step->model->kv_heads, threads = step->threads, rows = step->rows->rows;
    int64_t queries = (int64_t)rows * (step->model->heads / kv_heads), width = LACLI_UNIT_QUERIES;
    while (width > 3 && kv_heads * ((queries + width - 1) / width) < 3 * threads)
        width /= 2;
    step->spread = threads > 1 && queries <= LACLI_UNIT_QUERIES && step->length >= LACLI_SPREAD_LENGTH &&
                   kv_heads * ((queries + width - 1) / width) < 3 * threads;
    if (step->spread)
        width = queries;
    step->unit_queries = (int32_t)width;
    step->score_stride = ((int64_t)step->length + rows + 15) / 16 * 16;
    step->score_stride += step->score_stride % 256 == 0 ? 16 : 0; /* lest all queries meet in the same cache sets */
    size_t holders = (size_t)(step->spread ? kv_heads : threads), each = (size_t)width * sizeof(float);
    step->scores = carve(base, used, holders * each * (size_t)step->score_stride);
    step->sums = carve(base, used, holders * each);
    step->slots = carve(base, used, (size_t)threads * each * (size_t)rows);
}

/* Lay out the work space at `base`; returns its size. */
static size_t plan(lacli_step *step, char *base)
{
    const lacli_model *model = step->model;
    int32_t rows = step->rows->rows, threads = step->threads;
    size_t used = 0, wanted = (size_t)threads * (size_t)step->rows->wanted * LACLI_TOP;
    int64_t head_dim = model->head_dim;
    step->heads_stride = (model->heads + (int64_t)2 * model->kv_heads) * head_dim;
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

int lacli_forward(lacli_threads *threads, const lacli_model *model, const lacli_cache *cache, int32_t length,
                  const lacli_rows *rows)
{
    int error = lacli_step_check(model, cache, length, rows);
    if (error)
        return error;
    lacli_step step = {.model = model, .cache = cache, .rows = rows, .pool = threads, .length = length,
                       .threads = lacli_threads_count(threads)};
    char *base = lacli_scratch(threads, plan(&step, NULL));
    if (!base)
        return LACLI_E_MEMORY;
    plan(&step, base);
    for (int32_t row = 0; row < rows->rows; row++)
        step.depths[row] = rows->parents[row] < 0 ? 0 : step.depths[rows->parents[row]] + 1;
    lacli_run(threads, walk, &step);
    return 0;
}
