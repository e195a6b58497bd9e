/* Matrix multiplication and quantisation with NEON and the dot product of Armv8.2 (four products of signed bytes, added
 * to an int32, in each of 4 lanes): the 16 lanes of a panel in halves of two registers. */
#include "gemm.h"

#if LACLI_ARM
#include <arm_neon.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_neon
#define LACLI_TARGET LACLI_TARGET_NEON
#define LACLI_TILE_ROWS 4
#define LACLI_TILE_PANELS 1
#define LACLI_FLOAT_TILE 2

/* The instruction wants the number of its lane as a literal. */
LACLI_TARGET LACLI_INLINE int32x4_t dot_lane(int32x4_t dots, int8x16_t weights, int8x16_t inputs, const int lane)
{
    switch (lane) {
    case 0:
        return vdotq_laneq_s32(dots, weights, inputs, 0);
    case 1:
        return vdotq_laneq_s32(dots, weights, inputs, 1);
    case 2:
        return vdotq_laneq_s32(dots, weights, inputs, 2);
    default:
        return vdotq_laneq_s32(dots, weights, inputs, 3);
    }
}

/* Dots of a block, for `vectors` registers of 4 lanes. */
LACLI_TARGET LACLI_INLINE void dot_block(const uint8_t *values, const int8_t *q, int64_t stride, int64_t ahead,
                                         int32x4_t (*dots)[4], const int vectors, const int rows, const int kind)
{
    const uint8x16_t low = vdupq_n_u8(15), zero = vdupq_n_u8(128);
    const int groups = lacli_is_nibbles(kind) ? 4 : 8;
    int8x16_t inputs[LACLI_TILE_ROWS][2];
    LACLI_UNROLL
    for (int row = 0; row < rows; row++) {
        inputs[row][0] = vld1q_s8(q + row * stride);
        inputs[row][1] = vld1q_s8(q + row * stride + 16);
        LACLI_UNROLL
        for (int i = 0; i < vectors; i++)
            dots[row][i] = vdupq_n_s32(0);
    }
    LACLI_UNROLL
    for (int group = 0; group < groups; group++) {
        __builtin_prefetch(values + 64 * group + ahead, 0, 2);
        LACLI_UNROLL
        for (int i = 0; i < vectors; i++) {
            uint8x16_t bytes = vld1q_u8(values + 64 * group + 16 * i);
            uint8x16_t lower = lacli_is_nibbles(kind) ? vandq_u8(bytes, low) : veorq_u8(bytes, zero);
            int8x16_t first = vreinterpretq_s8_u8(lower), second = vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
            LACLI_UNROLL
            for (int row = 0; row < rows; row++) {
                dots[row][i] = dot_lane(dots[row][i], first, inputs[row][group / 4], group % 4);
                if (lacli_is_nibbles(kind))
                    dots[row][i] = dot_lane(dots[row][i], second, inputs[row][1], group);
            }
        }
    }
}

LACLI_TARGET LACLI_INLINE float32x4_t halves_at(const uint16_t *halves)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves)));
}

/* Lanes from `lane` on, in `vectors` registers. */
LACLI_TARGET LACLI_INLINE void tile_lanes(const lacli_tile *tile, float *out, const int lane, const int vectors,
                                          const int rows, const int kind)
{
    const int64_t block_bytes = lacli_is_nibbles(kind) ? 256 : 512, stride = (int64_t)tile->blocks * LACLI_BLOCK;
    float32x4_t sums[LACLI_TILE_ROWS][4];
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        LACLI_UNROLL
        for (int i = 0; i < vectors; i++)
            sums[row][i] = vdupq_n_f32(0);
    for (int32_t block = 0; block < tile->blocks; block++) {
        int32x4_t dots[LACLI_TILE_ROWS][4];
        dot_block(tile->values + block * block_bytes + 4 * lane, tile->q + block * LACLI_BLOCK, stride, tile->ahead,
                  dots, vectors, rows, kind);
        LACLI_UNROLL
        for (int i = 0; i < vectors; i++) {
            const int64_t factor = block * LACLI_PANEL + lane + 4 * i;
            float32x4_t scale = halves_at(tile->scales + factor), minimum = vdupq_n_f32(0);
            if (lacli_has_minimum(kind))
                minimum = halves_at(tile->minima + factor);
            LACLI_UNROLL
            for (int row = 0; row < rows; row++) {
                int64_t at = (int64_t)row * tile->blocks + block;
                if (kind == LACLI_Q4)
                    dots[row][i] = vsubq_s32(dots[row][i], vdupq_n_s32(8 * tile->sum[at]));
                sums[row][i] = vfmaq_f32(sums[row][i], vcvtq_f32_s32(dots[row][i]),
                                         vmulq_n_f32(scale, tile->scale[at]));
                if (lacli_has_minimum(kind))
                    sums[row][i] = vfmaq_f32(sums[row][i], minimum,
                                             vdupq_n_f32(tile->scale[at] * (float)tile->sum[at]));
            }
        }
    }
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        LACLI_UNROLL
        for (int i = 0; i < vectors; i++)
            vst1q_f32(out + row * LACLI_PANEL + lane + 4 * i, sums[row][i]);
}

/* Registers hold all lanes of a few rows, or half of them of more. */
LACLI_TARGET LACLI_INLINE void tile_rows(const lacli_tile *tile, float *out, const int rows, const int kind)
{
    if (rows <= 2) {
        tile_lanes(tile, out, 0, 4, rows, kind);
    } else {
        tile_lanes(tile, out, 0, 2, rows, kind);
        tile_lanes(tile, out, 8, 2, rows, kind);
    }
}

#include "gemm_tiles.h"

/* 4 elements of a row of an unquantised matrix. */
LACLI_TARGET LACLI_INLINE float32x4_t elements(const lacli_matrix *matrix, int64_t index, const int kind)
{
    if (kind == LACLI_F32)
        return vld1q_f32((const float *)matrix->data + index);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *)matrix->data + index), 16));
}

LACLI_TARGET LACLI_INLINE float fold(const float32x4_t *lanes)
{
    float32x4_t four = vaddq_f32(vaddq_f32(lanes[0], lanes[2]), vaddq_f32(lanes[1], lanes[3]));
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

/* sums [rows][16] of `rows` rows and `outputs` rows of the matrix. */
LACLI_TARGET LACLI_INLINE void tile_floats(const lacli_matrix *matrix, int64_t output, const float *x, int64_t x_stride,
                                           float *sums, const int rows, const int outputs, const int kind)
{
    float32x4_t lanes[LACLI_FLOAT_TILE][LACLI_FLOAT_TILE][4], inputs[LACLI_FLOAT_TILE];
    int32_t columns = matrix->columns, column = 0;
    LACLI_UNROLL
    for (int i = 0; i < 4 * rows * outputs; i++)
        lanes[i / (4 * outputs)][i / 4 % outputs][i % 4] = vdupq_n_f32(0);
    for (; column + 16 <= columns; column += 16)
        LACLI_UNROLL
        for (int part = 0; part < 4; part++) {
            LACLI_UNROLL
            for (int row = 0; row < rows; row++)
                inputs[row] = vld1q_f32(x + row * x_stride + column + 4 * part);
            LACLI_UNROLL
            for (int i = 0; i < outputs; i++) {
                float32x4_t weights = elements(matrix, (output + i) * columns + column + 4 * part, kind);
                LACLI_UNROLL
                for (int row = 0; row < rows; row++)
                    lanes[row][i][part] = vfmaq_f32(lanes[row][i][part], weights, inputs[row]);
            }
        }
    if (column < columns)
        for (int row = 0; row < rows; row++) {
            float rest[16] = {0}, weights[16];
            memcpy(rest, x + row * x_stride + column, (size_t)(columns - column) * sizeof *rest);
            for (int i = 0; i < outputs; i++) {
                lacli_rest(matrix, output + i, column, weights);
                for (int part = 0; part < 4; part++)
                    lanes[row][i][part] = vfmaq_f32(lanes[row][i][part], vld1q_f32(weights + 4 * part),
                                                    vld1q_f32(rest + 4 * part));
            }
        }
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        LACLI_UNROLL
        for (int i = 0; i < outputs; i++)
            sums[row * LACLI_PANEL + i] = fold(lanes[row][i]);
}

#include "gemm_floats.h"

LACLI_TARGET void NAME(quantise)(const float *x, int32_t columns, int8_t *q, float *scale, int32_t *sum)
{
    for (int32_t block = 0; block < lacli_blocks(columns); block++) {
        int32_t filled = columns - block * LACLI_BLOCK;
        float values[LACLI_BLOCK];
        const float *from = x + block * LACLI_BLOCK;
        if (filled < LACLI_BLOCK) {
            memset(values, 0, sizeof values);
            memcpy(values, from, (size_t)filled * sizeof *values);
            from = values;
        }
        uint32x4_t largest4 = vdupq_n_u32(0);
        LACLI_UNROLL
        for (int i = 0; i < 8; i++) /* magnitudes order as their bits do, and NaN beyond all */
            largest4 = vmaxq_u32(largest4, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(from + 4 * i))));
        uint32_t largest = vmaxvq_u32(largest4);
        float amax, inverse = 0;
        memcpy(&amax, &largest, sizeof amax);
        int finite = largest < 0x7f800000;
        scale[block] = finite ? 0 : NAN;
        if (finite && amax >= LACLI_TINY) {
            scale[block] = amax / 127.0f;
            inverse = 127.0f / amax;
        }
        int32x4_t total = vdupq_n_s32(0);
        LACLI_UNROLL
        for (int i = 0; i < 8; i += 2) {
            int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(from + 4 * i), inverse));
            int32x4_t high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(from + 4 * i + 4), inverse));
            low = finite ? low : vdupq_n_s32(0);
            high = finite ? high : vdupq_n_s32(0);
            total = vaddq_s32(total, vaddq_s32(low, high));
            vst1_s8(q + block * LACLI_BLOCK + 4 * i, vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high))));
        }
        sum[block] = vaddvq_s32(total);
    }
}

LACLI_TARGET uint64_t NAME(read)(const void *data, size_t bytes)
{
    uint64x2_t total[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
        const uint8_t *at = (const uint8_t *)data + i;
        LACLI_UNROLL
        for (int part = 0; part < 4; part++)
            total[part] = vaddq_u64(total[part], vreinterpretq_u64_u8(vld1q_u8(at + 16 * part)));
        __builtin_prefetch(at + LACLI_AHEAD, 0, 2);
    }
    uint64x2_t sum = vaddq_u64(vaddq_u64(total[0], total[1]), vaddq_u64(total[2], total[3]));
    return vaddvq_u64(sum) + lacli_read_portable((const char *)data + i, bytes - i);
}
#endif
