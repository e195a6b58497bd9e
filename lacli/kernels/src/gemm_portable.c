/* Matrix multiplication and quantisation in plain C, for machines without a set of their own. It is also what the
 * other sets are compared with: the order of every operation can be read here. */
#include <math.h>

#include "gemm.h"
#include "half.h"

#define NAME(fn) lacli_##fn##_portable
#define LACLI_TARGET
#define LACLI_TILE_ROWS 4
#define LACLI_TILE_PANELS 1
#define LACLI_FLOAT_TILE 1

/* Values of a block as bytes [column][lane]. */
static void unpack_block(const uint8_t *values, int kind, uint8_t (*bytes)[LACLI_PANEL])
{
    for (int group = 0; group < (lacli_is_nibbles(kind) ? 4 : 8); group++)
        for (int lane = 0; lane < LACLI_PANEL; lane++)
            for (int i = 0; i < 4; i++) {
                uint8_t byte = values[(group * LACLI_PANEL + lane) * 4 + i];
                bytes[4 * group + i][lane] = lacli_is_nibbles(kind) ? byte & 15 : byte;
                if (lacli_is_nibbles(kind))
                    bytes[16 + 4 * group + i][lane] = byte >> 4;
            }
}

static void tile_rows(const lacli_tile *tile, float *out, int rows, int kind)
{
    memset(out, 0, (size_t)rows * LACLI_PANEL * sizeof *out);
    for (int32_t block = 0; block < tile->blocks; block++) {
        uint8_t bytes[LACLI_BLOCK][LACLI_PANEL];
        float scales[LACLI_PANEL], minima[LACLI_PANEL];
        unpack_block(tile->values + block * lacli_values_bytes(kind, 1), kind, bytes);
        for (int lane = 0; lane < LACLI_PANEL; lane++) {
            scales[lane] = lacli_half_to_float(tile->scales[block * LACLI_PANEL + lane]);
            minima[lane] = lacli_has_minimum(kind) ? lacli_half_to_float(tile->minima[block * LACLI_PANEL + lane]) : 0;
        }
        for (int row = 0; row < rows; row++) {
            const int8_t *q = tile->q + ((int64_t)row * tile->blocks + block) * LACLI_BLOCK;
            float scale = tile->scale[(int64_t)row * tile->blocks + block];
            int32_t sum = tile->sum[(int64_t)row * tile->blocks + block];
            int32_t zero = lacli_zero_shift(kind) ? sum * (1 << lacli_zero_shift(kind)) : 0;
            int32_t dots[LACLI_PANEL] = {0};
            for (int column = 0; column < LACLI_BLOCK; column++)
                for (int lane = 0; lane < LACLI_PANEL; lane++)
                    dots[lane] += (int32_t)bytes[column][lane] * q[column];
            float *sums = out + row * LACLI_PANEL;
            for (int lane = 0; lane < LACLI_PANEL; lane++) {
                sums[lane] = fmaf((float)(dots[lane] - zero), scales[lane] * scale, sums[lane]);
                if (lacli_has_minimum(kind))
                    sums[lane] = fmaf(minima[lane], scale * (float)sum, sums[lane]);
            }
        }
    }
}

#include "gemm_tiles.h"

static float dot(const lacli_matrix *matrix, int64_t output, const float *x)
{
    float lanes[LACLI_PANEL] = {0};
    for (int32_t column = 0; column < matrix->columns; column += LACLI_PANEL)
        for (int32_t lane = 0; lane < LACLI_PANEL; lane++) {
            int inside = column + lane < matrix->columns; /* beyond, zeros are added, as a vector's lanes do */
            float weight = inside ? lacli_element(matrix, output * matrix->columns + column + lane) : 0;
            lanes[lane] = fmaf(weight, inside ? x[column + lane] : 0, lanes[lane]);
        }
    for (int half = LACLI_PANEL / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

static void tile_floats(const lacli_matrix *matrix, int64_t output, const float *x, int64_t x_stride, float *sums,
                        int rows, int outputs, int kind)
{
    (void)kind;
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < outputs; i++)
            sums[row * LACLI_PANEL + i] = dot(matrix, output + i, x + row * x_stride);
}

#include "gemm_floats.h"

void NAME(quantise)(const float *x, int32_t columns, int8_t *q, float *scale, int32_t *sum)
{
    for (int32_t block = 0; block < lacli_blocks(columns); block++) {
        int32_t filled = columns - block * LACLI_BLOCK;
        float values[LACLI_BLOCK] = {0};
        uint32_t bits[LACLI_BLOCK], largest = 0;
        memcpy(values, x + block * LACLI_BLOCK, (size_t)(filled < LACLI_BLOCK ? filled : LACLI_BLOCK) * sizeof *values);
        memcpy(bits, values, sizeof bits);
        for (int i = 0; i < LACLI_BLOCK; i++) /* magnitudes order as their bits do, and NaN beyond all */
            largest = (bits[i] & 0x7fffffff) > largest ? bits[i] & 0x7fffffff : largest;
        float amax, inverse = 0;
        memcpy(&amax, &largest, sizeof amax);
        scale[block] = 0;
        if (largest >= 0x7f800000) {
            scale[block] = NAN;
        } else if (amax >= LACLI_TINY) {
            scale[block] = amax / 127.0f;
            inverse = 127.0f / amax;
        }
        int32_t total = 0;
        for (int i = 0; i < LACLI_BLOCK; i++) {
            int32_t rounded = inverse > 0 ? (int32_t)rintf(values[i] * inverse) : 0;
            q[block * LACLI_BLOCK + i] = (int8_t)rounded;
            total += rounded;
        }
        sum[block] = total;
    }
}

uint64_t NAME(read)(const void *data, size_t bytes)
{
    uint64_t total = 0, word;
    for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, (const char *)data + i, sizeof word);
        total += word;
    }
    return total;
}
