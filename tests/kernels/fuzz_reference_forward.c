/* The plain reference of a forward, in float64 and without the float32 roundings between its parts.
 *
 * So it says only what the logits should nearly be. That the library's own bits agree among instruction sets, threads
 * and shapes of the tree is checked by fuzz_forward.c without it.
 */
#include "fuzz.h"

typedef struct {
    const lacli_model *model;
    const lacli_cache *cache;
    const lacli_rows *rows;
    int length;
    int *depth;
    double *hidden;        /* [rows][hidden] */
    double *keys, *values; /* of the rows, in the layer at work: [rows][kv_heads][head_dim], as stored */
} reference;

static double *doubles(size_t n) { return heap_block(n * sizeof(double), 0); }

/* Activations as the quantised kinds see them. */
static void round_block(double *x, int n) {
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    for (int i = 0; i < n && most > 0.0; i++) x[i] = rint(x[i] * 127.0 / most) * most / 127.0;
}

static void apply(const lacli_matrix *matrix, const double *x, double *y, int add) {
    int n = matrix->columns;
    double *rounded = doubles((size_t)n);
    memcpy(rounded, x, (size_t)n * sizeof(double));
    if (matrix->kind != LACLI_F32 && matrix->kind != LACLI_BF16)
        for (int i = 0; i < n; i += LACLI_BLOCK) round_block(rounded + i, n - i < LACLI_BLOCK ? n - i : LACLI_BLOCK);
    for (int i = 0; i < matrix->rows; i++) {
        double sum = matrix->bias ? (double)matrix->bias[i] : 0.0;
        for (int c = 0; c < n; c++) sum += (double)weight_at(matrix, i, c) * rounded[c];
        y[i] = add ? y[i] + sum : sum;
    }
}

static void norm(const double *x, const float *weight, double epsilon, int n, double *out) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    for (int i = 0; i < n; i++) out[i] = x[i] / sqrt(sum / n + epsilon) * (double)weight[i];
}

/* Norm and rotation of all heads of a row's query or key. */
static void finish_heads(const reference *of, int row, double *x, int heads, const float *weight) {
    int head_dim = of->model->head_dim, half = head_dim / 2, position = of->length + of->depth[row];
    const float *cosine = of->rows->cosine + position * half, *sine = of->rows->sine + position * half;
    for (; heads--; x += head_dim) {
        if (weight) norm(x, weight, (double)of->model->norm_epsilon, head_dim, x);
        for (int i = 0; i < half; i++) {
            double a = x[i], b = x[i + half];
            x[i] = a * (double)cosine[i] - b * (double)sine[i];
            x[i + half] = b * (double)cosine[i] + a * (double)sine[i];
        }
    }
}

static void store(const reference *of, double *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = of->cache->kind == LACLI_F32 ? (double)(float)x[i] : (double)half_to_float(float_to_half((float)x[i]));
}

static double cached(const reference *of, int values, int layer, int head, int slot, int d) {
    setting shape = {.model = *of->model, .cache = *of->cache};
    uint32_t bits = cache_at(&shape, of->cache, values, layer, head, slot, d);
    float value;
    memcpy(&value, &bits, 4);
    return (double)value;
}

/* The key or value that `row` sees at `position`: of the cache, or of its ancestor there. */
static double seen(const reference *of, int values, int layer, int head, int row, int position, int d) {
    if (position < of->length) return cached(of, values, layer, head, position, d);
    while (of->length + of->depth[row] > position) row = of->rows->parents[row];
    int head_dim = of->model->head_dim, at = (row * of->model->kv_heads + head) * head_dim + d;
    return values ? of->values[at] : of->keys[at];
}

static void attend(const reference *of, int layer, int row, const double *query, double *out) {
    const lacli_model *model = of->model;
    int last = of->length + of->depth[row], window = model->layer[layer].window;
    int first = window && last + 1 > window ? last + 1 - window : 0, head_dim = model->head_dim;
    double *weights = doubles((size_t)last + 1);
    for (int head = 0; head < model->heads; head++, query += head_dim, out += head_dim) {
        int kv_head = head / (model->heads / model->kv_heads);
        double most = -INFINITY, sum = 0.0;
        for (int p = first; p <= last; p++) {
            weights[p] = 0.0;
            for (int d = 0; d < head_dim; d++) weights[p] += query[d] * seen(of, 0, layer, kv_head, row, p, d);
            weights[p] *= (double)model->query_scale;
            most = fmax(most, weights[p]);
        }
        for (int p = first; p <= last; p++) sum += weights[p] = exp(weights[p] - most);
        for (int d = 0; d < head_dim; d++) {
            out[d] = 0.0;
            for (int p = first; p <= last; p++) out[d] += weights[p] / sum * seen(of, 1, layer, kv_head, row, p, d);
        }
    }
}

static void run_layer(const reference *of, int layer) {
    const lacli_model *model = of->model;
    const lacli_layer *weights = &model->layer[layer];
    size_t wide = (size_t)model->hidden, heads = (size_t)(model->heads * model->head_dim);
    size_t kv = (size_t)(model->kv_heads * model->head_dim), rows = (size_t)of->rows->rows;
    double *normed = doubles(wide), *queries = doubles(rows * heads), *mixed = doubles(heads);
    double *gate = doubles((size_t)model->intermediate), *up = doubles((size_t)model->intermediate);
    for (size_t row = 0; row < rows; row++) {
        norm(of->hidden + row * wide, weights->input_norm, (double)model->norm_epsilon, model->hidden, normed);
        apply(&weights->query, normed, queries + row * heads, 0);
        apply(&weights->key, normed, of->keys + row * kv, 0);
        apply(&weights->value, normed, of->values + row * kv, 0);
        finish_heads(of, (int)row, queries + row * heads, model->heads, weights->query_norm);
        finish_heads(of, (int)row, of->keys + row * kv, model->kv_heads, weights->key_norm);
        store(of, of->keys + row * kv, (int)kv);
        store(of, of->values + row * kv, (int)kv);
    }
    for (size_t row = 0; row < rows; row++) {
        double *x = of->hidden + row * wide;
        attend(of, layer, (int)row, queries + row * heads, mixed);
        apply(&weights->output, mixed, x, 1);
        norm(x, weights->post_norm, (double)model->norm_epsilon, model->hidden, normed);
        apply(&weights->gate, normed, gate, 0);
        apply(&weights->up, normed, up, 0);
        for (int i = 0; i < model->intermediate; i++) gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
        apply(&weights->down, gate, x, 1);
    }
}

void reference_forward(const lacli_model *model, const lacli_cache *cache, int length, const lacli_rows *rows,
                       double *logits) {
    size_t count = (size_t)rows->rows, wide = (size_t)model->hidden;
    size_t kv = count * (size_t)(model->kv_heads * model->head_dim);
    reference of = {.model = model, .cache = cache, .rows = rows, .length = length, .hidden = doubles(count * wide),
                    .depth = heap_block(count * sizeof(int), 0), .keys = doubles(kv), .values = doubles(kv)};
    for (int row = 0; row < rows->rows; row++) {
        of.depth[row] = rows->parents[row] < 0 ? 0 : of.depth[rows->parents[row]] + 1;
        for (int i = 0; i < model->hidden; i++)
            of.hidden[(size_t)row * wide + (size_t)i] = (double)weight_at(&model->embedding, rows->token_ids[row], i);
    }
    for (int layer = 0; layer < model->layers; layer++) run_layer(&of, layer);
    double *normed = doubles(wide);
    for (int i = 0; i < rows->wanted; i++) {
        const double *x = of.hidden + (size_t)rows->wanted_rows[i] * wide;
        norm(x, model->final_norm, (double)model->norm_epsilon, model->hidden, normed);
        apply(&model->head, normed, logits + (size_t)i * (size_t)model->vocab, 0);
    }
}
