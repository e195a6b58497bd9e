/* float16 in plain C, exactly as the hardware converts it: for the sets without instructions and for single numbers. */
#ifndef LACLI_HALF_H
#define LACLI_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t lacli_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float lacli_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float lacli_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = (uint32_t)(half & 0x7fff) << 13;
    if (magnitude >= 0x0f800000) { /* infinity or NaN, made quiet */
        magnitude += (uint32_t)(255 - 31) << 23;
        return lacli_bits_float(sign | magnitude | (magnitude > 0x7f800000 ? 0x400000 : 0));
    }
    return lacli_bits_float(sign | lacli_float_bits(lacli_bits_float(magnitude) * 0x1p112f));
}

/* Rounded to nearest, ties to even; beyond 65504 infinite. */
static inline uint16_t lacli_float_to_half(float value)
{
    uint32_t bits = lacli_float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude >= 0x47800000) /* 65536 */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* subnormal: adding a half lets the hardware round at the right bit */
        uint32_t rounded = lacli_float_bits(lacli_bits_float(magnitude) + 0.5f);
        return (uint16_t)(sign | (rounded - 0x3f000000));
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
}

#endif
