/* The walk over panels and tiles of rows, included by each gemm_<isa>.c so that it is compiled for that set.
 *
 * The includer defines LACLI_TARGET (its function attribute), LACLI_TILE_ROWS and LACLI_TILE_PANELS (of its largest
 * tile) and tile_rows(tile, out, rows, kind), which computes such tiles and is compiled for each height and kind.
 */
#include "gemm.h"

/* Rows that pass over a panel before the next panel is taken: their activations stay in the second cache. */
#define LACLI_ROW_CHUNK 64
/* How far ahead of its use memory is fetched into the second cache: measured, far more than one page, as one core alone
 * must keep many lines under way. Other panels of the matrix lie there, soon read by this thread or another. */
#define LACLI_AHEAD 32768

#define TILE(kind, rows)                                                              \
    LACLI_TARGET static void tile_##kind##_##rows(const lacli_tile *tile, float *out) \
    {                                                                                 \
        tile_rows(tile, out, rows, LACLI_##kind);                                     \
    }
#define FOUR(kind) TILE(kind, 1) TILE(kind, 2) TILE(kind, 3) TILE(kind, 4)
#define NAMES_OF_FOUR(kind) tile_##kind##_1, tile_##kind##_2, tile_##kind##_3, tile_##kind##_4
#if LACLI_TILE_ROWS == 4
#define TILES(kind) FOUR(kind)
#define NAMES(kind) {NAMES_OF_FOUR(kind)}
#elif LACLI_TILE_ROWS == 6
#define TILES(kind) FOUR(kind) TILE(kind, 5) TILE(kind, 6)
#define NAMES(kind) {NAMES_OF_FOUR(kind), tile_##kind##_5, tile_##kind##_6}
#endif
TILES(Q4)
TILES(Q4M)
TILES(Q8)
TILES(Q8M)

static lacli_tile_fn *tile_of(int kind, int rows)
{
    static lacli_tile_fn *const tiles[4][LACLI_TILE_ROWS] = {NAMES(Q4), NAMES(Q4M), NAMES(Q8), NAMES(Q8M)};
    return tiles[kind - LACLI_Q4][rows - 1];
}

/* y (+)= sums + bias, as far as the matrix has rows. */
LACLI_TARGET LACLI_INLINE void put_tile(const lacli_matrix *matrix, const float *sums, int rows, int32_t panel,
                                        float *y, int64_t y_stride, int add)
{
    int32_t start = panel * LACLI_PANEL;
    int lanes = matrix->rows - start < LACLI_PANEL ? matrix->rows - start : LACLI_PANEL;
    float bias[LACLI_PANEL] = {0};
    if (matrix->bias)
        memcpy(bias, matrix->bias + start, (size_t)lanes * sizeof *bias);
    for (int row = 0; row < rows; row++) {
        float *out = y + row * y_stride + start;
        float sum[LACLI_PANEL];
        memcpy(sum, sums + row * LACLI_PANEL, sizeof sum);
        if (matrix->bias)
            for (int lane = 0; lane < LACLI_PANEL; lane++)
                sum[lane] += bias[lane];
        if (lanes == LACLI_PANEL && add)
            for (int lane = 0; lane < LACLI_PANEL; lane++)
                out[lane] += sum[lane];
        else if (lanes == LACLI_PANEL)
            memcpy(out, sum, sizeof sum);
        else
            for (int lane = 0; lane < lanes; lane++)
                out[lane] = add ? out[lane] + sum[lane] : sum[lane];
    }
}

/* All panels of the range times at most LACLI_ROW_CHUNK rows from `start` on, in tiles of nearly equal height. */
LACLI_TARGET static void multiply_chunk(const lacli_matrix *matrix, const lacli_quantised *quantised, int32_t start,
                                        int32_t rows, int32_t first, int32_t last, float *y, int64_t y_stride, int add)
{
    int32_t blocks = quantised->blocks, tiles = (rows + LACLI_TILE_ROWS - 1) / LACLI_TILE_ROWS, width;
    int64_t stride = lacli_panel_stride(matrix->kind, blocks);
    float sums[LACLI_TILE_PANELS * LACLI_TILE_ROWS * LACLI_PANEL] __attribute__((aligned(64)));
    for (int32_t panel = first; panel < last; panel += width) {
        width = last - panel < LACLI_TILE_PANELS ? 1 : LACLI_TILE_PANELS;
        const uint8_t *values = (const uint8_t *)matrix->data + panel * stride;
        const uint16_t *scales = (const uint16_t *)(values + lacli_values_bytes(matrix->kind, blocks));
        const uint16_t *minima = scales + (int64_t)blocks * LACLI_PANEL;
        lacli_tile tile = {values, scales, minima, width > 1 ? stride : 0, 0, blocks, NULL, NULL, NULL};
        int32_t row = start;
        for (int32_t i = 0; i < tiles; i++) {
            int height = rows / tiles + (i < rows % tiles);
            tile.ahead = i == tiles - 1 ? LACLI_AHEAD : 0; /* once is enough */
            tile.q = quantised->q + (int64_t)row * blocks * LACLI_BLOCK;
            tile.scale = quantised->scale + (int64_t)row * blocks;
            tile.sum = quantised->sum + (int64_t)row * blocks;
            tile_of(matrix->kind, height)(&tile, sums);
            for (int32_t k = 0; k < width; k++)
                put_tile(matrix, sums + k * height * LACLI_PANEL, height, panel + k, y + row * y_stride, y_stride, add);
            row += height;
        }
    }
}

LACLI_TARGET static void multiply_quantised(const lacli_matrix *matrix, const lacli_quantised *quantised, int32_t rows,
                                            int32_t first, int32_t last, float *y, int64_t y_stride, int add)
{
    for (int32_t start = 0; start < rows; start += LACLI_ROW_CHUNK) {
        int32_t chunk = rows - start < LACLI_ROW_CHUNK ? rows - start : LACLI_ROW_CHUNK;
        multiply_chunk(matrix, quantised, start, chunk, first, last, y, y_stride, add);
    }
}
