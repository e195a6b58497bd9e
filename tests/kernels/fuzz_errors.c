/* What lacli_forward and lacli_keep must refuse: a valid call with one thing wrong gives its code, writes nothing. */
#include <limits.h>

#include "fuzz.h"

static lacli_matrix *some_matrix(setting *of) {
    lacli_layer *layer = &of->layers[draw(0, of->model.layers - 1)];
    lacli_matrix *all[] = {&layer->query, &layer->key, &layer->value, &layer->output,      &layer->gate,
                           &layer->up,    &layer->down, &of->model.head, &of->model.embedding};
    return all[draw(0, COUNT(all) - 1)];
}

static int one_of(int a, int b, int c) { return (int[]){a, b, c}[draw(0, 2)]; }

/* Sizes of the call: the rows, the length and the cache. */
static void spoil_call(setting *of) {
    switch (draw(0, 5)) {
    case 0: of->rows.rows = one_of(0, -1, INT_MIN); break;
    case 1: of->rows.wanted = one_of(-1, of->rows.rows + 1, INT_MIN); break;
    case 2: of->length = one_of(-1, INT_MAX, of->cache.capacity - of->rows.rows + 1); break;
    case 3: of->length = one_of(INT_MIN, INT_MAX - of->rows.rows + 1, of->cache.capacity); break;
    case 4: /* the product of rows and heads */
        of->cache.capacity = INT_MAX / 16 * 16, of->length = 0;
        of->rows.rows = INT_MAX / of->model.heads + (of->model.heads > 1);
        break;
    default: of->cache.capacity = one_of(0, -16, of->cache.capacity + draw(1, 15)); break;
    }
}

static void spoil_model(setting *of) {
    lacli_model *model = &of->model;
    switch (draw(0, 7)) {
    case 0: model->heads = one_of(0, -model->heads, model->heads * 2); break;
    case 1: model->kv_heads = one_of(0, -1, model->heads + 1); break;
    case 2: model->head_dim = one_of(0, -2, model->head_dim + 1); break;
    case 3: model->hidden = one_of(0, -1, model->hidden + 1); break;
    case 4: model->intermediate = one_of(0, -1, model->intermediate + 1); break;
    case 5: model->vocab = one_of(0, -1, model->vocab + 1); break;
    case 6: model->layers = one_of(-1, INT_MIN, -model->layers); break;
    default: of->layers[draw(0, model->layers - 1)].window = one_of(-1, INT_MIN, -20); break;
    }
}

static void spoil_matrix(lacli_matrix *matrix) {
    int32_t *size = draw_chance(50) ? &matrix->rows : &matrix->columns;
    *size = draw_chance(50) ? *size + (draw_chance(50) ? 1 : -1) : one_of(0, -1, INT_MAX);
}

static void spoil_ids(setting *of) {
    int row = draw(0, of->rows.rows - 1), which = draw(0, of->rows.wanted ? 2 : 1);
    if (which == 0) of->token_ids[row] = one_of(-1, of->model.vocab, draw_chance(50) ? INT_MAX : INT_MIN);
    if (which == 1) of->parents[row] = one_of(row, -2, draw_chance(50) ? INT_MAX : INT_MIN);
    if (which == 2) of->wanted[draw(0, of->rows.wanted - 1)] = one_of(-1, of->rows.rows, INT_MAX);
}

static int spoil(setting *of) {
    static const int matrices[] = {0, -1, LACLI_F16, 8, INT_MAX}, caches[] = {0, -1, LACLI_BF16, LACLI_Q8, 8};
    switch (draw(0, 5)) {
    case 0: spoil_call(of); return LACLI_E_SHAPE;
    case 1: spoil_model(of); return LACLI_E_SHAPE;
    case 2: spoil_matrix(some_matrix(of)); return LACLI_E_SHAPE;
    case 3: some_matrix(of)->kind = matrices[draw(0, COUNT(matrices) - 1)]; return LACLI_E_KIND;
    case 4: of->cache.kind = caches[draw(0, COUNT(caches) - 1)]; return LACLI_E_KIND;
    default: spoil_ids(of); return LACLI_E_ID;
    }
}

void fuzz_forward_errors(void) {
    setting valid, wrong;
    draw_setting(&valid);
    wrong = valid;
    size_t bytes = cache_bytes(&valid), out = (size_t)valid.rows.wanted * (size_t)valid.model.vocab * sizeof(float);
    size_t top = (size_t)valid.rows.wanted * LACLI_TOP * 4;
    int expected = spoil(&wrong);
    wrong.rows.logits = heap_copy(valid.rows.logits, out);
    wrong.rows.top_ids = heap_copy(valid.rows.top_ids, top);
    wrong.rows.top_logits = heap_copy(valid.rows.top_logits, top);
    wrong.cache.keys = heap_copy(valid.cache.keys, bytes);
    wrong.cache.values = heap_copy(valid.cache.values, bytes);
    use_some_isa();
    int code = forward_one(&wrong, &wrong.cache, wrong.length, &wrong.rows);
    check(code == expected, "a forward with an error gave %d, not %d", code, expected);
    check(!memcmp(wrong.rows.logits, valid.rows.logits, out) && !memcmp(wrong.rows.top_ids, valid.rows.top_ids, top) &&
              !memcmp(wrong.rows.top_logits, valid.rows.top_logits, top), "a refused forward wrote results");
    check(!memcmp(wrong.cache.keys, valid.cache.keys, bytes) && !memcmp(wrong.cache.values, valid.cache.values, bytes),
          "a refused forward wrote to the cache");
}

void fuzz_keep_errors(void) {
    setting drawn;
    draw_setting(&drawn);
    int free_slots = drawn.cache.capacity - drawn.length, count = draw(1, free_slots < 8 ? free_slots : 8);
    int length = drawn.length, called = count, at = draw(0, count - 1), either = 1, expected = LACLI_E_ID;
    int32_t *path = heap_block((size_t)count * 4, 0);
    for (int i = 0; i < count; i++) path[i] = i;
    size_t bytes = cache_bytes(&drawn);
    lacli_cache cache = cache_copy(&drawn);
    switch (draw(0, 5)) {
    case 0: path[at] = one_of(-1, free_slots, draw_chance(50) ? INT_MAX : INT_MIN); break;
    case 1: path[at] = at + 1 < count ? at + 1 : at ? at - 1 : -1; break; /* one twice */
    case 2: called = one_of(-1, INT_MIN, -count); either = 0, expected = LACLI_E_SHAPE; break;
    case 3: length = one_of(-1, INT_MIN, -length - 1); either = 0, expected = LACLI_E_SHAPE; break;
    case 4: length = one_of(INT_MAX, drawn.cache.capacity, INT_MAX - count); break; /* the length, or its rows */
    default: cache.kind = one_of(0, LACLI_BF16, 8); either = 0, expected = LACLI_E_KIND; break;
    }
    int code = lacli_keep(&drawn.model, &cache, length, called, path);
    check(code == expected || (either && code == LACLI_E_SHAPE), "a keep with an error gave %d, not %d", code,
          expected);
    check(!memcmp(cache.keys, drawn.cache.keys, bytes) && !memcmp(cache.values, drawn.cache.values, bytes),
          "a refused keep moved slots");
}
