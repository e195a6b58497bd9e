/* Scores of queries against cached keys, and the weighted sum of cached values, once for all instruction sets.
 *
 * Included by rows_<isa>.c after rows_body.h. Both work in tiles of a few queries that share each load of the cache;
 * every number is one chain of fused multiply-adds in a fixed order, so tiles and splits never change a bit. */

/* Queries of a tile, and how many groups of 16 lanes they share: what the registers hold. */
#define TILE_MOST 6
#define TILE_QUERIES (W == 1 ? 1 : TILE_MOST)
#define TILE_GROUPS (W == 16 ? 4 : 1)
/* Cached numbers between two visits of a tile: the values of so many positions stay in the first-level cache. */
#define STRETCH 8192

LACLI_INLINE TARGET vec NAME(cached)(const void *cache, int64_t index, int half)
{
    return half ? v_half_load((const uint16_t *)cache + index) : v_load((const float *)cache + index);
}

/* `count` queries times `groups` blocks of 16 keys, from slot `first` on. */
LACLI_INLINE TARGET void NAME(score_tile)(const float *const *queries, const int count, const void *keys,
                                          const int half, int32_t head_dim, int32_t first, const int groups,
                                          float *const *scores)
{
    vec sums[TILE_MOST][TILE_GROUPS * VECS];
    const float *query[TILE_MOST];
    LACLI_UNROLL
    for (int q = 0; q < count; q++) {
        query[q] = queries[q];
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            sums[q][u] = v_set(0.0f);
    }
    int64_t block = (int64_t)16 * head_dim, start = (int64_t)first * head_dim;
    for (int32_t d = 0; d < head_dim; d++) {
        vec key[TILE_GROUPS * VECS];
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            key[u] = NAME(cached)(keys, start + u / VECS * block + (int64_t)d * 16 + u % VECS * W, half);
        LACLI_UNROLL
        for (int q = 0; q < count; q++) {
            vec value = v_set(query[q][d]);
            LACLI_UNROLL
            for (int u = 0; u < groups * VECS; u++)
                sums[q][u] = v_fma(value, key[u], sums[q][u]);
        }
    }
    LACLI_UNROLL
    for (int q = 0; q < count; q++) {
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            v_store(scores[q] + first + u * W, sums[q][u]);
    }
}

LACLI_INLINE TARGET void NAME(score_range)(const float *const *queries, int32_t count, const void *keys,
                                           const int half, int32_t head_dim, int32_t first, const int groups,
                                           float *const *scores)
{
#define SCORE_TILE(n) NAME(score_tile)(queries + q, n, keys, half, head_dim, first, groups, scores + q)
    for (int32_t q = 0; q < count; q += TILE_QUERIES)
        switch (TILE_QUERIES == 1 ? 1 : count - q) {
        case 1: SCORE_TILE(1); break;
        case 2: SCORE_TILE(2); break;
        case 3: SCORE_TILE(3); break;
        case 4: SCORE_TILE(4); break;
        case 5: SCORE_TILE(5); break;
        default: SCORE_TILE(6); break;
        }
#undef SCORE_TILE
}

LACLI_INLINE TARGET void NAME(score_all)(const float *const *queries, int32_t count, const void *keys, const int half,
                                         int32_t head_dim, int32_t first, int32_t last, float *const *scores)
{
    for (; last - first >= 16 * TILE_GROUPS; first += 16 * TILE_GROUPS)
        NAME(score_range)(queries, count, keys, half, head_dim, first, TILE_GROUPS, scores);
    for (; TILE_GROUPS > 1 && first < last; first += 16)
        NAME(score_range)(queries, count, keys, half, head_dim, first, 1, scores);
}

TARGET void NAME(scores)(const float *const *queries, int32_t count, const void *keys, int32_t kind, int32_t head_dim,
                         int32_t first, int32_t last, float *const *scores)
{
    if (kind == LACLI_F16)
        NAME(score_all)(queries, count, keys, 1, head_dim, first, last, scores);
    else
        NAME(score_all)(queries, count, keys, 0, head_dim, first, last, scores);
}

/* Positions [first, last) that `count` queries see in the same slots, onto out[q][d..] of `groups` times 16 lanes. */
LACLI_INLINE TARGET void NAME(mix_tile)(const float *const *weights, const int count, int32_t past,
                                        const int32_t *slots, int32_t first, int32_t last, const void *values,
                                        const int half, int32_t head_dim, int32_t d, const int groups,
                                        float *const *out)
{
    vec sums[TILE_MOST][TILE_GROUPS * VECS];
    const float *weight[TILE_MOST];
    LACLI_UNROLL
    for (int q = 0; q < count; q++) {
        weight[q] = weights[q];
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            sums[q][u] = v_load(out[q] + d + u * W);
    }
    for (int32_t j = first; j < last; j++) {
        int64_t start = (int64_t)(j < past ? j : slots[j - past]) * head_dim + d;
        vec value[TILE_GROUPS * VECS];
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            value[u] = NAME(cached)(values, start + u * W, half);
        LACLI_UNROLL
        for (int q = 0; q < count; q++) {
            vec each = v_set(weight[q][j]);
            LACLI_UNROLL
            for (int u = 0; u < groups * VECS; u++)
                sums[q][u] = v_fma(each, value[u], sums[q][u]);
        }
    }
    LACLI_UNROLL
    for (int q = 0; q < count; q++) {
        LACLI_UNROLL
        for (int u = 0; u < groups * VECS; u++)
            v_store(out[q] + d + u * W, sums[q][u]);
    }
}

/* The same over all lanes [d, d_last), the odd ones at the end of a head one by one. */
LACLI_INLINE TARGET void NAME(mix_lanes)(const float *const *weights, const int count, int32_t past,
                                         const int32_t *slots, int32_t first, int32_t last, const void *values,
                                         const int half, int32_t head_dim, int32_t d, int32_t d_last,
                                         float *const *out)
{
    for (; d_last - d >= 16 * TILE_GROUPS; d += 16 * TILE_GROUPS)
        NAME(mix_tile)(weights, count, past, slots, first, last, values, half, head_dim, d, TILE_GROUPS, out);
    for (; TILE_GROUPS > 2 && d_last - d >= 32; d += 32)
        NAME(mix_tile)(weights, count, past, slots, first, last, values, half, head_dim, d, 2 - (TILE_GROUPS < 2), out);
    for (; d_last - d >= 16; d += 16)
        NAME(mix_tile)(weights, count, past, slots, first, last, values, half, head_dim, d, 1, out);
    for (; d < d_last; d++)
        for (int q = 0; q < count; q++)
            for (int32_t j = first; j < last; j++) {
                int64_t index = (int64_t)(j < past ? j : slots[j - past]) * head_dim + d;
                float value = half ? lacli_half_to_float(((const uint16_t *)values)[index])
                                   : ((const float *)values)[index];
                out[q][d] = __builtin_fmaf(weights[q][j], value, out[q][d]);
            }
}

LACLI_INLINE TARGET void NAME(mix_shared)(const float *const *weights, int count, int32_t past, const int32_t *slots,
                                          int32_t first, int32_t last, const void *values, const int half,
                                          int32_t head_dim, int32_t d_first, int32_t d_last, float *const *out)
{
#define MIX_LANES(n) \
    NAME(mix_lanes)(weights, n, past, slots, first, last, values, half, head_dim, d_first, d_last, out)
    switch (TILE_QUERIES == 1 ? 1 : count) {
    case 1: MIX_LANES(1); break;
    case 2: MIX_LANES(2); break;
    case 3: MIX_LANES(3); break;
    case 4: MIX_LANES(4); break;
    case 5: MIX_LANES(5); break;
    default: MIX_LANES(6); break;
    }
#undef MIX_LANES
}

static TARGET void NAME(mix_half)(const float *const *weights, int count, int32_t past, const int32_t *slots,
                                  int32_t first, int32_t last, const void *values, int32_t head_dim,
                                  int32_t d_first, int32_t d_last, float *const *out)
{
    NAME(mix_shared)(weights, count, past, slots, first, last, values, 1, head_dim, d_first, d_last, out);
}

static TARGET void NAME(mix_float)(const float *const *weights, int count, int32_t past, const int32_t *slots,
                                   int32_t first, int32_t last, const void *values, int32_t head_dim,
                                   int32_t d_first, int32_t d_last, float *const *out)
{
    NAME(mix_shared)(weights, count, past, slots, first, last, values, 0, head_dim, d_first, d_last, out);
}

/* The positions [*first, *last) that all queries of a tile see in the same slots; empty where there are none. */
static void NAME(mix_common)(int32_t count, int32_t past, const int32_t *const *slots, const int32_t *start,
                             const int32_t *end, int32_t *first, int32_t *last)
{
    int32_t from = start[0], to = end[0];
    for (int32_t q = 1; q < count; q++) {
        from = start[q] > from ? start[q] : from;
        to = end[q] < to ? end[q] : to;
        for (int32_t j = past; j < to && slots[q] != slots[0]; j++)
            if (slots[q][j - past] != slots[0][j - past])
                to = j;
    }
    *first = from;
    *last = to > from ? to : from;
}

TARGET void NAME(mix)(const float *const *weights, int32_t count, int32_t past, const int32_t *const *slots,
                      const int32_t *start, const int32_t *end, const void *values, int32_t kind, int32_t head_dim,
                      int32_t d_first, int32_t d_last, float *const *out)
{
    void (*part)(const float *const *, int, int32_t, const int32_t *, int32_t, int32_t, const void *, int32_t,
                 int32_t, int32_t, float *const *) = kind == LACLI_F16 ? NAME(mix_half) : NAME(mix_float);
    int32_t stretch = STRETCH / head_dim > 16 ? STRETCH / head_dim : 16, least = INT32_MAX, most = 0;
    for (int32_t q = 0; q < count; q++) {
        for (int32_t d = d_first; d < d_last; d++)
            out[q][d] = 0.0f;
        least = start[q] < least ? start[q] : least;
        most = end[q] > most ? end[q] : most;
    }
    for (int32_t from = least; from < most; from += stretch)
        for (int32_t tile = 0; tile < count; tile += TILE_QUERIES) {
            int32_t width = count - tile < TILE_QUERIES ? count - tile : TILE_QUERIES, first, last;
            int32_t to = from + stretch < most ? from + stretch : most;
            NAME(mix_common)(width, past, slots + tile, start + tile, end + tile, &first, &last);
            first = first < from ? from : first > to ? to : first;
            last = last < first ? first : last > to ? to : last;
            for (int32_t q = tile; q < tile + width; q++) { /* what each sees alone before */
                int32_t begin = start[q] > from ? start[q] : from, until = end[q] < first ? end[q] : first;
                if (begin < until)
                    part(weights + q, 1, past, slots[q], begin, until, values, head_dim, d_first, d_last, out + q);
            }
            if (first < last)
                part(weights + tile, width, past, slots[tile], first, last, values, head_dim, d_first, d_last,
                     out + tile);
            for (int32_t q = tile; q < tile + width; q++) { /* and after */
                int32_t begin = start[q] > last ? start[q] : last, until = end[q] < to ? end[q] : to;
                if (begin < until)
                    part(weights + q, 1, past, slots[q], begin, until, values, head_dim, d_first, d_last, out + q);
            }
        }
}
