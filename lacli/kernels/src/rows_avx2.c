/* Rows and attention for AVX2 with FMA and F16C: 8 floats a vector. */
#include "gemm.h"
#include "half.h"

#if LACLI_X86
#include <immintrin.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_avx2
#define TARGET LACLI_TARGET_AVX2
#define W 8

typedef __m256 vec;

LACLI_INLINE TARGET vec v_load(const float *p) { return _mm256_loadu_ps(p); }
LACLI_INLINE TARGET void v_store(float *p, vec a) { _mm256_storeu_ps(p, a); }
LACLI_INLINE TARGET vec v_set(float a) { return _mm256_set1_ps(a); }
LACLI_INLINE TARGET vec v_add(vec a, vec b) { return _mm256_add_ps(a, b); }
LACLI_INLINE TARGET vec v_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
LACLI_INLINE TARGET vec v_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
LACLI_INLINE TARGET vec v_div(vec a, vec b) { return _mm256_div_ps(a, b); }
LACLI_INLINE TARGET vec v_max(vec a, vec b) { return _mm256_max_ps(a, b); }
LACLI_INLINE TARGET vec v_min(vec a, vec b) { return _mm256_min_ps(a, b); }
LACLI_INLINE TARGET vec v_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }

LACLI_INLINE TARGET int v_any_not_less(vec a, vec b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ)); }

LACLI_INLINE TARGET vec v_power(vec a)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23));
}

LACLI_INLINE TARGET vec v_half_load(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

LACLI_INLINE TARGET void v_half_store(uint16_t *p, vec a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#include "rows_body.h"

#include "attention_body.h"
#endif
