/* What a forward and a move in the cache are checked for before anything is written. */
#include "step.h"

static int check_cache(const lacli_cache *cache)
{
    if (cache->kind != LACLI_F32 && cache->kind != LACLI_F16)
        return LACLI_E_KIND;
    return cache->capacity < 1 || cache->capacity % 16 ? LACLI_E_SHAPE : 0;
}

static int check_matrix(const lacli_matrix *matrix, int64_t rows, int64_t columns)
{
    if (matrix->kind < LACLI_Q4 || matrix->kind > LACLI_BF16)
        return LACLI_E_KIND;
    return matrix->rows != rows || matrix->columns != columns ? LACLI_E_SHAPE : 0;
}

static int check_layer(const lacli_model *model, const lacli_layer *layer)
{
    int64_t queries = (int64_t)model->heads * model->head_dim, keys = (int64_t)model->kv_heads * model->head_dim;
    const struct {
        const lacli_matrix *matrix;
        int64_t rows, columns;
    } all[] = {
        {&layer->query, queries, model->hidden},
        {&layer->key, keys, model->hidden},
        {&layer->value, keys, model->hidden},
        {&layer->output, model->hidden, queries},
        {&layer->gate, model->intermediate, model->hidden},
        {&layer->up, model->intermediate, model->hidden},
        {&layer->down, model->hidden, model->intermediate},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int error = check_matrix(all[i].matrix, all[i].rows, all[i].columns);
        if (error)
            return error;
    }
    return layer->window < 0 ? LACLI_E_SHAPE : 0;
}

static int check_model(const lacli_model *model)
{
    if (model->layers < 1 || model->heads < 1 || model->kv_heads < 1 || model->head_dim < 2 || model->hidden < 1 ||
        model->intermediate < 1 || model->vocab < 1 || model->heads % model->kv_heads || model->head_dim % 2)
        return LACLI_E_SHAPE;
    int error = check_matrix(&model->embedding, model->vocab, model->hidden);
    error = error ? error : check_matrix(&model->head, model->vocab, model->hidden);
    for (int32_t i = 0; i < model->layers && !error; i++)
        error = check_layer(model, &model->layer[i]);
    return error;
}

/* Caches and numbers of rows, which add up to all; then parents, each in its row's own part. */
static int check_parts(const lacli_model *model, const lacli_part *parts, int32_t count, const lacli_rows *rows)
{
    int64_t total = 0;
    for (int32_t part = 0; part < count; part++) {
        const lacli_part *each = &parts[part];
        int error = check_cache(each->cache);
        if (error)
            return error;
        if (each->rows < 1 || each->length < 0 || (int64_t)each->length + each->rows > each->cache->capacity)
            return LACLI_E_SHAPE;
        total += each->rows;
    }
    if (count < 1 || total != rows->rows || rows->wanted < 0 || rows->wanted > rows->rows ||
        total * model->heads > INT32_MAX)
        return LACLI_E_SHAPE;
    for (int32_t part = 0, row = 0, first = 0; part < count; part++, first = row)
        for (; row < first + parts[part].rows; row++)
            if (rows->parents[row] != -1 && (rows->parents[row] < first || rows->parents[row] >= row))
                return LACLI_E_ID;
    return 0;
}

static int check_rows(const lacli_model *model, const lacli_rows *rows)
{
    for (int32_t row = 0; row < rows->rows; row++)
        if (rows->token_ids[row] < 0 || rows->token_ids[row] >= model->vocab)
            return LACLI_E_ID;
    for (int32_t i = 0; i < rows->wanted; i++)
        if (rows->wanted_rows[i] < 0 || rows->wanted_rows[i] >= rows->rows)
            return LACLI_E_ID;
    return 0;
}

int lacli_step_check(const lacli_model *model, const lacli_part *parts, int32_t count, const lacli_rows *rows)
{
    int error = check_model(model);
    error = error ? error : check_parts(model, parts, count, rows);
    return error ? error : check_rows(model, rows);
}

int lacli_keep_check(const lacli_model *model, const lacli_cache *cache, int32_t length, int32_t count,
                     const int32_t *path)
{
    int error = check_cache(cache);
    if (error)
        return error;
    if (model->layers < 1 || model->kv_heads < 1 || model->head_dim < 1 || length < 0 || count < 0)
        return LACLI_E_SHAPE;
    for (int32_t i = 0, least = 0; i < count; least = path[i] + 1, i++)
        if (path[i] < least || (int64_t)length + path[i] >= cache->capacity)
            return LACLI_E_ID;
    return 0;
}
