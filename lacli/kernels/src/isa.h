/* The names of the functions of each instruction set, and the attributes that compile them.
 *
 * A function `fn` of set `isa` is called lacli_<fn>_<isa>; dispatch.c gathers them into one table per set. The sets
 * that this architecture lacks are left out by LACLI_X86 and LACLI_ARM, in the files too.
 */
#ifndef LACLI_ISA_H
#define LACLI_ISA_H

#include "internal.h"

#if defined(__x86_64__)
#define LACLI_X86 1
/* In front of every function of the set that uses its intrinsics, static helpers too. */
#define LACLI_TARGET_AVX2 __attribute__((target("avx2,fma,f16c,bmi,bmi2")))
#define LACLI_TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c,bmi,bmi2")))
#else
#define LACLI_X86 0
#endif

/* The dot product is part of Armv8.2: the attribute makes it usable where the compiler's default is Armv8.0. */
#if defined(__aarch64__) && (defined(__ARM_FEATURE_DOTPROD) || !defined(__clang__) || __clang_major__ >= 16)
#define LACLI_ARM 1 /* earlier clang has the intrinsics only where its default is Armv8.2 */
#if defined(__ARM_FEATURE_DOTPROD)
#define LACLI_TARGET_NEON
#elif defined(__clang__)
#define LACLI_TARGET_NEON __attribute__((target("dotprod")))
#else
#define LACLI_TARGET_NEON __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#else
#define LACLI_ARM 0
#endif

#define LACLI_INLINE static inline __attribute__((always_inline))

#define LACLI_DECLARE_SET(isa)                                                                                       \
    void lacli_matmul_##isa(const lacli_matrix *matrix, const lacli_quantised *quantised, const float *x,            \
                            int64_t x_stride, int32_t rows, int32_t first, int32_t last, float *y, int64_t y_stride, \
                            int add);                                                                                \
    void lacli_quantise_##isa(const float *x, int32_t columns, int8_t *q, float *scale, int32_t *sum);               \
    void lacli_rms_norm_##isa(const float *x, const float *weight, float epsilon, int32_t n, float *out);            \
    void lacli_silu_mul_##isa(const float *gate, const float *up, int32_t n, float *out);                            \
    void lacli_rotate_##isa(float *head, const float *cosine, const float *sine, int32_t head_dim);                  \
    void lacli_scores_##isa(const float *const *queries, int32_t count, const void *keys, int32_t kind,              \
                            int32_t head_dim, int32_t first, int32_t last, float *const *scores);                    \
    float lacli_softmax_##isa(float *scores, int32_t n);                                                             \
    void lacli_mix_##isa(const float *const *weights, int32_t count, int32_t past, const int32_t *const *slots,      \
                         const int32_t *start, const int32_t *end, const void *values, int32_t kind,                 \
                         int32_t head_dim, int32_t d_first, int32_t d_last, float *const *out);                      \
    void lacli_store_##isa(const float *head, void *cache, int32_t kind, int32_t head_dim, int32_t slot, int key);   \
    void lacli_top_##isa(const float *logits, int32_t n, int32_t first_id, int32_t *ids, float *best);               \
    uint64_t lacli_read_##isa(const void *data, size_t bytes)

LACLI_DECLARE_SET(portable);
#if LACLI_X86
LACLI_DECLARE_SET(avx2);
LACLI_DECLARE_SET(avx512);
#endif
#if LACLI_ARM
LACLI_DECLARE_SET(neon);
#endif

#endif
