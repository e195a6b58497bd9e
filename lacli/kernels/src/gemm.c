/* A matrix multiplication of its own, outside a forward, and reading memory: the work shared among threads. */
#include "gemm.h"

#define CHUNK_ROWS 256          /* rows quantised at a time: bounds the work space */
#define READ_BYTES (256 * 1024) /* a thread's share */

typedef struct {
    const lacli_matrix *matrix;
    const float *x;
    float *y;
    lacli_quantised quantised; /* of a chunk of rows */
    int32_t rows, panels_at_once;
} matmul_work;

static void quantise_rows(matmul_work *work, int32_t start, int32_t rows, int32_t phase, lacli_threads *pool)
{
    int32_t columns = work->matrix->columns, blocks = work->quantised.blocks;
    for (int32_t row; (row = lacli_next(pool, phase)) < rows;)
        lacli_active->quantise(work->x + (int64_t)(start + row) * columns, columns,
                               work->quantised.q + (int64_t)row * blocks * LACLI_BLOCK,
                               work->quantised.scale + (int64_t)row * blocks,
                               work->quantised.sum + (int64_t)row * blocks);
    lacli_barrier(pool);
}

static void matmul_thread(void *context, int thread, lacli_threads *pool)
{
    matmul_work *work = context;
    const lacli_matrix *matrix = work->matrix;
    int32_t panels = lacli_panels(matrix->rows), phase = 0;
    (void)thread;
    for (int32_t start = 0; start < work->rows; start += CHUNK_ROWS) {
        int32_t rows = work->rows - start < CHUNK_ROWS ? work->rows - start : CHUNK_ROWS;
        if (lacli_is_quantised(matrix->kind))
            quantise_rows(work, start, rows, phase++, pool);
        for (int32_t share; (share = lacli_next(pool, phase)) <= (panels - 1) / work->panels_at_once;) {
            int32_t first = share * work->panels_at_once;
            int32_t last = panels - first < work->panels_at_once ? panels : first + work->panels_at_once;
            lacli_active->matmul(matrix, &work->quantised, work->x + (int64_t)start * matrix->columns, matrix->columns,
                                 rows, first, last, work->y + (int64_t)start * matrix->rows, matrix->rows, 0);
        }
        phase++;
        lacli_barrier(pool); /* the next chunk is quantised to the same place */
    }
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

int lacli_matmul(lacli_threads *threads, const lacli_matrix *matrix, int32_t rows, const float *x, float *y)
{
    if (matrix->kind < LACLI_Q4 || matrix->kind > LACLI_BF16)
        return LACLI_E_KIND;
    if (rows < 0 || matrix->rows < 1 || matrix->columns < 1)
        return LACLI_E_SHAPE;
    matmul_work work = {.matrix = matrix, .x = x, .y = y, .rows = rows};
    int32_t panels = lacli_panels(matrix->rows);
    work.panels_at_once = 1 + (panels - 1) / (8 * lacli_threads_count(threads));
    if (lacli_is_quantised(matrix->kind)) {
        int32_t blocks = lacli_blocks(matrix->columns), chunk = rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
        int64_t q_bytes = (int64_t)chunk * blocks * LACLI_BLOCK, factor_bytes = round_up((int64_t)chunk * blocks * 4);
        char *memory = lacli_scratch(threads, (size_t)(q_bytes + 2 * factor_bytes) + 64);
        if (!memory)
            return LACLI_E_MEMORY;
        work.quantised = (lacli_quantised){.blocks = blocks, .q = (int8_t *)memory};
        work.quantised.scale = (float *)(void *)(memory + q_bytes);
        work.quantised.sum = (int32_t *)(void *)(memory + q_bytes + factor_bytes);
    }
    lacli_run(threads, matmul_thread, &work);
    return 0;
}

typedef struct {
    const char *data;
    size_t bytes;
    uint64_t total;
} read_work;

static void read_thread(void *context, int thread, lacli_threads *pool)
{
    read_work *work = context;
    size_t shares = work->bytes / READ_BYTES + (work->bytes % READ_BYTES != 0);
    uint64_t total = 0;
    (void)thread;
    for (size_t share; (share = (size_t)lacli_next(pool, 0)) < shares;) {
        size_t start = share * READ_BYTES, rest = work->bytes - start;
        total += lacli_active->read(work->data + start, rest < READ_BYTES ? rest : READ_BYTES);
    }
    __atomic_fetch_add(&work->total, total, __ATOMIC_RELAXED);
}

uint64_t lacli_read(lacli_threads *threads, const void *data, size_t bytes)
{
    read_work work = {.data = data, .bytes = bytes};
    lacli_run(threads, read_thread, &work);
    return work.total;
}
