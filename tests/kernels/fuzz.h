/* What the files of the fuzz driver share: drawing, exact heap blocks, the plain references, the checks.
 *
 * Only lacli.h of the library is known here, never internal.h: a reference that shared code with the library would
 * share its mistakes.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lacli.h"

#define MAX_THREADS 5
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* fuzz_tools.c: one generator, restarted by each case from the case's own seed. */
void draw_seed(uint64_t seed);
uint32_t draw_bits(void);
int draw(int low, int high); /* both included */
int draw_chance(int percent);
float draw_normal(void);
uint16_t draw_half(int weird); /* float16 bits: 0.5..1.5, or of the odd sort: 0, denormal, huge, infinite, NaN */
void draw_floats(float *x, int n, int weird);

/* Heap blocks of the case, with an end that AddressSanitizer guards to the byte; freed together by `heap_release`. */
void *heap_block(size_t bytes, size_t offset); /* 64-byte aligned plus offset, filled with garbage (NaN as a float) */
void *heap_copy(const void *data, size_t bytes);
void heap_release(void);

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define check(condition, ...) ((condition) ? (void)0 : fail(__VA_ARGS__))
/* Equal bits, or both NaN. */
int same_floats(const float *a, const float *b, size_t n);

extern const char *isa_names[];
extern int isa_count;
void use_some_isa(void);             /* any of this machine's */
lacli_threads *some_threads(void);   /* a pool of 1 to MAX_THREADS threads */
/* A rounding mode that the caller might be in; results must not depend on it, and a call must leave it. */
void enter_some_float_mode(void);
void leave_float_mode(void);

/* fuzz_reference.c */
float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
float weight_at(const lacli_matrix *matrix, int row, int column);
void reference_matmul(const lacli_matrix *matrix, int rows, const float *x, float *y);
void reference_forward(const lacli_model *model, const lacli_cache *cache, int length, const lacli_rows *rows,
                       double *logits);

/* fuzz_matmul.c: also draws the matrices of the models. */
void draw_matrix(lacli_matrix *matrix, int kind, int rows, int columns, int weird);
void fuzz_matmul(void);
void fuzz_matmul_errors(void);

/* fuzz_model.c: a drawn model, its cache and the rows of a forward. */
typedef struct {
    lacli_model model;
    lacli_layer *layers;
    lacli_cache cache;
    lacli_rows rows;
    int32_t *token_ids, *parents, *wanted, *depths; /* what `rows` points to, and the depth of each row */
    int length, weird;
} setting;
void draw_setting(setting *drawn);
/* Another sequence of the same model: a cache and rows of its own, of any kind and size. */
void draw_sequence(setting *drawn, const setting *of);
/* Cosines and sines for so many positions. */
void give_table(lacli_rows *rows, int positions, int half);
size_t cache_bytes(const setting *of);
lacli_cache cache_copy(const setting *of);
/* The value `d` of a slot's key or value as its stored bits; NaN as one NaN. */
uint32_t cache_at(const setting *of, const lacli_cache *cache, int values, int layer, int head, int slot, int d);
void cache_copy_slot(const setting *of, const lacli_cache *from, lacli_cache *to, int slot);
/* Fresh outputs, filled with garbage, for `wanted` rows. */
void give_outputs(lacli_rows *rows, int vocab);

/* fuzz_forward.c */
void fuzz_forward(void);
/* The forward of one sequence. */
int forward_one(const setting *of, const lacli_cache *cache, int length, const lacli_rows *rows);
/* Keys and values of two slots; a cache that has the bytes of the setting's outside of the slots [first, last). */
int same_slot(const setting *of, const lacli_cache *a, int slot_a, const lacli_cache *b, int slot_b);
void check_untouched(const setting *of, const lacli_cache *cache, int first, int last);
/* fuzz_parts.c */
void fuzz_parts(void);
/* fuzz_errors.c */
void fuzz_forward_errors(void);
void fuzz_keep_errors(void);

#endif
