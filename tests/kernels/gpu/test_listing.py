"""Numbers out of listings of machine code."""

from __future__ import annotations

from collections import Counter

from lacli.kernels.triton import listing

TEXT = """
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0020*/               @P1 BRA `(.L_x_0) ;
.L_x_2:
        /*0030*/                   LDGSTS.E.BYPASS.128 [R3], [R4.64] ;
        /*0040*/                   LDG.E.U16 R5, [R6.64] ;
        /*0050*/              @!P2 LDG.E.128.CONSTANT R8, [R6.64] ;
        /*0060*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        /*0070*/               @P0 BRA `(.L_x_2)                          ?trans5;
.L_x_1:
        /*0080*/                   EXIT ;
"""


def test_the_longest_loop_is_what_counts() -> None:
    assert listing.loop(TEXT) == Counter(
        ["LDGSTS.E.BYPASS.128", "LDG.E.U16", "LDG.E.128.CONSTANT", "HMMA.16816.F32.BF16", "BRA"]
    )


def test_code_without_a_loop_has_none() -> None:
    assert not listing.loop("        /*0000*/                   EXIT ;")


def test_the_whole_kernel_is_counted_with_its_predicates() -> None:
    found = listing.instructions(TEXT)
    assert (found["MOV"], found["BRA"], found["EXIT"], found.total()) == (1, 3, 1, 9)


def test_loads_are_told_by_their_width() -> None:
    assert listing.wide_loads(listing.instructions(TEXT)) == 2
    assert listing.count(listing.instructions(TEXT), "LDG.") == 2
