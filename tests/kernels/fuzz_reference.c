/* The plain reference of a matrix product: the order that lacli.h and internal.h give, to the bit. */
#include "fuzz.h"

static float decoded(int half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                 : ldexpf((float)fraction, -24);
    return half >> 15 ? -value : value;
}

float half_to_float(uint16_t half) {
    static float all[1 << 16];
    static int ready;
    for (int i = 0; !ready && i < COUNT(all); i++) all[i] = decoded(i);
    ready = 1;
    return all[half];
}

uint16_t float_to_half(float value) { /* to nearest, ties to even */
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    if (isnan(value)) return 0x7e00;
    if (size >= 65520.0f) return sign | 0x7c00;
    if (size < 0x1p-14f) return sign | (uint16_t)rintf(size * 0x1p24f); /* 1024 is the smallest normal one: it fits */
    int exponent;
    float fraction = frexpf(size, &exponent); /* 0.5..1 */
    return sign | (uint16_t)((exponent + 13) * 1024 + (int)rintf(fraction * 2048.0f));
}

static size_t panel_stride(const lacli_matrix *matrix) {
    size_t columns = ((size_t)matrix->columns + 31) / 32, four = matrix->kind == LACLI_Q4 || matrix->kind == LACLI_Q4M;
    size_t minima = matrix->kind == LACLI_Q4M || matrix->kind == LACLI_Q8M;
    return (columns * (four ? 256 : 512) + columns * 32 * (1 + minima) + 63) / 64 * 64;
}

/* The quantised weight of (row, column): q, scale and minimum. */
static int quantised_at(const lacli_matrix *matrix, int row, int column, float *scale, float *minimum) {
    int four = matrix->kind == LACLI_Q4 || matrix->kind == LACLI_Q4M;
    int minima = matrix->kind == LACLI_Q4M || matrix->kind == LACLI_Q8M;
    size_t blocks = ((size_t)matrix->columns + 31) / 32, block = (size_t)column / 32, lane = (size_t)row % 16;
    const uint8_t *panel = (const uint8_t *)matrix->data + (size_t)(row / 16) * panel_stride(matrix);
    size_t values = blocks * (four ? 256 : 512), within = (size_t)column % 32;
    uint16_t half;
    memcpy(&half, panel + values + (block * 16 + lane) * 2, 2);
    *scale = half_to_float(half);
    *minimum = 0.0f;
    if (minima) {
        memcpy(&half, panel + values + blocks * 32 + (block * 16 + lane) * 2, 2);
        *minimum = half_to_float(half);
    }
    if (!four) return panel[((block * 8 + within / 4) * 16 + lane) * 4 + within % 4] - 128;
    size_t low = within % 16;
    int byte = panel[((block * 4 + low / 4) * 16 + lane) * 4 + low % 4];
    int nibble = within < 16 ? byte & 15 : byte >> 4;
    return matrix->kind == LACLI_Q4 ? nibble - 8 : nibble;
}

float weight_at(const lacli_matrix *matrix, int row, int column) {
    size_t at = (size_t)row * (size_t)matrix->columns + (size_t)column;
    float value, minimum;
    if (matrix->kind == LACLI_F32) {
        memcpy(&value, (const char *)matrix->data + at * 4, 4);
        return value;
    }
    if (matrix->kind == LACLI_BF16) {
        uint32_t bits = 0;
        memcpy((char *)&bits + 2, (const char *)matrix->data + at * 2, 2); /* little-endian, like the files */
        memcpy(&value, &bits, 4);
        return value;
    }
    int q = quantised_at(matrix, row, column, &value, &minimum);
    return fmaf(value, (float)q, minimum);
}

/* One block of a row to int8; q beyond `n` is zero. */
static float quantise_block(const float *x, int n, int *q, int *sum) {
    float most = 0.0f;
    int finite = 1;
    for (int i = 0; i < n; i++) {
        finite &= isfinite(x[i]) != 0;
        most = fmaxf(most, fabsf(x[i]));
    }
    float inverse = 127.0f / most;
    int usable = finite && most >= 1e-30f; /* below, the inverse could overflow */
    *sum = 0;
    for (int i = 0; i < LACLI_BLOCK; i++) {
        q[i] = usable && i < n ? (int)rintf(x[i] * inverse) : 0;
        *sum += q[i];
    }
    return !finite ? NAN : usable ? most / 127.0f : 0.0f;
}

/* y[row][i] for one block of columns: q of the activations and of the weights, then both steps of the sum. */
static void add_block(const lacli_matrix *matrix, int start, int rows, const float *x, float *y) {
    int n = matrix->columns - start < LACLI_BLOCK ? matrix->columns - start : LACLI_BLOCK;
    int(*q)[LACLI_BLOCK] = heap_block((size_t)rows * sizeof *q, 0), *sum = heap_block((size_t)rows * sizeof *sum, 0);
    float *scale_x = heap_block((size_t)rows * sizeof *scale_x, 0);
    for (int row = 0; row < rows; row++)
        scale_x[row] = quantise_block(x + (size_t)row * (size_t)matrix->columns + start, n, q[row], &sum[row]);
    for (int i = 0; i < matrix->rows; i++) {
        int w[LACLI_BLOCK];
        float scale = 0.0f, minimum = 0.0f;
        for (int c = 0; c < n; c++) w[c] = quantised_at(matrix, i, start + c, &scale, &minimum);
        for (int row = 0; row < rows; row++) {
            float *acc = &y[(size_t)row * (size_t)matrix->rows + (size_t)i];
            int dot = 0;
            for (int c = 0; c < n; c++) dot += w[c] * q[row][c];
            *acc = fmaf((float)dot, scale * scale_x[row], *acc);
            if (matrix->kind == LACLI_Q4M || matrix->kind == LACLI_Q8M)
                *acc = fmaf(minimum, scale_x[row] * (float)sum[row], *acc);
        }
    }
}

static float float_dot(const lacli_matrix *matrix, int row, const float *x) {
    float lanes[16] = {0};
    for (int i = 0; i < (matrix->columns + 15) / 16 * 16; i++) { /* zeros at the end, as a vector's lanes have */
        int inside = i < matrix->columns;
        lanes[i % 16] = fmaf(inside ? weight_at(matrix, row, i) : 0.0f, inside ? x[i] : 0.0f, lanes[i % 16]);
    }
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return lanes[0];
}

void reference_matmul(const lacli_matrix *matrix, int rows, const float *x, float *y) {
    size_t columns = (size_t)matrix->columns, n = (size_t)matrix->rows;
    int quantised = matrix->kind != LACLI_F32 && matrix->kind != LACLI_BF16;
    for (size_t i = 0; i < (size_t)rows * n; i++)
        y[i] = quantised ? 0.0f : float_dot(matrix, (int)(i % n), x + i / n * columns);
    for (int start = 0; quantised && start < matrix->columns; start += LACLI_BLOCK)
        add_block(matrix, start, rows, x, y);
    for (size_t i = 0; matrix->bias && i < (size_t)rows * n; i++) y[i] += matrix->bias[i % n];
}
