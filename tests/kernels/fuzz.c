/* Fuzzes the C library through lacli.h: `fuzz [first seed] [cases]`, deterministic by seed.
 *
 * Compiled by test_fuzz.py together with the library's own files, under AddressSanitizer and UBSan. Each case draws
 * from a seed of its own, printed when it fails, so `fuzz SEED 1` repeats it alone. The cases are in fuzz_matmul.c,
 * fuzz_forward.c, fuzz_parts.c and fuzz_errors.c; the plain references they compare with in fuzz_reference*.c.
 */
#include <fenv.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "fuzz.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define SECONDS_PER_CASE 60 /* a case takes milliseconds; one that takes this long waits for ever */

static unsigned long long seed;
static const char *const known_isas[] = {"portable", "avx2", "avx512-vnni", "neon-dot"};
const char *isa_names[COUNT(known_isas)];
int isa_count;
static lacli_threads *pools[MAX_THREADS];

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nseed %llu\n", seed);
    _exit(1);
}

static void tell_seed(void) {
    char line[64];
    int n = snprintf(line, sizeof line, "seed %llu\n", seed);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) _exit(1);
}

static void on_signal(int signal_number) { /* a case that waits for ever, or what UBSan found */
    tell_seed();
    _exit(signal_number);
}

const char *__ubsan_default_options(void); /* read by the sanitizer's start */
const char *__ubsan_default_options(void) { return "print_stacktrace=1:abort_on_error=1"; }

void use_some_isa(void) { lacli_set_isa(isa_names[draw(0, isa_count - 1)]); }

lacli_threads *some_threads(void) { return pools[draw(0, MAX_THREADS - 1)]; }

static int float_mode;

void enter_some_float_mode(void) {
    float_mode = draw_chance(80) ? FE_TONEAREST : FE_UPWARD;
    fesetround(float_mode);
}

void leave_float_mode(void) {
    int left = fegetround();
    fesetround(FE_TONEAREST);
    check(left == float_mode, "a call leaves float mode %d, not %d", left, float_mode);
}

static void find_isas(void) {
    const char *best = lacli_isa();
    for (int i = 0; i < COUNT(known_isas); i++)
        if (lacli_set_isa(known_isas[i]) == 0) {
            check(!strcmp(lacli_isa(), known_isas[i]), "set_isa %s uses %s", known_isas[i], lacli_isa());
            isa_names[isa_count++] = known_isas[i];
        }
    check(isa_count && !strcmp(isa_names[0], "portable"), "no portable instruction set");
    check(lacli_set_isa(best) == 0, "the first instruction set, %s, cannot be set", best);
    check(lacli_set_isa("nonsense") == LACLI_E_KIND && !strcmp(lacli_isa(), best), "set_isa of nonsense");
}

static void renew_pool(void) { /* pools come and go; their work space is a new one, too small for the next case */
    int at = draw(0, MAX_THREADS - 1);
    lacli_threads_free(pools[at]);
    pools[at] = lacli_threads_new(at + 1);
    check(pools[at] != NULL, "no pool of %d threads", at + 1);
}

static void fuzz_read(void) { /* any bytes at any alignment */
    size_t bytes = (size_t)draw(0, 5000), offset = (size_t)draw(0, 63);
    void *data = heap_block(bytes, offset);
    use_some_isa();
    lacli_threads *threads = some_threads();
    check(lacli_read(threads, data, bytes) == lacli_read(threads, data, bytes), "two reads differ");
}

static void run_case(void) {
    int which = draw(0, 99);
    if (which < 2) renew_pool();
    if (which < 4) fuzz_read();
    else if (which < 50) fuzz_matmul();
    else if (which < 60) fuzz_matmul_errors();
    else if (which < 76) fuzz_forward();
    else if (which < 82) fuzz_parts();
    else if (which < 94) fuzz_forward_errors();
    else fuzz_keep_errors();
}

int main(int argc, char **argv) {
    unsigned long long first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long long cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(tell_seed);
#endif
    check(lacli_abi() == LACLI_ABI, "abi %d, header %d", lacli_abi(), LACLI_ABI);
    find_isas();
    for (int i = 0; i < MAX_THREADS; i++) pools[i] = lacli_threads_new(i + 1);
    for (seed = first; seed < first + cases; seed++) {
        alarm(SECONDS_PER_CASE);
        draw_seed(seed);
        run_case();
        heap_release();
    }
    for (int i = 0; i < MAX_THREADS; i++) lacli_threads_free(pools[i]);
    printf("%llu cases from seed %llu:", cases, first);
    for (int i = 0; i < isa_count; i++) printf(" %s", isa_names[i]);
    printf("\n");
    return 0;
}
