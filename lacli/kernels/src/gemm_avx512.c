/* Matrix multiplication and quantisation with AVX-512 and its VNNI instruction (four products of bytes, added to an
 * int32, in each of 16 lanes). */
#include "gemm.h"

#if LACLI_X86
#include <immintrin.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_avx512
#define LACLI_TARGET LACLI_TARGET_AVX512
#define LACLI_TILE_ROWS 6
#define LACLI_TILE_PANELS 2
#define LACLI_FLOAT_TILE 4
#define BROADCAST4(pointer) _mm512_set1_epi32(*(const int32_t *)(const void *)(pointer))

/* What minima are multiplied by, scale * sum, for 16 blocks of each row from `block` on: by one is dearer. */
LACLI_TARGET LACLI_INLINE void load_offsets(const lacli_tile *tile, int32_t block, float (*offsets)[16], const int rows)
{
    int32_t rest = tile->blocks - block;
    __mmask16 mask = rest < 16 ? (__mmask16)((1u << rest) - 1) : (__mmask16)0xffff;
    LACLI_UNROLL
    for (int row = 0; row < rows; row++) {
        int64_t at = (int64_t)row * tile->blocks + block;
        __m512 sums = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(mask, tile->sum + at));
        _mm512_storeu_ps(offsets[row], _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, tile->scale + at), sums));
    }
}

/* Two panels at a time, as loading is what limits many rows: each broadcast serves both. */
LACLI_TARGET LACLI_INLINE void tile_panels(const lacli_tile *tile, float *out, const int rows, const int panels,
                                           const int kind)
{
    const __m512i low = _mm512_set1_epi8(15);
    const int nibbles = lacli_is_nibbles(kind), groups = nibbles ? 4 : 8, shift = lacli_zero_shift(kind);
    const int64_t stride = (int64_t)tile->blocks * LACLI_BLOCK, stride3 = stride * 3;
    const uint8_t *values = tile->values;
    float offsets[LACLI_TILE_ROWS][16];
    __m512 sums[LACLI_TILE_PANELS][LACLI_TILE_ROWS];
    LACLI_UNROLL
    for (int panel = 0; panel < panels; panel++)
        LACLI_UNROLL
        for (int row = 0; row < rows; row++)
            sums[panel][row] = _mm512_setzero_ps();
    for (int32_t block = 0; block < tile->blocks; block++, values += 64 * groups) {
        /* Rows in threes and fours from two bases: few registers hold all addresses. */
        const int8_t *base[2] = {tile->q + block * LACLI_BLOCK, tile->q + block * LACLI_BLOCK + 4 * stride};
        __m512i dots[LACLI_TILE_PANELS][LACLI_TILE_ROWS];
        LACLI_UNROLL
        for (int panel = 0; panel < panels; panel++)
            LACLI_UNROLL
            for (int row = 0; row < rows; row++)
                dots[panel][row] = _mm512_setzero_si512();
        LACLI_UNROLL
        for (int group = 0; group < groups; group++) {
            __m512i first[LACLI_TILE_PANELS], second[LACLI_TILE_PANELS];
            LACLI_UNROLL
            for (int panel = 0; panel < panels; panel++) {
                const uint8_t *from = values + panel * tile->apart + 64 * group;
                __m512i bytes = _mm512_loadu_si512(from);
                first[panel] = nibbles ? _mm512_and_si512(bytes, low) : bytes;
                second[panel] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
                _mm_prefetch((const char *)from + tile->ahead, _MM_HINT_T1);
            }
            LACLI_UNROLL
            for (int row = 0; row < rows; row++) {
                const int8_t *q = base[row / 4] + (row % 4 == 3 ? stride3 : row % 4 * stride) + 4 * group;
                __m512i inputs = BROADCAST4(q), more = nibbles ? BROADCAST4(q + 16) : inputs;
                LACLI_UNROLL
                for (int panel = 0; panel < panels; panel++) {
                    dots[panel][row] = _mm512_dpbusd_epi32(dots[panel][row], first[panel], inputs);
                    if (nibbles)
                        dots[panel][row] = _mm512_dpbusd_epi32(dots[panel][row], second[panel], more);
                }
            }
        }
        if (lacli_has_minimum(kind) && block % 16 == 0)
            load_offsets(tile, block, offsets, rows);
        LACLI_UNROLL
        for (int panel = 0; panel < panels; panel++) {
            int64_t factor = block * LACLI_PANEL + panel * tile->apart / (int64_t)sizeof *tile->scales;
            __m512 scale = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(tile->scales + factor)));
            __m512 minimum = _mm512_setzero_ps();
            if (lacli_has_minimum(kind))
                minimum = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(tile->minima + factor)));
            LACLI_UNROLL
            for (int row = 0; row < rows; row++) {
                int64_t at = (int64_t)row * tile->blocks + block;
                __m512i dot = dots[panel][row];
                if (shift)
                    dot = _mm512_sub_epi32(dot, _mm512_slli_epi32(_mm512_set1_epi32(tile->sum[at]), shift));
                __m512 both = _mm512_mul_ps(scale, _mm512_set1_ps(tile->scale[at]));
                sums[panel][row] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), both, sums[panel][row]);
                if (lacli_has_minimum(kind))
                    sums[panel][row] =
                        _mm512_fmadd_ps(minimum, _mm512_set1_ps(offsets[row][block % 16]), sums[panel][row]);
            }
        }
    }
    LACLI_UNROLL
    for (int panel = 0; panel < panels; panel++)
        LACLI_UNROLL
        for (int row = 0; row < rows; row++)
            _mm512_store_ps(out + (panel * rows + row) * LACLI_PANEL, sums[panel][row]);
}

LACLI_TARGET LACLI_INLINE void tile_rows(const lacli_tile *tile, float *out, const int rows, const int kind)
{
    if (tile->apart)
        tile_panels(tile, out, rows, 2, kind);
    else
        tile_panels(tile, out, rows, 1, kind);
}

#include "gemm_tiles.h"

/* 16 elements of a row of an unquantised matrix from `index` on, those beyond the mask zero. */
LACLI_TARGET LACLI_INLINE __m512 elements(const lacli_matrix *matrix, int64_t index, __mmask16 mask, const int kind)
{
    if (kind == LACLI_F32)
        return _mm512_maskz_loadu_ps(mask, (const float *)matrix->data + index);
    __m256i halves = _mm256_maskz_loadu_epi16(mask, (const uint16_t *)matrix->data + index);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

LACLI_TARGET LACLI_INLINE float fold(__m512 lanes)
{
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* sums [rows][16] of `rows` rows and `outputs` rows of the matrix. */
LACLI_TARGET LACLI_INLINE void tile_floats(const lacli_matrix *matrix, int64_t output, const float *x, int64_t x_stride,
                                           float *sums, const int rows, const int outputs, const int kind)
{
    __m512 lanes[4][4];
    LACLI_UNROLL
    for (int row = 0; row < rows; row++)
        LACLI_UNROLL
        for (int i = 0; i < outputs; i++)
            lanes[row][i] = _mm512_setzero_ps();
    int32_t columns = matrix->columns;
    for (int32_t column = 0; column < columns; column += 16) {
        __mmask16 mask = columns - column < 16 ? (__mmask16)((1u << (columns - column)) - 1) : (__mmask16)0xffff;
        __m512 weights[4];
        LACLI_UNROLL
        for (int i = 0; i < outputs; i++)
            weights[i] = elements(matrix, (output + i) * columns + column, mask, kind);
        LACLI_UNROLL
        for (int row = 0; row < rows; row++) {
            __m512 inputs = _mm512_maskz_loadu_ps(mask, x + row * x_stride + column);
            LACLI_UNROLL
            for (int i = 0; i < outputs; i++)
                lanes[row][i] = _mm512_fmadd_ps(weights[i], inputs, lanes[row][i]);
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
        uint32_t mask = filled < LACLI_BLOCK ? (1u << filled) - 1 : 0xffffffff;
        __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, x + block * LACLI_BLOCK);
        __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), x + block * LACLI_BLOCK + 16);
        /* Magnitudes order as their bits do, and NaN beyond all. */
        __m512i low_bits = _mm512_castps_si512(_mm512_abs_ps(low));
        __m512i high_bits = _mm512_castps_si512(_mm512_abs_ps(high));
        int32_t largest = _mm512_reduce_max_epi32(_mm512_max_epi32(low_bits, high_bits));
        float amax = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(largest))), inverse = 0;
        scale[block] = 0;
        if (largest >= 0x7f800000) {
            scale[block] = NAN;
            low = high = _mm512_setzero_ps();
        } else if (amax >= LACLI_TINY) {
            scale[block] = amax / 127.0f;
            inverse = 127.0f / amax;
        }
        __m512i q_low = _mm512_cvtps_epi32(_mm512_mul_ps(low, _mm512_set1_ps(inverse)));
        __m512i q_high = _mm512_cvtps_epi32(_mm512_mul_ps(high, _mm512_set1_ps(inverse)));
        _mm_storeu_si128((__m128i *)(q + block * LACLI_BLOCK), _mm512_cvtepi32_epi8(q_low));
        _mm_storeu_si128((__m128i *)(q + block * LACLI_BLOCK + 16), _mm512_cvtepi32_epi8(q_high));
        sum[block] = _mm512_reduce_add_epi32(_mm512_add_epi32(q_low, q_high));
    }
}

LACLI_TARGET uint64_t NAME(read)(const void *data, size_t bytes)
{
    __m512i total[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    size_t i = 0;
    for (; i + 256 <= bytes; i += 256)
        LACLI_UNROLL
        for (int part = 0; part < 4; part++) {
            const char *at = (const char *)data + i + 64 * part;
            total[part] = _mm512_add_epi64(total[part], _mm512_loadu_si512(at));
            _mm_prefetch(at + LACLI_AHEAD, _MM_HINT_T1);
        }
    __m512i sum = _mm512_add_epi64(_mm512_add_epi64(total[0], total[1]), _mm512_add_epi64(total[2], total[3]));
    uint64_t words[8], all = 0;
    _mm512_storeu_si512(words, sum);
    for (int word = 0; word < 8; word++)
        all += words[word];
    return all + lacli_read_portable((const char *)data + i, bytes - i);
}
#endif
