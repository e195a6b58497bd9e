"""The Triton kernels of y = x W^T for few rows, one for each way weights are stored, and the sums they need.

Lives here: device code. May not: choose configurations, allocate, know models. Imported only where Triton is.

All multiply the same way. A program computes BN outputs for all rows, over one share of the columns. Weights are
the left operand of the tensor cores, 16 (on Hopper 64) of them side by side, so that few rows fill the narrow side, a
multiple of 8. They are decoded in registers to small integers or table entries that bfloat16 holds exactly; scales are
float32 and multiply the float32 sums of a block afterwards. So nothing is rounded but sums, and the order of those is
fixed by the columns and the number of shares alone: neither tile, warps nor other rows change a row's bits
(docs/gpu-kernels.md says what that takes for granted).

`OPERAND` is what the tensor cores multiply: bfloat16; float32 in Triton's interpreter, whose `dot` reads bfloat16 as
integers. The products are the same, since two bfloat16 multiply exactly in float32.
"""

from __future__ import annotations

import triton
import triton.language as tl

TILE = tl.constexpr(128)
"""Columns a step of a program reads; a share of the columns is a number of tiles."""
_SIZES = ["M", "tiles", "share", "shares"]
"""What must not give a kernel of its own where it is 1 or a multiple of 16."""
_SMALL = tl.constexpr(2.0**-22)
"""What one is after `_integer`: the least denormal, 2^-149, times 2^127."""


@triton.jit
def _integer(word, FIRST: tl.constexpr, BITS: tl.constexpr):
    """The unsigned field of BITS bits at bit FIRST of a word, less half its range, times 2^-22, exactly.

    The field is read where it stands, as a denormal float32. An `and` and a fused multiply-add: a shift, and the
    conversion instruction with a quarter of their rate, are saved. FIRST + BITS may be at most 23.
    """
    bits = word & (((1 << BITS) - 1) << FIRST)
    return bits.to(tl.float32, bitcast=True) * (2.0 ** (127 - FIRST)) - 2.0 ** (BITS - 1 - 22)


@triton.jit
def _rows_and_tiles(N, M, tiles, share, BN: tl.constexpr, BM: tl.constexpr):
    """Outputs and rows of a program, those past the end repeating the last, and its tiles [first, last)."""
    outputs = tl.minimum(tl.program_id(0) * BN + tl.arange(0, BN), N - 1)
    rows = tl.minimum(tl.arange(0, BM), M - 1)
    first = tl.program_id(1) * share
    return outputs, rows, first, tl.minimum(first + share, tiles)


@triton.jit
def _columns(x, rows, K, first, COUNT: tl.constexpr, EVEN: tl.constexpr):
    """Columns [first, first + COUNT) of x as [COUNT, BM]; zeros past the end."""
    columns = first + tl.arange(0, COUNT)
    places = x + rows[:, None] * K + columns[None, :]
    if EVEN:
        return tl.trans(tl.load(places))
    return tl.trans(tl.load(places, mask=(columns < K)[None, :], other=0.0))


@triton.jit
def _words(row, first, words, COUNT: tl.constexpr, EVEN: tl.constexpr):
    """Words [first, first + COUNT) of each output; zeros past the end."""
    columns = first + tl.arange(0, COUNT)
    if EVEN:
        return tl.load(row + columns[None, :])
    return tl.load(row + columns[None, :], mask=(columns < words)[None, :], other=0)


@triton.jit
def _store(y, result, M, N, BN: tl.constexpr, BM: tl.constexpr):
    """result [BN, BM] into this share's part of y [shares, M, N]."""
    outputs = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.arange(0, BM)
    places = y + (tl.program_id(1) * M + rows)[None, :] * N + outputs[:, None]
    tl.store(places, result.to(y.dtype.element_ty), mask=(rows < M)[None, :] & (outputs < N)[:, None])


@triton.jit
def _quarters(values):
    """[BN, 4] as four [BN]."""
    even, odd = tl.split(tl.reshape(values, (values.shape[0], 2, 2)))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def _two_bfloats(entries, OPERAND: tl.constexpr):
    """Upper and lower half of 32 bits, each the bits of a bfloat16."""
    upper = (entries >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    lower = (entries & 0xFFFF).to(tl.int16).to(tl.bfloat16, bitcast=True)
    return upper.to(OPERAND), lower.to(OPERAND)


@triton.jit(do_not_specialize=_SIZES)
def nf4(
    x, words, scales, table, y, M, N, K, tiles, share,
    BN: tl.constexpr, BM: tl.constexpr, STAGES: tl.constexpr, TERMS: tl.constexpr, EVEN: tl.constexpr,
    OPERAND: tl.constexpr,
):  # fmt: skip
    """Words of eight codes as bitsandbytes packs them: of each byte, the upper half is the even column.

    scales: float32 [N, 2 tiles], of blocks of 64. table: int32 [16], an entry two bfloat16 whose sum is a code's value;
    with TERMS 1 the lower ones are zero and left out.
    """
    outputs, rows, first, last = _rows_and_tiles(N, M, tiles, share, BN, BM)
    sums = tl.zeros((BN, BM), tl.float32)
    entries = tl.load(table + tl.arange(0, 16))
    row_words = K // 64 * 8  # the compiler sees that rows begin at multiples of 16 bytes
    row = words + outputs[:, None] * row_words
    scale_row = scales + outputs[:, None] * (tiles * 2) + tl.arange(0, 2)[None, :]
    for tile in tl.range(first, last, num_stages=STAGES):
        factors = tl.split(tl.load(scale_row + tile * 2))
        for block in tl.static_range(2):
            activations = _columns(x, rows, K, tile * TILE + block * 64, 64, EVEN).to(OPERAND)
            word = _words(row, tile * 16 + block * 8, row_words, 8, EVEN)
            even = tl.join(tl.join(word >> 4, word >> 20), tl.join(word >> 12, word >> 28))
            odd = tl.join(tl.join(word, word >> 16), tl.join(word >> 8, word >> 24))
            codes = tl.reshape(tl.join(even, odd) & 15, (BN * 64,))
            upper, lower = _two_bfloats(tl.reshape(tl.gather(entries, codes, 0), (BN, 64)), OPERAND)
            part = tl.dot(upper, activations)
            if TERMS == 2:
                part = tl.dot(lower, activations, part)
            sums += part * factors[block][:, None]
    _store(y, sums, M, N, BN, BM)


@triton.jit
def _nibbles(word, number: tl.constexpr, OPERAND: tl.constexpr):
    """Nibble `number` of each word, less 8, as `_integer` gives it."""
    values = _integer(word, 4 * number, 4) if number < 5 else _integer(word >> 12, 4 * number - 12, 4)
    return values.to(OPERAND)


@triton.jit(do_not_specialize=_SIZES)
def add_blocks(x, totals, M, K, BM: tl.constexpr):
    """totals [blocks, BM] = the sums of x [M, K] over blocks of 32 columns; rows past the end repeat the last.

    A program takes 8 rows whatever BM is: the order of such a sum depends on how its threads share the tile.
    """
    block = tl.program_id(0)
    rows = tl.program_id(1) * 8 + tl.arange(0, 8)
    columns = block * 32 + tl.arange(0, 32)
    places = x + tl.minimum(rows, M - 1)[:, None] * K + columns[None, :]
    values = tl.load(places, mask=(columns < K)[None, :], other=0.0).to(tl.float32)
    tl.store(totals + block * BM + rows, tl.sum(values, axis=1))


@triton.jit(do_not_specialize=_SIZES)
def int4(
    x, words, scales, minima, totals, y, M, N, K, tiles, share,
    BN: tl.constexpr, BM: tl.constexpr, STAGES: tl.constexpr, MINIMA: tl.constexpr, EVEN: tl.constexpr,
    OPERAND: tl.constexpr,
):  # fmt: skip
    """Blocks of 32 as `weights.from_blocks` lays them out: nibble n of word i of a tile is column 16 n + i of the tile.

    scales, minima: float16 [N, 4 tiles]. Without MINIMA a weight is scale * (nibble - 8), with them
    scale * nibble + minimum; totals are then what `add_blocks` makes.
    """
    outputs, rows, first, last = _rows_and_tiles(N, M, tiles, share, BN, BM)
    sums = tl.zeros((BN, BM), tl.float32)
    row = words + outputs[:, None] * (tiles * 16)
    factor_places = outputs[:, None] * (tiles * 4) + tl.arange(0, 4)[None, :]
    total_places = totals + tl.arange(0, 4)[:, None] * BM + tl.arange(0, BM)[None, :]
    for tile in tl.range(first, last, num_stages=STAGES):
        word = tl.load(row + (tile * 16 + tl.arange(0, 16))[None, :])
        factors = _quarters(tl.load(scales + factor_places + tile * 4))
        if MINIMA:
            least = _quarters(tl.load(minima + factor_places + tile * 4))
            added = _quarters(tl.trans(tl.load(total_places + tile * (4 * BM))))
        for block in tl.static_range(4):
            lower = _columns(x, rows, K, tile * TILE + block * 32, 16, EVEN).to(OPERAND)
            upper = _columns(x, rows, K, tile * TILE + block * 32 + 16, 16, EVEN).to(OPERAND)
            scale = factors[block].to(tl.float32)
            part = tl.dot(_nibbles(word, 2 * block, OPERAND), lower)
            part = tl.dot(_nibbles(word, 2 * block + 1, OPERAND), upper, part)
            sums += part * (scale / _SMALL)[:, None]
            if MINIMA:
                sums += (least[block].to(tl.float32) + 8.0 * scale)[:, None] * added[block][None, :]
    _store(y, sums, M, N, BN, BM)


@triton.jit
def _bytes(word, BN: tl.constexpr, OPERAND: tl.constexpr):
    """[BN, words] as [BN, 4 words]: the int8 of each, as `_integer` gives them."""
    word = word ^ -0x7F7F7F80  # counted from 0 on instead of from -128
    even = tl.join(_integer(word, 0, 8), _integer(word >> 16, 0, 8))
    odd = tl.join(_integer(word, 8, 8), _integer(word >> 16, 8, 8))
    return tl.reshape(tl.join(even, odd), (BN, word.shape[1] * 4)).to(OPERAND)


@triton.jit(do_not_specialize=_SIZES)
def int8(
    x, words, scales, y, M, N, K, tiles, share,
    BN: tl.constexpr, BM: tl.constexpr, STAGES: tl.constexpr, EVEN: tl.constexpr, OPERAND: tl.constexpr,
):  # fmt: skip
    """Words of four int8 in the order of their columns; scales: float32 [N]."""
    outputs, rows, first, last = _rows_and_tiles(N, M, tiles, share, BN, BM)
    sums = tl.zeros((BN, BM), tl.float32)
    row_words = K // 16 * 4
    row = words + outputs[:, None] * row_words
    for tile in tl.range(first, last, num_stages=STAGES):
        for half in tl.static_range(2):
            activations = _columns(x, rows, K, tile * TILE + half * 64, 64, EVEN).to(OPERAND)
            word = _words(row, tile * 32 + half * 16, row_words, 16, EVEN)
            sums = tl.dot(_bytes(word, BN, OPERAND), activations, sums)
    _store(y, sums * (tl.load(scales + outputs) / _SMALL)[:, None], M, N, BN, BM)


@triton.jit(do_not_specialize=_SIZES)
def int8_blocks(
    x, words, scales, minima, totals, y, M, N, K, tiles, share,
    BN: tl.constexpr, BM: tl.constexpr, STAGES: tl.constexpr, MINIMA: tl.constexpr, EVEN: tl.constexpr,
    OPERAND: tl.constexpr,
):  # fmt: skip
    """Words of four int8 in the order of their columns, [N, 32 tiles]; the rest as for `int4`."""
    outputs, rows, first, last = _rows_and_tiles(N, M, tiles, share, BN, BM)
    sums = tl.zeros((BN, BM), tl.float32)
    row = words + outputs[:, None] * (tiles * 32)
    factor_places = outputs[:, None] * (tiles * 4) + tl.arange(0, 4)[None, :]
    total_places = totals + tl.arange(0, 4)[:, None] * BM + tl.arange(0, BM)[None, :]
    for tile in tl.range(first, last, num_stages=STAGES):
        factors = _quarters(tl.load(scales + factor_places + tile * 4))
        if MINIMA:
            least = _quarters(tl.load(minima + factor_places + tile * 4))
            added = _quarters(tl.trans(tl.load(total_places + tile * (4 * BM))))
        for block in tl.static_range(4):
            activations = _columns(x, rows, K, tile * TILE + block * 32, 32, EVEN).to(OPERAND)
            word = tl.load(row + (tile * 32 + block * 8 + tl.arange(0, 8))[None, :])
            part = tl.dot(_bytes(word, BN, OPERAND), activations)
            sums += part * (factors[block].to(tl.float32) / _SMALL)[:, None]
            if MINIMA:
                sums += least[block].to(tl.float32)[:, None] * added[block][None, :]
    _store(y, sums, M, N, BN, BM)


@triton.jit(do_not_specialize=_SIZES)
def add_shares(parts, y, count, shares, BLOCK: tl.constexpr):
    """y [count] = parts [shares, count] added in their order."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    total = tl.load(parts + places, mask=inside)
    for share in range(1, shares):
        total += tl.load(parts + share * count + places, mask=inside)
    tl.store(y + places, total.to(y.dtype.element_ty), mask=inside)
