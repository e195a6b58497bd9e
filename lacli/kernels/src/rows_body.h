/* Norms, activations, softmax and the rest that goes row by row, once for all instruction sets.
 *
 * Included by rows_<isa>.c, which defines before: NAME(fn), TARGET, the vector type `vec` of W floats (W divides 16)
 * and its operations v_load, v_store, v_set, v_add, v_sub, v_mul, v_div, v_max, v_min, v_fma (a * b + c), v_power (2^n
 * from the bits of 1.5 * 2^23 + 127 + n), v_half_load, v_half_store and v_any_not_less. Every element is computed
 * alike in all sets, and reductions keep 16 lanes, so the bits are the same. */

#define VECS (16 / W) /* vectors that hold 16 lanes */

LACLI_INLINE TARGET float NAME(fold)(const vec *sums)
{
    float lanes[16];
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++)
        v_store(lanes + u * W, sums[u]);
    for (int width = 8; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            lanes[i] += lanes[i + width];
    return lanes[0];
}

/* e^x as 2^n times a polynomial, with a relative error below 5e-7; 0 from -88 down, infinite from 89 up. The limits
 * come first in v_max and v_min, so that a NaN passes. */
LACLI_INLINE TARGET vec NAME(exp)(vec x)
{
    const vec magic = v_set(0x1.8p23f + 127.0f);
    vec inside = v_min(v_set(89.0f), v_max(v_set(-88.0f), x));
    vec shifted = v_fma(inside, v_set(0x1.715476p+0f), magic);
    vec r = v_fma(v_sub(shifted, magic), v_set(-0x1.62e43p-1f), inside);
    vec sum = v_set(0x1.1062500p-7f);
    sum = v_fma(sum, r, v_set(0x1.572a640p-5f));
    sum = v_fma(sum, r, v_set(0x1.5557b00p-3f));
    sum = v_fma(sum, r, v_set(0x1.fffdfc0p-2f));
    sum = v_fma(sum, r, v_set(1.0f));
    sum = v_fma(sum, r, v_set(1.0f));
    return v_mul(sum, v_power(shifted));
}

LACLI_INLINE TARGET void NAME(squares)(const float *x, vec *sums)
{
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++) {
        vec value = v_load(x + u * W);
        sums[u] = v_fma(value, value, sums[u]);
    }
}

TARGET void NAME(rms_norm)(const float *x, const float *weight, float epsilon, int32_t n, float *out)
{
    vec sums[VECS];
    int32_t i = 0, whole = n - n % 16;
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++)
        sums[u] = v_set(0.0f);
    for (; i < whole; i += 16)
        NAME(squares)(x + i, sums);
    if (i < n) {
        float rest[16] = {0};
        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
        NAME(squares)(rest, sums);
    }
    float factor = 1.0f / sqrtf(NAME(fold)(sums) / (float)n + epsilon);
    for (i = 0; i < whole; i += W)
        v_store(out + i, v_mul(v_mul(v_load(x + i), v_set(factor)), v_load(weight + i)));
    for (; i < n; i++)
        out[i] = x[i] * factor * weight[i];
}

LACLI_INLINE TARGET void NAME(silu16)(const float *gate, const float *up, float *out)
{
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++) {
        vec value = v_load(gate + u * W);
        vec below = v_add(v_set(1.0f), NAME(exp)(v_sub(v_set(-0.0f), value)));
        v_store(out + u * W, v_mul(v_div(value, below), v_load(up + u * W)));
    }
}

TARGET void NAME(silu_mul)(const float *gate, const float *up, int32_t n, float *out)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        NAME(silu16)(gate + i, up + i, out + i);
    if (i < n) {
        float rest[2][16] = {{0}};
        size_t bytes = (size_t)(n - i) * sizeof *gate;
        memcpy(rest[0], gate + i, bytes);
        memcpy(rest[1], up + i, bytes);
        NAME(silu16)(rest[0], rest[1], rest[0]);
        memcpy(out + i, rest[0], bytes);
    }
}

TARGET void NAME(rotate)(float *head, const float *cosine, const float *sine, int32_t head_dim)
{
    int32_t half = head_dim / 2, i = 0;
    float *left = head, *right = head + half;
    for (; i + W <= half; i += W) {
        vec a = v_load(left + i), b = v_load(right + i), c = v_load(cosine + i), s = v_load(sine + i);
        v_store(left + i, v_fma(a, c, v_mul(v_sub(v_set(-0.0f), b), s)));
        v_store(right + i, v_fma(b, c, v_mul(a, s)));
    }
    for (; i < half; i++) {
        float a = left[i], b = right[i];
        left[i] = __builtin_fmaf(a, cosine[i], -b * sine[i]);
        right[i] = __builtin_fmaf(b, cosine[i], a * sine[i]);
    }
}

LACLI_INLINE TARGET void NAME(softmax16)(float *scores, vec highest, vec *sums)
{
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++) {
        vec weight = NAME(exp)(v_sub(v_load(scores + u * W), highest));
        v_store(scores + u * W, weight);
        sums[u] = v_add(sums[u], weight);
    }
}

TARGET float NAME(softmax)(float *scores, int32_t n)
{
    vec most[VECS], sums[VECS];
    float rest[16], lanes[16], highest = -INFINITY;
    int32_t i = 0, whole = n - n % 16;
    for (int j = 0; j < 16; j++)
        rest[j] = j < n - whole ? scores[whole + j] : -INFINITY;
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++) {
        most[u] = v_load(rest + u * W);
        sums[u] = v_set(0.0f);
    }
    for (; i < whole; i += 16) {
        LACLI_UNROLL
        for (int u = 0; u < VECS; u++)
            most[u] = v_max(most[u], v_load(scores + i + u * W));
    }
    LACLI_UNROLL
    for (int u = 0; u < VECS; u++)
        v_store(lanes + u * W, most[u]);
    for (int j = 0; j < 16; j++)
        highest = lanes[j] > highest ? lanes[j] : highest;
    for (i = 0; i < whole; i += 16)
        NAME(softmax16)(scores + i, v_set(highest), sums);
    if (whole < n) {
        NAME(softmax16)(rest, v_set(highest), sums);
        memcpy(scores + whole, rest, (size_t)(n - whole) * sizeof *scores);
    }
    return NAME(fold)(sums);
}

TARGET void NAME(store)(const float *head, void *cache, int32_t kind, int32_t head_dim, int32_t slot, int key)
{
    int64_t first = key ? (int64_t)(slot / 16) * 16 * head_dim + slot % 16 : (int64_t)slot * head_dim;
    int32_t step = key ? 16 : 1, d = 0;
    if (kind == LACLI_F32) {
        for (float *out = (float *)cache + first; d < head_dim; d++)
            out[(int64_t)d * step] = head[d];
        return;
    }
    for (uint16_t *out = (uint16_t *)cache + first; d < head_dim; d += 16) {
        uint16_t halves[16];
        float values[16] = {0};
        int count = head_dim - d < 16 ? head_dim - d : 16;
        memcpy(values, head + d, (size_t)count * sizeof *values);
        LACLI_UNROLL
        for (int u = 0; u < VECS; u++)
            v_half_store(halves + u * W, v_load(values + u * W));
        for (int i = 0; i < count; i++)
            out[(int64_t)(d + i) * step] = halves[i];
    }
}

/* One logit into a list of the best. A NaN takes the first place and stays there. */
static void NAME(place)(float logit, int32_t id, int32_t *ids, float *best)
{
    int place = LACLI_TOP;
    if (logit != logit) {
        if (best[0] != best[0]) {
            ids[0] = id < ids[0] ? id : ids[0];
            return;
        }
        place = 0;
    } else {
        while (place > 0 && (ids[place - 1] < 0 || logit > best[place - 1] ||
                             (logit == best[place - 1] && id < ids[place - 1])))
            place--;
    }
    for (int i = LACLI_TOP - 1; i > place; i--) {
        best[i] = best[i - 1];
        ids[i] = ids[i - 1];
    }
    if (place < LACLI_TOP) {
        best[place] = logit;
        ids[place] = id;
    }
}

TARGET void NAME(top)(const float *logits, int32_t n, int32_t first_id, int32_t *ids, float *best)
{
    int32_t i = 0;
    for (; i < n && ids[LACLI_TOP - 1] < 0; i++)
        NAME(place)(logits[i], first_id + i, ids, best);
    for (; i + 16 <= n; i += 16) {
        vec least = v_set(best[LACLI_TOP - 1]);
        int any = 0;
        LACLI_UNROLL
        for (int u = 0; u < VECS; u++)
            any |= v_any_not_less(v_load(logits + i + u * W), least);
        for (int j = 0; any && j < 16; j++)
            NAME(place)(logits[i + j], first_id + i + j, ids, best);
    }
    for (; i < n; i++)
        NAME(place)(logits[i], first_id + i, ids, best);
}
