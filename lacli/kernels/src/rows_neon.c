/* Rows and attention for NEON: 4 floats a vector. */
#include "gemm.h"
#include "half.h"

#if LACLI_ARM
#include <arm_neon.h>
#include <math.h>

#define NAME(fn) lacli_##fn##_neon
#define TARGET LACLI_TARGET_NEON
#define W 4

typedef float32x4_t vec;

LACLI_INLINE TARGET vec v_load(const float *p) { return vld1q_f32(p); }
LACLI_INLINE TARGET void v_store(float *p, vec a) { vst1q_f32(p, a); }
LACLI_INLINE TARGET vec v_set(float a) { return vdupq_n_f32(a); }
LACLI_INLINE TARGET vec v_add(vec a, vec b) { return vaddq_f32(a, b); }
LACLI_INLINE TARGET vec v_sub(vec a, vec b) { return vsubq_f32(a, b); }
LACLI_INLINE TARGET vec v_mul(vec a, vec b) { return vmulq_f32(a, b); }
LACLI_INLINE TARGET vec v_div(vec a, vec b) { return vdivq_f32(a, b); }
LACLI_INLINE TARGET vec v_max(vec a, vec b) { return vmaxq_f32(a, b); }
LACLI_INLINE TARGET vec v_min(vec a, vec b) { return vminq_f32(a, b); }
LACLI_INLINE TARGET vec v_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }

LACLI_INLINE TARGET int v_any_not_less(vec a, vec b) { return vminvq_u32(vcltq_f32(a, b)) == 0; }

LACLI_INLINE TARGET vec v_power(vec a) { return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a), 23)); }

LACLI_INLINE TARGET vec v_half_load(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }

LACLI_INLINE TARGET void v_half_store(uint16_t *p, vec a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }

#include "rows_body.h"

#include "attention_body.h"
#endif
