/* Draws tiny models, caches and trees of rows for the forward's cases. */
#include "fuzz.h"

#define MAX_HEAD_DIM 64

static float *draw_vector(int n, float middle, float spread, int weird) {
    float *x = heap_block((size_t)n * sizeof(float), (size_t)draw(0, 15) * 4);
    draw_floats(x, n, weird);
    for (int i = 0; !weird && i < n; i++) x[i] = middle + spread * x[i];
    return x;
}

/* One kind for all matrices or one for each, as a model of mixed types has. */
static int draw_kind(int all) { return all ? all : draw(LACLI_Q4, LACLI_BF16); }

static void draw_layer(lacli_layer *layer, const lacli_model *model, int kind, int norms, int weird) {
    int queries = model->heads * model->head_dim, keys = model->kv_heads * model->head_dim;
    int hidden = model->hidden, inner = model->intermediate;
    *layer = (lacli_layer){.window = draw_chance(30) ? draw(1, 20) : 0};
    layer->input_norm = draw_vector(hidden, 1.0f, 0.2f, weird && draw_chance(20));
    layer->post_norm = draw_vector(hidden, 1.0f, 0.2f, weird && draw_chance(20));
    if (norms) {
        layer->query_norm = draw_vector(model->head_dim, 1.0f, 0.2f, weird && draw_chance(20));
        layer->key_norm = draw_vector(model->head_dim, 1.0f, 0.2f, weird && draw_chance(20));
    }
    draw_matrix(&layer->query, draw_kind(kind), queries, hidden, weird && draw_chance(10));
    draw_matrix(&layer->key, draw_kind(kind), keys, hidden, weird && draw_chance(10));
    draw_matrix(&layer->value, draw_kind(kind), keys, hidden, weird && draw_chance(10));
    draw_matrix(&layer->output, draw_kind(kind), hidden, queries, weird && draw_chance(10));
    draw_matrix(&layer->gate, draw_kind(kind), inner, hidden, weird && draw_chance(10));
    draw_matrix(&layer->up, draw_kind(kind), inner, hidden, weird && draw_chance(10));
    draw_matrix(&layer->down, draw_kind(kind), hidden, inner, weird && draw_chance(10));
}

static void draw_model(setting *drawn) {
    lacli_model *model = &drawn->model;
    int groups = draw(1, 3), kind = draw_chance(70) ? draw(LACLI_Q4, LACLI_BF16) : 0, norms = draw_chance(30);
    *model = (lacli_model){.layers = draw(1, 3), .kv_heads = draw(1, 3)};
    model->head_dim = draw_chance(50) ? 2 * draw(2, 20) : 16 * draw(1, MAX_HEAD_DIM / 16); /* whole panels or not */
    model->heads = groups * model->kv_heads;
    model->hidden = draw(1, draw_chance(80) ? 64 : 150);
    model->intermediate = draw(1, draw_chance(80) ? 64 : 150);
    model->vocab = draw(1, draw_chance(70) ? 60 : 300);
    model->norm_epsilon = draw_chance(50) ? 1e-5f : 1e-6f;
    model->query_scale = 1.0f / sqrtf((float)model->head_dim);
    drawn->layers = heap_block((size_t)model->layers * sizeof(lacli_layer), 0);
    for (int i = 0; i < model->layers; i++) draw_layer(&drawn->layers[i], model, kind, norms, drawn->weird);
    model->layer = drawn->layers;
    draw_matrix(&model->embedding, draw_kind(kind), model->vocab, model->hidden, drawn->weird && draw_chance(10));
    model->embedding.bias = NULL;
    model->head = model->embedding;
    if (draw_chance(50)) draw_matrix(&model->head, draw_kind(kind), model->vocab, model->hidden, 0);
    model->final_norm = draw_vector(model->hidden, 1.0f, 0.2f, drawn->weird && draw_chance(20));
}

size_t cache_bytes(const setting *of) {
    size_t values = (size_t)of->model.layers * (size_t)of->model.kv_heads * (size_t)of->cache.capacity;
    return values * (size_t)of->model.head_dim * (of->cache.kind == LACLI_F32 ? 4 : 2);
}

lacli_cache cache_copy(const setting *of) {
    lacli_cache copy = of->cache;
    copy.keys = heap_copy(of->cache.keys, cache_bytes(of));
    copy.values = heap_copy(of->cache.values, cache_bytes(of));
    return copy;
}

static size_t cache_index(const setting *of, int values, int layer, int head, int slot, int d) {
    size_t capacity = (size_t)of->cache.capacity, head_dim = (size_t)of->model.head_dim;
    size_t start = ((size_t)layer * (size_t)of->model.kv_heads + (size_t)head) * capacity * head_dim;
    if (values) return start + (size_t)slot * head_dim + (size_t)d;
    return start + (size_t)(slot / 16) * head_dim * 16 + (size_t)d * 16 + (size_t)(slot % 16);
}

uint32_t cache_at(const setting *of, const lacli_cache *cache, int values, int layer, int head, int slot, int d) {
    const char *data = values ? cache->values : cache->keys;
    size_t at = cache_index(of, values, layer, head, slot, d);
    uint16_t half;
    float value;
    if (cache->kind == LACLI_F32) memcpy(&value, data + at * 4, 4);
    else {
        memcpy(&half, data + at * 2, 2);
        value = half_to_float(half);
    }
    if (isnan(value)) value = NAN;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

void cache_copy_slot(const setting *of, const lacli_cache *from, lacli_cache *to, int slot) {
    size_t bytes = of->cache.kind == LACLI_F32 ? 4 : 2;
    for (int head = 0; head < of->model.layers * of->model.kv_heads; head++) /* of all layers */
        for (int d = 0; d < of->model.head_dim; d++) {
            size_t key = cache_index(of, 0, 0, head, slot, d) * bytes;
            size_t value = cache_index(of, 1, 0, head, slot, d) * bytes;
            memcpy((char *)to->keys + key, (char *)from->keys + key, bytes);
            memcpy((char *)to->values + value, (char *)from->values + value, bytes);
        }
}

/* Slots below `length` hold numbers, the rest the garbage of a fresh block. */
static void draw_cache(setting *drawn) {
    size_t bytes, heads = (size_t)drawn->model.layers * (size_t)drawn->model.kv_heads;
    bytes = cache_bytes(drawn);
    drawn->cache.keys = heap_block(bytes, 0);
    drawn->cache.values = heap_block(bytes, 0);
    int odd = drawn->weird && draw_chance(20);
    for (size_t i = 0; i < 2 * heads * (size_t)drawn->length; i++) {
        float numbers[MAX_HEAD_DIM];
        int values = i % 2, slot = (int)(i / 2 / heads), head = (int)(i / 2 % heads);
        draw_floats(numbers, drawn->model.head_dim, odd);
        for (int d = 0; d < drawn->model.head_dim; d++) {
            size_t at = cache_index(drawn, values, 0, head, slot, d);
            char *data = values ? drawn->cache.values : drawn->cache.keys;
            uint16_t half = float_to_half(numbers[d]);
            if (drawn->cache.kind == LACLI_F32) memcpy(data + at * 4, &numbers[d], 4);
            else memcpy(data + at * 2, &half, 2);
        }
    }
}

void give_table(lacli_rows *rows, int positions, int half) {
    size_t bytes = (size_t)(positions * half) * sizeof(float);
    float *cosine = heap_block(bytes, 0), *sine = heap_block(bytes, 0);
    for (int i = 0; i < positions * half; i++) {
        double angle = (i / half) * pow(10000.0, -(double)(i % half) / half);
        cosine[i] = (float)cos(angle);
        sine[i] = (float)sin(angle);
    }
    rows->cosine = cosine;
    rows->sine = sine;
}

static void draw_rows(setting *drawn, int rows) {
    int style = draw(0, 3), deepest = 0; /* a chain, siblings, a bushy tree, any tree */
    drawn->token_ids = heap_block((size_t)rows * 4, 0);
    drawn->parents = heap_block((size_t)rows * 4, 0);
    drawn->depths = heap_block((size_t)rows * 4, 0);
    for (int row = 0; row < rows; row++) {
        drawn->token_ids[row] = draw(0, drawn->model.vocab - 1);
        drawn->parents[row] = style == 0 ? row - 1 : style == 1 ? (row ? 0 : -1) : style == 2 ? row / 3 - !row
                                                                                             : draw(-1, row - 1);
        drawn->depths[row] = drawn->parents[row] < 0 ? 0 : drawn->depths[drawn->parents[row]] + 1;
        if (drawn->depths[row] > deepest) deepest = drawn->depths[row];
    }
    int wanted = draw_chance(40) ? rows : draw(0, rows), taken = 0;
    drawn->wanted = heap_block((size_t)wanted * 4, 0);
    for (int row = 0; row < rows; row++) /* ascending, each row with the chance that fills the list */
        if (draw(0, rows - row - 1) < wanted - taken) drawn->wanted[taken++] = row;
    drawn->rows = (lacli_rows){.rows = rows, .wanted = wanted, .token_ids = drawn->token_ids, .parents = drawn->parents,
                               .wanted_rows = drawn->wanted};
    give_table(&drawn->rows, drawn->length + deepest + 1, drawn->model.head_dim / 2);
}

void give_outputs(lacli_rows *rows, int vocab) {
    size_t wanted = (size_t)rows->wanted;
    rows->logits = heap_block(wanted * (size_t)vocab * sizeof(float), 0);
    rows->top_ids = heap_block(wanted * LACLI_TOP * sizeof(int32_t), 0);
    rows->top_logits = heap_block(wanted * LACLI_TOP * sizeof(float), 0);
}

void draw_sequence(setting *drawn, const setting *of) {
    if (drawn != of) *drawn = *of;
    int rows = draw(1, draw_chance(80) ? 12 : 70), place = draw(0, 99);
    drawn->length = place < 15 ? 0 : draw(1, place < 75 ? 40 : 150);
    if (place >= 93) { /* long enough for the ways that only long texts take */
        drawn->length = draw(400, 900);
        rows = draw(1, draw_chance(70) ? 4 : 20);
    }
    drawn->cache.kind = draw_chance(50) ? LACLI_F32 : LACLI_F16;
    drawn->cache.capacity = (drawn->length + rows + 15) / 16 * 16 + 16 * draw(0, 2);
    draw_cache(drawn);
    draw_rows(drawn, rows);
    give_outputs(&drawn->rows, drawn->model.vocab);
}

void draw_setting(setting *drawn) {
    memset(drawn, 0, sizeof *drawn);
    drawn->weird = draw_chance(25);
    draw_model(drawn);
    draw_sequence(drawn, drawn);
}
