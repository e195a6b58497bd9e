/* Matrix multiplication and quantisation with AVX2, FMA and F16C: the 16 lanes of a panel in two halves. */
#include "gemm.h"

#if LACLI_X86
#include <immintrin.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_avx2
#define LACLI_TARGET LACLI_TARGET_AVX2
#define LACLI_TILE_ROWS 4
#define LACLI_TILE_PANELS 1
#define LACLI_FLOAT_TILE 2
#define BROADCAST4(pointer) _mm256_set1_epi32(*(const int32_t *)(const void *)(pointer))

/* Lest the compiler make a tree of the additions so far, with more values alive than there are registers. */
#define IN_ORDER(value) __asm__("" : "+x"(value))

/* Dots of a block of nibbles: 8 pairs of products of at most 15 * 127 * 2 fit an int16. */
LACLI_TARGET LACLI_INLINE void dot_nibbles(const uint8_t *values, const int8_t *q, int64_t stride, int64_t ahead,
                                           __m256i *dots, const int rows)
{
    const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    LACLI_UNROLL
    for (int group = 0; group < 4; group++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(values + 64 * group));
        __m256i first = _mm256_and_si256(bytes, low), second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
        _mm_prefetch((const char *)values + 64 * group + ahead, _MM_HINT_T1);
        LACLI_UNROLL
        for (int row = 0; row < rows; row++) {
            const int8_t *at = q + row * stride + 4 * group;
            __m256i pairs = _mm256_maddubs_epi16(first, BROADCAST4(at));
            dots[row] = group ? _mm256_add_epi16(dots[row], pairs) : pairs;
            IN_ORDER(dots[row]);
            dots[row] = _mm256_add_epi16(dots[row], _mm256_maddubs_epi16(second, BROADCAST4(at + 16)));
            IN_ORDER(dots[row]);
        }
    }
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        dots[row] = _mm256_madd_epi16(dots[row], ones);
}

/* Dots of a block of bytes: the sign moves from the weight to the activation, as one factor must be unsigned; a pair
 * of products of at most 128 * 127 * 2 fits an int16. */
LACLI_TARGET LACLI_INLINE void dot_bytes(const uint8_t *values, const int8_t *q, int64_t stride, int64_t ahead,
                                         __m256i *dots, const int rows)
{
    const __m256i zero = _mm256_set1_epi8(-128), ones = _mm256_set1_epi16(1);
    LACLI_UNROLL
    for (int group = 0; group < 8; group++) {
        __m256i signs = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(values + 64 * group)), zero);
        __m256i sizes = _mm256_abs_epi8(signs);
        _mm_prefetch((const char *)values + 64 * group + ahead, _MM_HINT_T1);
        LACLI_UNROLL
        for (int row = 0; row < rows; row++) {
            __m256i inputs = _mm256_sign_epi8(BROADCAST4(q + row * stride + 4 * group), signs);
            __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(sizes, inputs), ones);
            dots[row] = group ? _mm256_add_epi32(dots[row], fours) : fours;
            IN_ORDER(dots[row]);
        }
    }
}

/* Lanes 8 half.. of the panel, `halves` halves at once. */
LACLI_TARGET LACLI_INLINE void tile_halves(const lacli_tile *tile, float *out, const int half, const int halves,
                                           const int rows, const int kind)
{
    const int64_t block_bytes = lacli_is_nibbles(kind) ? 256 : 512, stride = (int64_t)tile->blocks * LACLI_BLOCK;
    const uint8_t *values = tile->values + 32 * half;
    __m256 sums[2][LACLI_TILE_ROWS];
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        sums[0][row] = sums[1][row] = _mm256_setzero_ps();
    for (int32_t block = 0; block < tile->blocks; block++, values += block_bytes) {
        LACLI_UNROLL
        for (int i = 0; i < halves; i++) {
            const int64_t factor = block * LACLI_PANEL + 8 * (half + i);
            __m256i dots[LACLI_TILE_ROWS];
            if (lacli_is_nibbles(kind))
                dot_nibbles(values + 32 * i, tile->q + block * LACLI_BLOCK, stride, tile->ahead, dots, rows);
            else
                dot_bytes(values + 32 * i, tile->q + block * LACLI_BLOCK, stride, tile->ahead, dots, rows);
            __m256 scale = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(tile->scales + factor)));
            __m256 minimum = _mm256_setzero_ps();
            if (lacli_has_minimum(kind))
                minimum = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(tile->minima + factor)));
            LACLI_UNROLL
            for (int row = 0; row < rows; row++) {
                int64_t at = (int64_t)row * tile->blocks + block;
                if (kind == LACLI_Q4)
                    dots[row] = _mm256_sub_epi32(dots[row], _mm256_set1_epi32(8 * tile->sum[at]));
                sums[i][row] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[row]),
                                               _mm256_mul_ps(scale, _mm256_set1_ps(tile->scale[at])), sums[i][row]);
                if (lacli_has_minimum(kind))
                    sums[i][row] = _mm256_fmadd_ps(
                        minimum, _mm256_set1_ps(tile->scale[at] * (float)tile->sum[at]), sums[i][row]);
            }
        }
    }
    LACLI_UNROLL
    for (int i = 0; i < halves; i++)
        LACLI_UNROLL
        for (int row = 0; row < rows; row++)
            _mm256_store_ps(out + row * LACLI_PANEL + 8 * (half + i), sums[i][row]);
}

/* Registers hold both halves of a few rows, or one half of more. */
LACLI_TARGET LACLI_INLINE void tile_rows(const lacli_tile *tile, float *out, const int rows, const int kind)
{
    if (rows <= 2) {
        tile_halves(tile, out, 0, 2, rows, kind);
    } else {
        tile_halves(tile, out, 0, 1, rows, kind);
        tile_halves(tile, out, 1, 1, rows, kind);
    }
}

#include "gemm_tiles.h"

/* 8 elements of a row of an unquantised matrix. */
LACLI_TARGET LACLI_INLINE __m256 elements(const lacli_matrix *matrix, int64_t index, const int kind)
{
    if (kind == LACLI_F32)
        return _mm256_loadu_ps((const float *)matrix->data + index);
    __m128i halves = _mm_loadu_si128((const __m128i *)((const uint16_t *)matrix->data + index));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

LACLI_TARGET LACLI_INLINE float fold(__m256 eight)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* sums [rows][16] of `rows` rows and `outputs` rows of the matrix, at most 4 products of both. */
LACLI_TARGET LACLI_INLINE void tile_floats(const lacli_matrix *matrix, int64_t output, const float *x, int64_t x_stride,
                                           float *sums, const int rows, const int outputs, const int kind)
{
    __m256 lanes[2][2][2], inputs[2];
    int32_t columns = matrix->columns, column = 0;
    LACLI_UNROLL
    for (int i = 0; i < 8; i++)
        lanes[i / 4][i / 2 % 2][i % 2] = _mm256_setzero_ps();
    for (; column + 16 <= columns; column += 16)
        LACLI_UNROLL
        for (int half = 0; half < 2; half++) {
            LACLI_UNROLL
            for (int row = 0; row < rows; row++)
                inputs[row] = _mm256_loadu_ps(x + row * x_stride + column + 8 * half);
            LACLI_UNROLL
            for (int i = 0; i < outputs; i++) {
                __m256 weights = elements(matrix, (output + i) * columns + column + 8 * half, kind);
                LACLI_UNROLL
                for (int row = 0; row < rows; row++)
                    lanes[row][i][half] = _mm256_fmadd_ps(weights, inputs[row], lanes[row][i][half]);
            }
        }
    if (column < columns)
        for (int row = 0; row < rows; row++) {
            float rest[16] = {0}, weights[16];
            memcpy(rest, x + row * x_stride + column, (size_t)(columns - column) * sizeof *rest);
            for (int i = 0; i < outputs; i++) {
                lacli_rest(matrix, output + i, column, weights);
                for (int half = 0; half < 2; half++)
                    lanes[row][i][half] = _mm256_fmadd_ps(_mm256_loadu_ps(weights + 8 * half),
                                                          _mm256_loadu_ps(rest + 8 * half), lanes[row][i][half]);
            }
        }
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        LACLI_UNROLL
        for (int i = 0; i < outputs; i++)
            sums[row * LACLI_PANEL + i] = fold(_mm256_add_ps(lanes[row][i][0], lanes[row][i][1]));
}

#include "gemm_floats.h"

LACLI_TARGET void NAME(quantise)(const float *x, int32_t columns, int8_t *q, float *scale, int32_t *sum)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    for (int32_t block = 0; block < lacli_blocks(columns); block++) {
        int32_t filled = columns - block * LACLI_BLOCK;
        float values[LACLI_BLOCK];
        const float *from = x + block * LACLI_BLOCK;
        if (filled < LACLI_BLOCK) {
            memset(values, 0, sizeof values);
            memcpy(values, from, (size_t)filled * sizeof *values);
            from = values;
        }
        __m256i largest8 = _mm256_setzero_si256();
        LACLI_UNROLL
        for (int i = 0; i < 4; i++) /* magnitudes order as their bits do, and NaN beyond all */
            largest8 = _mm256_max_epi32(
                largest8, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(from + 8 * i)), magnitude));
        __m128i largest4 = _mm_max_epi32(_mm256_castsi256_si128(largest8), _mm256_extracti128_si256(largest8, 1));
        largest4 = _mm_max_epi32(largest4, _mm_shuffle_epi32(largest4, 0x4e));
        largest4 = _mm_max_epi32(largest4, _mm_shuffle_epi32(largest4, 0xb1));
        float amax = _mm_cvtss_f32(_mm_castsi128_ps(largest4)), inverse = 0;
        int finite = _mm_cvtsi128_si32(largest4) < 0x7f800000;
        scale[block] = finite ? 0 : NAN;
        if (finite && amax >= LACLI_TINY) {
            scale[block] = amax / 127.0f;
            inverse = 127.0f / amax;
        }
        __m256i rounded[4], total8 = _mm256_setzero_si256();
        LACLI_UNROLL
        for (int i = 0; i < 4; i++) {
            __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(from + 8 * i), _mm256_set1_ps(inverse));
            rounded[i] = finite ? _mm256_cvtps_epi32(scaled) : _mm256_setzero_si256();
            total8 = _mm256_add_epi32(total8, rounded[i]);
        }
        /* Packing works within halves of registers: the last step puts their quarters in order. */
        __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(rounded[0], rounded[1]),
                                           _mm256_packs_epi32(rounded[2], rounded[3]));
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)(q + block * LACLI_BLOCK), bytes);
        __m128i total = _mm_add_epi32(_mm256_castsi256_si128(total8), _mm256_extracti128_si256(total8, 1));
        total = _mm_add_epi32(total, _mm_shuffle_epi32(total, 0x4e));
        total = _mm_add_epi32(total, _mm_shuffle_epi32(total, 0xb1));
        sum[block] = _mm_cvtsi128_si32(total);
    }
}

LACLI_TARGET uint64_t NAME(read)(const void *data, size_t bytes)
{
    __m256i total[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    size_t i = 0;
    for (; i + 128 <= bytes; i += 128)
        LACLI_UNROLL
        for (int part = 0; part < 4; part++) {
            const char *at = (const char *)data + i + 32 * part;
            total[part] = _mm256_add_epi64(total[part], _mm256_loadu_si256((const __m256i *)at));
            _mm_prefetch(at + LACLI_AHEAD, _MM_HINT_T1);
        }
    __m256i sum = _mm256_add_epi64(_mm256_add_epi64(total[0], total[1]), _mm256_add_epi64(total[2], total[3]));
    uint64_t words[4];
    _mm256_storeu_si256((__m256i *)words, sum);
    return words[0] + words[1] + words[2] + words[3] + lacli_read_portable((const char *)data + i, bytes - i);
}
#endif
