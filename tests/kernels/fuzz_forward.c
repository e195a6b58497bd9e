/* Fuzzes lacli_forward and lacli_keep: near the plain reference, the same bits in every set, shape and order.
 *
 * A case is one setting of fuzz_model.c, run as drawn with each instruction set, with its rows in another order, and
 * with the path to one row alone, in steps of one or more rows. Slots without a position hold NaN throughout, so a
 * value read from the wrong one shows.
 */
#include "fuzz.h"

int forward_one(const setting *of, const lacli_cache *cache, int length, const lacli_rows *rows) {
    lacli_part part = {cache, length, rows->rows};
    return lacli_forward(some_threads(), &of->model, &part, 1, rows);
}

static void run(const setting *of, const lacli_cache *cache, int length, const lacli_rows *rows) {
    enter_some_float_mode();
    int code = forward_one(of, cache, length, rows);
    leave_float_mode();
    check(!code, "forward of %d rows after %d gave %d", rows->rows, length, code);
}

/* The top ids are those of the logits, the lower first on a tie; a row with a NaN is marked. */
static void check_top(const lacli_rows *rows, int vocab) {
    for (int i = 0; i < rows->wanted; i++) {
        const float *logits = rows->logits + (size_t)i * (size_t)vocab, *top = rows->top_logits + i * LACLI_TOP;
        const int32_t *ids = rows->top_ids + i * LACLI_TOP;
        int bad = 0;
        for (int id = 0; id < vocab; id++) bad |= isnan(logits[id]);
        check(!bad == !isnan(top[0]), "a row %s a NaN has %g as its best logit", bad ? "with" : "without",
              (double)top[0]);
        for (int place = 0; place < LACLI_TOP; place++) {
            check(ids[place] >= -1 && ids[place] < vocab, "top id %d of %d", ids[place], vocab);
            if (bad) continue;
            int best = -1;
            for (int id = 0; id < vocab; id++) {
                int taken = 0;
                for (int before = 0; before < place; before++) taken |= ids[before] == id;
                if (!taken && (best < 0 || logits[id] > logits[best])) best = id;
            }
            check(ids[place] == best, "top id %d of %d ids is %d, not %d", place, vocab, ids[place], best);
            check(best < 0 || same_floats(&top[place], &logits[best], 1), "top logit %d is not that of id %d", place,
                  best);
        }
    }
}

int same_slot(const setting *of, const lacli_cache *a, int slot_a, const lacli_cache *b, int slot_b) {
    for (int layer = 0; layer < of->model.layers; layer++)
        for (int head = 0; head < of->model.kv_heads; head++)
            for (int d = 0; d < of->model.head_dim; d++)
                for (int values = 0; values < 2; values++)
                    if (cache_at(of, a, values, layer, head, slot_a, d) !=
                        cache_at(of, b, values, layer, head, slot_b, d))
                        return 0;
    return 1;
}

/* The slots that a forward or keep had no business with, outside [first, last), have their bytes. */
void check_untouched(const setting *of, const lacli_cache *cache, int first, int last) {
    setting copy = *of;
    copy.cache = *cache;
    lacli_cache put_back = cache_copy(&copy);
    for (int slot = first; slot < last; slot++) cache_copy_slot(of, &of->cache, &put_back, slot);
    check(!memcmp(put_back.keys, of->cache.keys, cache_bytes(of)) &&
              !memcmp(put_back.values, of->cache.values, cache_bytes(of)),
          "a slot outside %d..%d was touched", first, last);
}

static void check_near(const setting *of, const lacli_rows *rows) {
    int vocab = of->model.vocab, floats = of->cache.kind == LACLI_F32 && of->model.head.kind >= LACLI_F32;
    size_t n = (size_t)rows->wanted * (size_t)vocab;
    double *expected = heap_block(n * sizeof(double), 0);
    reference_forward(&of->model, &of->cache, of->length, rows, expected);
    for (int layer = 0; layer < of->model.layers; layer++)
        floats &= of->layers[layer].query.kind >= LACLI_F32 && of->layers[layer].down.kind >= LACLI_F32;
    for (int i = 0; i < rows->wanted; i++) {
        double error = 0.0, size = 1e-3;
        for (int id = 0; id < vocab; id++) {
            double value = expected[(size_t)i * (size_t)vocab + (size_t)id];
            error += pow((double)rows->logits[(size_t)i * (size_t)vocab + (size_t)id] - value, 2);
            size += value * value;
        }
        check(sqrt(error / size) < (floats ? 1e-5 : 0.05), "wanted row %d: logits off by %g of their size", i,
              sqrt(error / size));
    }
}

/* All sets: the first gives the bits, and the cache, that the others must give too. */
static lacli_cache run_all(const setting *of) {
    lacli_cache first = {0};
    for (int i = 0; i < isa_count; i++) {
        lacli_cache cache = cache_copy(of);
        lacli_rows rows = of->rows;
        size_t wanted = (size_t)rows.wanted;
        lacli_set_isa(isa_names[i]);
        if (i) give_outputs(&rows, of->model.vocab);
        run(of, &cache, of->length, &rows);
        check_top(&rows, of->model.vocab);
        check_untouched(of, &cache, of->length, of->length + rows.rows);
        if (!i) first = cache;
        check(same_floats(rows.logits, of->rows.logits, wanted * (size_t)of->model.vocab), "%s: other logits",
              isa_names[i]);
        check(!memcmp(rows.top_ids, of->rows.top_ids, wanted * LACLI_TOP * 4), "%s: other top ids", isa_names[i]);
        for (int slot = of->length; slot < of->length + rows.rows; slot++)
            check(same_slot(of, &first, slot, &cache, slot), "%s: other keys or values of slot %d", isa_names[i], slot);
    }
    return first;
}

/* The same rows in another order that has parents first. */
static void run_shuffled(const setting *of, const lacli_cache *cache) {
    int n = of->rows.rows, taken = 0;
    int32_t *place = heap_block((size_t)n * 4, 0), *ids = heap_block((size_t)n * 4, 0);
    int32_t *parents = heap_block((size_t)n * 4, 0), *wanted = heap_block((size_t)of->rows.wanted * 4, 0);
    memset(place, 0xff, (size_t)n * 4); /* -1: not placed */
    while (taken < n) {
        int row = draw(0, n - 1), parent = of->parents[row];
        if (place[row] >= 0 || (parent >= 0 && place[parent] < 0)) continue;
        ids[taken] = of->token_ids[row];
        parents[taken] = parent < 0 ? -1 : place[parent];
        place[row] = taken++;
    }
    for (int i = 0; i < of->rows.wanted; i++) wanted[i] = place[of->wanted[i]];
    lacli_cache shuffled = cache_copy(of);
    lacli_rows rows = of->rows;
    rows.token_ids = ids;
    rows.parents = parents;
    rows.wanted_rows = wanted;
    give_outputs(&rows, of->model.vocab);
    use_some_isa();
    run(of, &shuffled, of->length, &rows);
    check(same_floats(rows.logits, of->rows.logits, (size_t)rows.wanted * (size_t)of->model.vocab),
          "the order of the rows changes logits");
    for (int row = 0; row < n; row++)
        check(same_slot(of, cache, of->length + row, &shuffled, of->length + place[row]),
              "row %d: the order of the rows changes keys or values", row);
}

/* Decodes the path to one wanted row alone, a few rows a step, and compares with the row of the tree. */
static void run_path(const setting *of, const lacli_cache *cache) {
    int which = draw(0, of->rows.wanted - 1), row = of->wanted[which], n = of->depths[row] + 1;
    int vocab = of->model.vocab;
    int32_t *path = heap_block((size_t)n * 4, 0), *ids = heap_block((size_t)n * 4, 0);
    for (int i = n; i--; row = of->parents[row]) {
        path[i] = row;
        ids[i] = of->token_ids[row];
    }
    lacli_cache alone = cache_copy(of), kept = *cache;
    lacli_rows rows = of->rows;
    for (int done = 0, step; done < n; done += step) {
        step = draw_chance(50) ? 1 : draw(1, n - done);
        int32_t *parents = heap_block((size_t)step * 4, 0), *last = heap_block(4, 0);
        for (int i = 0; i < step; i++) parents[i] = i - 1;
        *last = step - 1;
        rows.rows = step;
        rows.wanted = 1;
        rows.token_ids = heap_copy(ids + done, (size_t)step * 4);
        rows.parents = parents;
        rows.wanted_rows = last;
        give_outputs(&rows, vocab);
        use_some_isa();
        run(of, &alone, of->length + done, &rows);
    }
    check(same_floats(rows.logits, of->rows.logits + (size_t)which * (size_t)vocab, (size_t)vocab),
          "row %d of the tree is not the one decoded alone", path[n - 1]);
    int code = lacli_keep(&of->model, &kept, of->length, n, path);
    check(!code, "keep of %d rows gave %d", n, code);
    for (int i = 0; i < n; i++)
        check(same_slot(of, &alone, of->length + i, &kept, of->length + i), "keys or values of row %d of the path", i);
    check_untouched(of, &kept, of->length, of->length + of->rows.rows);
}

void fuzz_forward(void) {
    setting drawn;
    draw_setting(&drawn);
    lacli_cache cache = run_all(&drawn);
    if (!drawn.weird) check_near(&drawn, &drawn.rows);
    run_shuffled(&drawn, &cache);
    if (drawn.rows.wanted) run_path(&drawn, &cache);
}
