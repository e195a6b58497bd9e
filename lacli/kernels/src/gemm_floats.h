/* The walk over an unquantised matrix, and the set's multiplication; included by each gemm_<isa>.c after gemm_tiles.h.
 *
 * The includer defines NAME(fn), the name of the set's function, LACLI_FLOAT_TILE (rows and outputs of its tile) and
 * tile_floats(matrix, output, x, x_stride, sums, rows, outputs, kind), which fills sums [rows][16] of so many rows and
 * outputs; its last three arguments are constants, so that the compiler makes a loop for each.
 */
LACLI_TARGET LACLI_INLINE void multiply_panel(const lacli_matrix *matrix, const float *x, int64_t x_stride,
                                              int32_t rows, int32_t panel, float *sums, const int kind)
{
    int64_t start = (int64_t)panel * LACLI_PANEL;
    int outputs = matrix->rows - start < LACLI_PANEL ? (int)(matrix->rows - start) : LACLI_PANEL, i = 0;
    for (; i + LACLI_FLOAT_TILE <= outputs; i += LACLI_FLOAT_TILE) {
        int32_t row = 0;
        for (; row + LACLI_FLOAT_TILE <= rows; row += LACLI_FLOAT_TILE)
            tile_floats(matrix, start + i, x + row * x_stride, x_stride, sums + row * LACLI_PANEL + i, LACLI_FLOAT_TILE,
                        LACLI_FLOAT_TILE, kind);
        for (; row < rows; row++)
            tile_floats(matrix, start + i, x + row * x_stride, x_stride, sums + row * LACLI_PANEL + i, 1,
                        LACLI_FLOAT_TILE, kind);
    }
    for (; i < outputs; i++)
        for (int32_t row = 0; row < rows; row++)
            tile_floats(matrix, start + i, x + row * x_stride, x_stride, sums + row * LACLI_PANEL + i, 1, 1, kind);
}

LACLI_TARGET static void multiply_unquantised(const lacli_matrix *matrix, const float *x, int64_t x_stride,
                                              int32_t rows, int32_t first, int32_t last, float *y, int64_t y_stride,
                                              int add)
{
    float sums[LACLI_ROW_CHUNK * LACLI_PANEL] = {0};
    for (int32_t start = 0; start < rows; start += LACLI_ROW_CHUNK) {
        int32_t chunk = rows - start < LACLI_ROW_CHUNK ? rows - start : LACLI_ROW_CHUNK;
        for (int32_t panel = first; panel < last; panel++) {
            if (matrix->kind == LACLI_F32)
                multiply_panel(matrix, x + start * x_stride, x_stride, chunk, panel, sums, LACLI_F32);
            else
                multiply_panel(matrix, x + start * x_stride, x_stride, chunk, panel, sums, LACLI_BF16);
            put_tile(matrix, sums, chunk, panel, y + start * y_stride, y_stride, add);
        }
    }
}

LACLI_TARGET void NAME(matmul)(const lacli_matrix *matrix, const lacli_quantised *quantised, const float *x,
                               int64_t x_stride, int32_t rows, int32_t first, int32_t last, float *y, int64_t y_stride,
                               int add)
{
    if (lacli_is_quantised(matrix->kind))
        multiply_quantised(matrix, quantised, rows, first, last, y, y_stride, add);
    else
        multiply_unquantised(matrix, x, x_stride, rows, first, last, y, y_stride, add);
}
