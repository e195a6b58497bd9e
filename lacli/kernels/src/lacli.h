/* The C side of a decoding step on a CPU: its whole binary interface.
 *
 * Plain C on pointers: no header of Python or PyTorch. Called through ctypes by `lacli/kernels/library.py`, whose
 * structures mirror these field by field; whoever changes one changes both and raises LACLI_ABI.
 *
 * Exact by row: the bits of a row of any result depend on that row's own inputs only, never on how many rows are in
 * the call, which thread computed it, or which cache slots its ancestors sit in. Every reduction has one fixed order,
 * the same for all instruction sets, so these give the same bits too, but for which NaN it is. Compile with
 * -ffp-contract=off; fused multiply-adds are written out.
 *
 * Functions that return int, but for lacli_abi, give 0 or a negative LACLI_E code; nothing is written on an error.
 * Sizes are checked, pointers are trusted: numbers lie at multiples of their own size, or further apart where it says
 * so. Any float may be NaN or infinite: that is never undefined behaviour, and spoils only the rows that use it.
 */
#ifndef LACLI_H
#define LACLI_H

#include <stddef.h>
#include <stdint.h>

#define LACLI_ABI 2
#define LACLI_TOP 8    /* best tokens a forward returns of each wanted row */
#define LACLI_BLOCK 32 /* columns that share a scale, in weights and activations */
#define LACLI_PANEL 16 /* rows of a matrix that lie side by side, one per lane */

enum {
    LACLI_E_SHAPE = -1,  /* a size that is not allowed */
    LACLI_E_KIND = -2,   /* an unknown kind of matrix or cache */
    LACLI_E_MEMORY = -3, /* no memory for the work space */
    LACLI_E_ID = -4,     /* a token id, parent, wanted row or row to keep out of range */
};

/* How a matrix is stored. In the quantised kinds w = scale * q (+ minimum), with float16 scale and minimum for each
 * row and block of 32 columns; rows are padded to a multiple of 16, columns to one of 32. What values the padding
 * holds makes no difference.
 *
 * Their data is [panels][stride] bytes, 64-byte aligned; a panel is 16 rows: its values, then its scales, then its
 * minima, with stride rounded up to 64:
 *   values, 4 bit: [blocks][4 groups][16 lanes][4] bytes; the low nibble of (group, lane, i) is column 4 group + i of
 *                  the block, the high nibble column 16 + 4 group + i
 *   values, 8 bit: [blocks][8 groups][16 lanes][4] bytes; (group, lane, i) is column 4 group + i
 *   scales:        float16 [blocks][16 lanes]; minima alike
 */
enum {
    LACLI_Q4 = 1,   /* q = nibble - 8, no minimum */
    LACLI_Q4M = 2,  /* q = nibble, with minimum */
    LACLI_Q8 = 3,   /* q = byte - 128, in -127..127, no minimum */
    LACLI_Q8M = 4,  /* q = byte - 128, with minimum */
    LACLI_F32 = 5,  /* float32 [rows][columns], unpacked, at any multiple of 4 */
    LACLI_BF16 = 6, /* bfloat16 [rows][columns], unpacked, at any multiple of 2 */
    LACLI_F16 = 7,  /* of KV caches only */
};

typedef struct {
    int32_t kind, rows, columns, reserved;
    const void *data;
    const float *bias; /* [rows], or NULL */
} lacli_matrix;

typedef struct {
    const float *input_norm, *post_norm; /* [hidden] */
    const float *query_norm, *key_norm;  /* [head_dim], RMS norm of each head before rotation (Qwen3), or NULL */
    lacli_matrix query, key, value, output, gate, up, down;
    int32_t window; /* positions a row sees, itself included (sliding-window attention); 0 is all */
    int32_t reserved;
} lacli_layer;

/* A decoder of the Llama shape: pre-norm RMS, rotary halves as in Hugging Face, grouped queries, SiLU-gated MLP. */
typedef struct {
    int32_t layers, heads, kv_heads, head_dim, hidden, intermediate, vocab, reserved;
    float norm_epsilon, query_scale;
    const lacli_layer *layer;
    lacli_matrix embedding, head; /* both [vocab][hidden]; may be the same data */
    const float *final_norm;
} lacli_model;

/* Keys and values of one sequence; the caller owns and grows the memory. Slot i holds position i while i < length;
 * its rows of a forward go to the slots from length on, in their order. */
typedef struct {
    int32_t kind;     /* LACLI_F32 or LACLI_F16 */
    int32_t capacity; /* slots, a multiple of 16 */
    void *keys;       /* [layers][kv_heads][capacity / 16][head_dim][16]; 64-byte aligned */
    void *values;     /* [layers][kv_heads][capacity][head_dim]; 64-byte aligned */
} lacli_cache;

/* The share of one sequence in a forward: `rows` rows, 1.., behind the `length` positions of its cache. */
typedef struct {
    const lacli_cache *cache;
    int32_t length, rows;
} lacli_part;

/* The rows of one forward, those of a part side by side in the order of the parts: see lacli/models/base.py: Rows. */
typedef struct {
    int32_t rows, wanted;         /* numbers of rows, all parts' together, and of wanted ones, 0..rows */
    const int32_t *token_ids;     /* [rows] */
    const int32_t *parents;       /* [rows], an earlier row of its part; -1 where the parent is the last cached one */
    const int32_t *wanted_rows;   /* [wanted] */
    const float *cosine, *sine;   /* [positions][head_dim / 2], from 0 to the last position of any row */
    float *logits;                /* out [wanted][vocab] */
    int32_t *top_ids;             /* out [wanted][LACLI_TOP], best first, of equals the lower id; -1 beyond vocab */
    float *top_logits;            /* out; [i][0] is NaN where any logit of the row is */
} lacli_rows;

typedef struct lacli_threads lacli_threads;

#pragma GCC visibility push(default) /* everything else is hidden by -fvisibility=hidden */

int lacli_abi(void);

/* Name of the instruction set in use: "avx512-vnni", "avx2", "neon-dot", "portable". */
const char *lacli_isa(void);
/* Use another one, while no call runs (tests); LACLI_E_KIND where this machine cannot. */
int lacli_set_isa(const char *name);

/* A pool of `threads` threads, the caller's own among them; NULL where memory or threads lack. One call at a time.
 * A forked child has none of its threads and makes a pool of its own. */
lacli_threads *lacli_threads_new(int threads);
void lacli_threads_free(lacli_threads *threads);

/* y [rows][matrix rows] = x [rows][matrix columns] W^T + bias. Any number of rows, 0 too. x and y contiguous. */
int lacli_matmul(lacli_threads *threads, const lacli_matrix *matrix, int32_t rows, const float *x, float *y);

/* One forward of all rows, each over the cached positions of its part; their keys and values go to slots length.. of
 * its cache, length + rows <= capacity. Cached keys and values are read as stored, a row's own and its ancestors' too.
 * parts: [count], 1.., each with a cache of its own; caches may differ in kind and capacity. */
int lacli_forward(lacli_threads *threads, const lacli_model *model, const lacli_part *parts, int32_t count,
                  const lacli_rows *rows);

/* Move slot length + path[i] to slot length + i for i < count, in all layers; path ascends from 0 or more. */
int lacli_keep(const lacli_model *model, const lacli_cache *cache, int32_t length, int32_t count, const int32_t *path);

/* Read `bytes` with all threads, as fast as memory gives them (for measuring); returns a checksum. */
uint64_t lacli_read(lacli_threads *threads, const void *data, size_t bytes);

#pragma GCC visibility pop

#endif
