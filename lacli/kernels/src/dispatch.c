/* The tables of the instruction sets, and which of them is in use: the best that this machine has. */
#include <string.h>

#include "isa.h"

#if LACLI_X86
#include <cpuid.h>
#elif LACLI_ARM && defined(__linux__)
#include <sys/auxv.h>
#endif

#define TABLE(set, title, test)                                                                         \
    {                                                                                                   \
        .name = title, .supported = test, .matmul = lacli_matmul_##set, .quantise = lacli_quantise_##set, \
        .rms_norm = lacli_rms_norm_##set, .silu_mul = lacli_silu_mul_##set, .rotate = lacli_rotate_##set, \
        .scores = lacli_scores_##set, .softmax = lacli_softmax_##set, .mix = lacli_mix_##set,           \
        .store = lacli_store_##set, .top = lacli_top_##set, .read = lacli_read_##set,                   \
    }

static int always(void)
{
    return 1;
}

#if LACLI_X86
/* Whether the processor's answer to this number has all `bits` in ECX, or in EBX. The compiler's __builtin_cpu_supports
 * does not know "f16c" where it is old, and knows nothing at all in a library that zig links. */
static int has_bits(unsigned number, int is_ecx, unsigned bits)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(number, 0, &eax, &ebx, &ecx, &edx) && ((is_ecx ? ecx : ebx) & bits) == bits;
}

/* Whether the system keeps these registers of a thread while another one runs. */
static int are_kept(unsigned registers)
{
    unsigned low, high;
    if (!has_bits(1, 1, bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & registers) == registers;
}

static int has_avx2(void)
{
    return are_kept(0x06) && has_bits(1, 1, bit_AVX | bit_FMA | bit_F16C) &&
           has_bits(7, 0, bit_AVX2 | bit_BMI | bit_BMI2);
}

static int has_avx512(void)
{
#if !defined(__APPLE__) /* macOS begins to keep them when a thread first uses them */
    if (!are_kept(0xe6))
        return 0;
#endif
    return has_avx2() && has_bits(7, 0, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
           has_bits(7, 1, bit_AVX512VNNI);
}
#endif

#if LACLI_ARM
static int has_dot_product(void)
{
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & (1UL << 20)) != 0; /* HWCAP_ASIMDDP */
#elif defined(__APPLE__)
    return 1; /* every processor of Apple's that runs macOS */
#elif defined(__ARM_FEATURE_DOTPROD)
    return 1;
#else
    return 0;
#endif
}
#endif

/* Best first; the last one runs everywhere. */
static const lacli_ops sets[] = {
#if LACLI_X86
    TABLE(avx512, "avx512-vnni", has_avx512),
    TABLE(avx2, "avx2", has_avx2),
#endif
#if LACLI_ARM
    TABLE(neon, "neon-dot", has_dot_product),
#endif
    TABLE(portable, "portable", always),
};

#define SETS ((int)(sizeof sets / sizeof *sets))

const lacli_ops *lacli_active = &sets[SETS - 1];

__attribute__((constructor)) static void choose(void)
{
    for (int i = 0; i < SETS; i++)
        if (sets[i].supported()) {
            lacli_active = &sets[i];
            return;
        }
}

int lacli_abi(void)
{
    return LACLI_ABI;
}

const char *lacli_isa(void)
{
    return lacli_active->name;
}

int lacli_set_isa(const char *name)
{
    for (int i = 0; i < SETS; i++)
        if (!strcmp(sets[i].name, name) && sets[i].supported()) {
            lacli_active = &sets[i];
            return 0;
        }
    return LACLI_E_KIND;
}
