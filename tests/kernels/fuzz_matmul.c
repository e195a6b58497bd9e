/* Fuzzes lacli_matmul: every kind and odd size, unaligned rows, strange numbers; and what it refuses. */
#include "fuzz.h"

/* Values of a matrix of about unit gain, or strange ones. */
static void draw_quantised(lacli_matrix *matrix, uint8_t *data, size_t panels, int weird) {
    int four = matrix->kind == LACLI_Q4 || matrix->kind == LACLI_Q4M;
    int minima = matrix->kind == LACLI_Q4M || matrix->kind == LACLI_Q8M;
    size_t blocks = ((size_t)matrix->columns + 31) / 32, values = blocks * (four ? 256 : 512);
    size_t stride = (values + blocks * 32 * (size_t)(1 + minima) + 63) / 64 * 64;
    float gain = 1.0f / sqrtf((float)matrix->columns), step = gain / (four ? 4.6f : 73.0f);
    for (size_t panel = 0; panel < panels; panel++, data += stride) {
        memset(data, 0, stride);
        for (size_t i = 0; i < values; i++) data[i] = (uint8_t)draw(matrix->kind == LACLI_Q8, 255);
        for (size_t i = 0; i < blocks * 16; i++) {
            if (panel * 16 + i % 16 >= (size_t)matrix->rows) continue; /* rows of the padding: scales of zero */
            float scale = step * half_to_float(draw_half(0));
            uint16_t half = weird ? draw_half(1) : float_to_half(scale);
            memcpy(data + values + i * 2, &half, 2);
            if (!minima) continue;
            half = weird ? draw_half(1) : float_to_half(four ? -7.5f * scale : scale * draw_normal());
            memcpy(data + values + (blocks * 16 + i) * 2, &half, 2);
        }
    }
}

static size_t quantised_bytes(int kind, int rows, int columns) {
    size_t four = kind == LACLI_Q4 || kind == LACLI_Q4M, minima = kind == LACLI_Q4M || kind == LACLI_Q8M;
    size_t blocks = ((size_t)columns + 31) / 32;
    return ((size_t)rows + 15) / 16 * ((blocks * ((four ? 256 : 512) + 32 * (1 + minima)) + 63) / 64 * 64);
}

void draw_matrix(lacli_matrix *matrix, int kind, int rows, int columns, int weird) {
    size_t n = (size_t)rows * (size_t)columns;
    float *bias = draw_chance(40) ? heap_block((size_t)rows * sizeof(float), (size_t)draw(0, 1) * 4) : NULL;
    *matrix = (lacli_matrix){.kind = kind, .rows = rows, .columns = columns, .bias = bias};
    if (bias) draw_floats(bias, rows, weird);
    if (kind != LACLI_F32 && kind != LACLI_BF16) {
        void *data = heap_block(quantised_bytes(kind, rows, columns), 0);
        draw_quantised(matrix, data, ((size_t)rows + 15) / 16, weird);
        matrix->data = data;
        return;
    }
    float *values = heap_block(n * sizeof(float), (size_t)draw(0, 15) * 4);
    draw_floats(values, (int)n, weird);
    for (size_t i = 0; !weird && i < n; i++) values[i] /= sqrtf((float)columns);
    matrix->data = values;
    if (kind == LACLI_F32) return;
    uint16_t *halves = heap_block(n * 2, (size_t)draw(0, 31) * 2);
    for (size_t i = 0; i < n; i++) memcpy(&halves[i], (char *)&values[i] + 2, 2);
    matrix->data = halves;
}

/* Mostly small, now and then the largest. */
static int draw_size(int low, int high) { return draw(low, draw_chance(70) ? (low + high) / 4 : high); }

void fuzz_matmul(void) {
    int kind = draw(LACLI_Q4, LACLI_BF16), weird = draw_chance(60);
    int rows = draw_size(0, 70), columns = draw_size(1, 200), outputs = draw_size(1, 70);
    if (draw_chance(3)) { /* a prefill: more rows than are worked on at a time */
        rows = draw(250, 600);
        outputs = draw(1, 20);
    }
    lacli_matrix matrix;
    draw_matrix(&matrix, kind, outputs, columns, weird && draw_chance(60));
    size_t in = (size_t)rows * (size_t)columns, out = (size_t)rows * (size_t)outputs;
    float *x = heap_block(in * sizeof(float), (size_t)draw(0, 15) * 4), *expected = heap_block(out * sizeof(float), 0);
    draw_floats(x, (int)in, weird);
    reference_matmul(&matrix, rows, x, expected);
    for (int i = 0; i < isa_count; i++) {
        float *y = heap_block(out * sizeof(float), (size_t)draw(0, 15) * 4);
        lacli_set_isa(isa_names[i]);
        enter_some_float_mode();
        int code = lacli_matmul(some_threads(), &matrix, rows, x, y);
        leave_float_mode();
        check(!code, "matmul gave %d: kind %d, %d x %d, %d rows", code, kind, outputs, columns, rows);
        for (size_t at = 0; at < out; at++)
            check(same_floats(&y[at], &expected[at], 1),
                  "%s: kind %d, %d x %d, bias %d, %d rows: [%d][%d] is %a, not %a", isa_names[i], kind, outputs,
                  columns, matrix.bias != NULL, rows, (int)(at / (size_t)outputs), (int)(at % (size_t)outputs),
                  (double)y[at], (double)expected[at]);
    }
}

void fuzz_matmul_errors(void) {
    static const int kinds[] = {0, -1, LACLI_F16, 8, INT32_MAX};
    lacli_matrix matrix;
    float x[64], y[64], before[64];
    int rows = draw(1, 2), wrong = draw(0, 3), expected = LACLI_E_SHAPE;
    draw_matrix(&matrix, draw(LACLI_Q4, LACLI_BF16), 32, 32, 0);
    draw_floats(x, 64, 0);
    memset(y, 0xff, sizeof y);
    memcpy(before, y, sizeof y);
    if (wrong == 0) rows = draw_chance(50) ? -1 : INT32_MIN;
    if (wrong == 1) matrix.rows = draw_chance(50) ? -draw(1, 40) : INT32_MIN;
    if (wrong == 2) matrix.columns = draw_chance(50) ? -draw(1, 40) : INT32_MIN;
    if (wrong == 3) {
        matrix.kind = kinds[draw(0, COUNT(kinds) - 1)];
        expected = LACLI_E_KIND;
    }
    use_some_isa();
    int code = lacli_matmul(some_threads(), &matrix, rows, x, y);
    check(code == expected, "matmul of %d rows, kind %d, %d x %d gave %d, not %d", rows, matrix.kind, matrix.rows,
          matrix.columns, code, expected);
    check(!memcmp(y, before, sizeof y), "a refused matmul wrote to its output");
}
