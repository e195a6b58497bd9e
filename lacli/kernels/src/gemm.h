/* What the matrix multiplications of all instruction sets share: where things lie in a panel, and the tile, which is
 * one panel (or two) times a few rows. gemm_tiles.h walks the tiles; each gemm_<isa>.c computes them. */
#ifndef LACLI_GEMM_H
#define LACLI_GEMM_H

#include <string.h>

#include "isa.h"

/* Tiles live in registers only where all their loops vanish, which clang must be told in so many words. */
#if defined(__clang__)
#define LACLI_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LACLI_UNROLL _Pragma("GCC unroll 16")
#endif

/* Activations below this count as zero: the inverse of their scale would overflow. */
#define LACLI_TINY 1e-30f

typedef struct {
    const uint8_t *values;   /* of the first panel, laid out as in lacli.h */
    const uint16_t *scales;  /* float16 [blocks][16] */
    const uint16_t *minima;  /* alike, in the kinds that have them */
    int64_t apart;           /* bytes from there to the same of a second panel; 0 where there is none */
    int64_t ahead;           /* bytes from a value to the one to fetch into the cache meanwhile */
    int32_t blocks;
    const int8_t *q;         /* of the tile's first row; rows lie blocks * 32 apart */
    const float *scale;      /* alike, blocks apart */
    const int32_t *sum;
} lacli_tile;

/* out [panels][rows][16]; the number of rows is the function's own. */
typedef void lacli_tile_fn(const lacli_tile *tile, float *out);

LACLI_INLINE int lacli_is_quantised(int kind)
{
    return kind >= LACLI_Q4 && kind <= LACLI_Q8M;
}

LACLI_INLINE int lacli_is_nibbles(int kind)
{
    return kind == LACLI_Q4 || kind == LACLI_Q4M;
}

LACLI_INLINE int lacli_has_minimum(int kind)
{
    return kind == LACLI_Q4M || kind == LACLI_Q8M;
}

/* What the stored values exceed the numbers they mean by, as a power of two; 0 where they do not. */
LACLI_INLINE int lacli_zero_shift(int kind)
{
    return kind == LACLI_Q4 ? 3 : kind == LACLI_Q4M ? 0 : 7;
}

LACLI_INLINE int32_t lacli_blocks(int32_t columns)
{
    return columns / LACLI_BLOCK + (columns % LACLI_BLOCK != 0);
}

LACLI_INLINE int32_t lacli_panels(int32_t rows)
{
    return rows / LACLI_PANEL + (rows % LACLI_PANEL != 0);
}

LACLI_INLINE int64_t lacli_values_bytes(int kind, int32_t blocks)
{
    return (int64_t)blocks * LACLI_BLOCK * LACLI_PANEL / (lacli_is_nibbles(kind) ? 2 : 1);
}

LACLI_INLINE int64_t lacli_panel_stride(int kind, int32_t blocks)
{
    int64_t factors = (int64_t)blocks * LACLI_PANEL * 2 * (lacli_has_minimum(kind) ? 2 : 1);
    return (lacli_values_bytes(kind, blocks) + factors + 63) / 64 * 64;
}

/* An element of an unquantised matrix. */
LACLI_INLINE float lacli_element(const lacli_matrix *matrix, int64_t index)
{
    float value;
    uint32_t bits;
    if (matrix->kind == LACLI_F32) {
        memcpy(&value, (const char *)matrix->data + index * 4, sizeof value);
        return value;
    }
    uint16_t half;
    memcpy(&half, (const char *)matrix->data + index * 2, sizeof half);
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Fewer than 16 last elements of a row, from `column` on, and zeros behind them. */
LACLI_INLINE void lacli_rest(const lacli_matrix *matrix, int64_t row, int32_t column, float *elements)
{
    memset(elements, 0, LACLI_PANEL * sizeof *elements);
    for (int32_t i = column; i < matrix->columns; i++)
        elements[i - column] = lacli_element(matrix, row * matrix->columns + i);
}

#endif
