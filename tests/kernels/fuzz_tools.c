/* Drawing, guarded heap blocks, comparing: the tools of the fuzz driver. */
#include "fuzz.h"

static uint64_t state;

void draw_seed(uint64_t seed) { state = seed * 0x9E3779B97F4A7C15u + 1; }

uint32_t draw_bits(void) { /* splitmix64 */
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(z >> 32);
}

int draw(int low, int high) { return low + (int)(draw_bits() % (uint32_t)(high - low + 1)); }

int draw_chance(int percent) { return draw(0, 99) < percent; }

float draw_normal(void) { /* the sum of uniform numbers, near enough */
    float sum = -2.0f;
    for (int i = 0; i < 4; i++) sum += (float)(draw_bits() >> 8) * 0x1p-24f;
    return sum * 1.7320508f;
}

uint16_t draw_half(int weird) {
    static const uint16_t odd[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01};
    if (weird && draw_chance(30)) return odd[draw(0, COUNT(odd) - 1)];
    return (uint16_t)((draw_chance(20) ? 0x8000 : 0) | draw(0x3800, 0x3e00));
}

void draw_floats(float *x, int n, int weird) {
    static const float odd[] = {NAN,      INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 1e-45f, -1e-45f, 1.1e-38f,
                                -4.7e-38f, 2e-36f,  1e30f,     -0.0f,   0.0f,   127.0f, 63.5f,   -0.5f};
    float scale = weird && draw_chance(20) ? ldexpf(1.0f, draw(-149, 127)) : 1.0f;
    for (int i = 0; i < n; i++) x[i] = draw_normal() * scale;
    if (!weird) return;
    if (draw_chance(50)) /* whole runs of zeros, to make zero blocks */
        for (int start = draw(0, n), i = start; i < n && i < start + 80; i++) x[i] = 0.0f;
    if (draw_chance(60))
        for (int i = draw(0, 40); i < n; i += draw(1, 200)) x[i] = odd[draw(0, COUNT(odd) - 1)];
    if (draw_chance(30)) /* ties of the rounding to int8 */
        for (int i = 0; i < n; i++) x[i] = (float)draw(-254, 254) * 0.5f;
}

#define MAX_BLOCKS 65536
static void *blocks[MAX_BLOCKS];
static int block_count;

void *heap_block(size_t bytes, size_t offset) {
    void *base = NULL;
    if (block_count == MAX_BLOCKS || posix_memalign(&base, 64, bytes + offset + !(bytes + offset))) abort();
    blocks[block_count++] = base;
    memset(base, 0xff, bytes + offset); /* NaN as float32, bfloat16 and float16 */
    return (char *)base + offset;
}

void *heap_copy(const void *data, size_t bytes) {
    void *copy = heap_block(bytes, 0);
    if (bytes) memcpy(copy, data, bytes);
    return copy;
}

void heap_release(void) {
    while (block_count) free(blocks[--block_count]);
}

int same_floats(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof(float)) && !(isnan(a[i]) && isnan(b[i]))) return 0;
    return 1;
}
