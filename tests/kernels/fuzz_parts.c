/* Fuzzes lacli_forward over several sequences: each row has the bits it has where its sequence runs alone.
 *
 * The sequences of a case share a model only: lengths, trees, kinds and sizes of their caches differ, and slots without
 * a position hold NaN, so a row that read another one's cache would show.
 */
#include "fuzz.h"

#define MAX_PARTS 6

typedef struct {
    setting each[MAX_PARTS];
    lacli_cache caches[MAX_PARTS]; /* copies, for the common forward */
    lacli_part parts[MAX_PARTS];
    lacli_rows rows;
    int32_t *token_ids, *parents, *wanted;
    int count;
} together;

/* All rows in one list, part by part; the table is as long as the last position asks for. */
static void join(together *of) {
    int rows = 0, wanted = 0, positions = 0;
    for (int i = 0; i < of->count; i++) rows += of->each[i].rows.rows, wanted += of->each[i].rows.wanted;
    of->token_ids = heap_block((size_t)rows * 4, 0);
    of->parents = heap_block((size_t)rows * 4, 0);
    of->wanted = heap_block((size_t)wanted * 4, 0);
    rows = wanted = 0;
    for (int i = 0; i < of->count; i++) {
        setting *one = &of->each[i];
        of->caches[i] = cache_copy(one);
        of->parts[i] = (lacli_part){&of->caches[i], one->length, one->rows.rows};
        for (int row = 0; row < one->rows.rows; row++) {
            int end = one->length + one->depths[row] + 1, parent = one->parents[row];
            positions = end > positions ? end : positions;
            of->token_ids[rows + row] = one->token_ids[row];
            of->parents[rows + row] = parent < 0 ? parent : rows + parent;
        }
        for (int row = 0; row < one->rows.wanted; row++) of->wanted[wanted++] = rows + one->wanted[row];
        rows += one->rows.rows;
    }
    of->rows = (lacli_rows){.rows = rows, .wanted = wanted, .token_ids = of->token_ids, .parents = of->parents,
                            .wanted_rows = of->wanted};
    give_table(&of->rows, positions, of->each[0].model.head_dim / 2);
    give_outputs(&of->rows, of->each[0].model.vocab);
}

static void check_alone(const together *of, int which, int first_wanted) {
    const setting *one = &of->each[which];
    size_t vocab = (size_t)one->model.vocab, wanted = (size_t)one->rows.wanted, first = (size_t)first_wanted;
    lacli_cache alone = cache_copy(one);
    use_some_isa();
    int code = forward_one(one, &alone, one->length, &one->rows);
    check(!code, "a sequence alone gave %d", code);
    check(same_floats(one->rows.logits, of->rows.logits + first * vocab, wanted * vocab),
          "sequence %d of %d has other logits than alone", which, of->count);
    check(!memcmp(one->rows.top_ids, of->rows.top_ids + first * LACLI_TOP, wanted * LACLI_TOP * 4),
          "sequence %d of %d has other top ids than alone", which, of->count);
    check_untouched(one, &of->caches[which], one->length, one->length + one->rows.rows);
    for (int slot = one->length; slot < one->length + one->rows.rows; slot++)
        check(same_slot(one, &alone, slot, &of->caches[which], slot), "sequence %d: other keys or values of slot %d",
              which, slot);
}

/* One thing wrong about the parts is refused, and nothing is written. */
static void refuse(const together *of) {
    together wrong = *of;
    int which = draw(0, of->count - 1), count = of->count, expected = LACLI_E_SHAPE, first = 0;
    for (int i = 0; i < which; i++) first += of->parts[i].rows;
    lacli_cache cache = of->caches[which];
    lacli_part *part = &wrong.parts[which];
    part->cache = &cache;
    switch (draw(0, 6)) {
    case 0: count = draw_chance(50) ? 0 : -1; break;
    case 1: count--; break;
    case 2: part->rows += draw_chance(50) ? 1 : -1; break;
    case 3: part->rows = draw_chance(50) ? -part->rows : INT32_MAX; break;
    case 4: part->length = draw_chance(50) ? -1 : cache.capacity - part->rows + 1; break;
    case 5: cache.kind = LACLI_Q8, expected = LACLI_E_KIND; break;
    default: /* a parent in another sequence, or behind the row */
        wrong.parents[first] = which && draw_chance(50) ? first - 1 : first;
        expected = LACLI_E_ID;
        break;
    }
    int code = lacli_forward(some_threads(), &of->each[0].model, wrong.parts, count, &wrong.rows);
    check(code == expected, "a wrong part gave %d, not %d", code, expected);
    for (int i = 0; i < of->count; i++) check_untouched(&of->each[i], &of->caches[i], 0, 0);
}

void fuzz_parts(void) {
    together of = {.count = draw(2, MAX_PARTS)};
    draw_setting(&of.each[0]);
    for (int i = 1; i < of.count; i++) draw_sequence(&of.each[i], &of.each[0]);
    join(&of);
    if (draw_chance(20)) {
        refuse(&of);
        return;
    }
    use_some_isa();
    enter_some_float_mode();
    int code = lacli_forward(some_threads(), &of.each[0].model, of.parts, of.count, &of.rows), first_wanted = 0;
    leave_float_mode();
    check(!code, "a forward of %d sequences gave %d", of.count, code);
    for (int i = 0; i < of.count; i++) {
        check_alone(&of, i, first_wanted);
        first_wanted += of.each[i].rows.wanted;
    }
}
