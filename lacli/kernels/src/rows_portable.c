/* Rows and attention in plain C, for machines without a set of their own; what the other sets are compared with. */
#include <math.h>

#include "gemm.h"
#include "half.h"

#define NAME(fn) lacli_##fn##_portable
#define TARGET
#define W 1

typedef float vec;

LACLI_INLINE vec v_load(const float *p) { return *p; }
LACLI_INLINE void v_store(float *p, vec a) { *p = a; }
LACLI_INLINE vec v_set(float a) { return a; }
LACLI_INLINE vec v_add(vec a, vec b) { return a + b; }
LACLI_INLINE vec v_sub(vec a, vec b) { return a - b; }
LACLI_INLINE vec v_mul(vec a, vec b) { return a * b; }
LACLI_INLINE vec v_div(vec a, vec b) { return a / b; }
LACLI_INLINE vec v_max(vec a, vec b) { return a > b ? a : b; }
LACLI_INLINE vec v_min(vec a, vec b) { return a < b ? a : b; }
LACLI_INLINE vec v_fma(vec a, vec b, vec c) { return __builtin_fmaf(a, b, c); }
LACLI_INLINE int v_any_not_less(vec a, vec b) { return !(a < b); }
LACLI_INLINE vec v_power(vec a) { return lacli_bits_float(lacli_float_bits(a) << 23); }
LACLI_INLINE vec v_half_load(const uint16_t *p) { return lacli_half_to_float(*p); }
LACLI_INLINE void v_half_store(uint16_t *p, vec a) { *p = lacli_float_to_half(a); }

#include "rows_body.h"

#include "attention_body.h"
