/* Rows and attention for AVX-512: 16 floats a vector. */
#include "gemm.h"
#include "half.h"

#if LACLI_X86
#include <immintrin.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_avx512
#define TARGET LACLI_TARGET_AVX512
#define W 16

typedef __m512 vec;

LACLI_INLINE TARGET vec v_load(const float *p) { return _mm512_loadu_ps(p); }
LACLI_INLINE TARGET void v_store(float *p, vec a) { _mm512_storeu_ps(p, a); }
LACLI_INLINE TARGET vec v_set(float a) { return _mm512_set1_ps(a); }
LACLI_INLINE TARGET vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
LACLI_INLINE TARGET vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
LACLI_INLINE TARGET vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
LACLI_INLINE TARGET vec v_div(vec a, vec b) { return _mm512_div_ps(a, b); }
LACLI_INLINE TARGET vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
LACLI_INLINE TARGET vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
LACLI_INLINE TARGET vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }

LACLI_INLINE TARGET int v_any_not_less(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ) != 0; }

LACLI_INLINE TARGET vec v_power(vec a)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 23));
}

LACLI_INLINE TARGET vec v_half_load(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

LACLI_INLINE TARGET void v_half_store(uint16_t *p, vec a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#include "rows_body.h"

#include "attention_body.h"
#endif
