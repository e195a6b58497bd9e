"""How often guesses of a class come true, learned from what became of them."""

from __future__ import annotations

import random

import pytest

from lacli.drafts.calibration import Calibration


def made() -> Calibration:
    return Calibration([0.3, 0.6], [0.5, 0.8])


class TestCalibration:
    def test_starts_from_its_priors(self) -> None:
        assert made().chances(0, 3) == pytest.approx((0.3, 0.15, 0.075))
        assert made().chances(1, 2) == pytest.approx((0.6, 0.48))
        assert made().chances(1, 0) == ()

    def test_comes_to_what_really_happens(self) -> None:
        calibration, generator = made(), random.Random(0)
        for _ in range(1500):
            # A first token that is right nine times in ten, a second that is right one time in four.
            accepted = 0 if generator.random() > 0.9 else 1 if generator.random() > 0.25 else 2
            calibration.learn(0, accepted, min(accepted + 1, 2))
        first, second = calibration.chances(0, 2)
        assert first == pytest.approx(0.9, abs=0.12)
        assert second / first == pytest.approx(0.25, abs=0.15)

    def test_a_few_guesses_move_it_the_right_way(self) -> None:
        better, worse = made(), made()
        for _ in range(5):
            better.learn(0, 1, 1)
            worse.learn(0, 0, 1)
        assert worse.chances(0, 1) < made().chances(0, 1) < better.chances(0, 1)

    def test_only_what_the_text_has_judged_counts(self) -> None:
        calibration = made()
        calibration.learn(0, 1, 1)
        rest = [
            later / earlier
            for earlier, later in zip(calibration.chances(0, 5), calibration.chances(0, 5)[1:], strict=False)
        ]
        assert rest == pytest.approx([0.5] * 4)

    def test_classes_learn_apart(self) -> None:
        calibration = made()
        for _ in range(20):
            calibration.learn(0, 0, 1)
        assert calibration.chances(1, 3) == made().chances(1, 3)

    def test_another_process_takes_up_where_this_one_ends(self) -> None:
        calibration, other = made(), made()
        for _ in range(9):
            calibration.learn(1, 1, 3)
        other.restore(calibration.numbers())
        assert other.chances(1, 4) == calibration.chances(1, 4) != made().chances(1, 4)

    def test_numbers_of_another_shape_are_ignored(self) -> None:
        for numbers in ([], [0.5] * 7, [-1.0] * 24, [float("nan")] * 24, [float("inf")] * 24):
            calibration = made()
            calibration.restore(numbers)
            assert calibration.chances(1, 4) == made().chances(1, 4)

    def test_no_prefix_is_ever_likelier_than_a_shorter_one(self) -> None:
        calibration, generator = made(), random.Random(1)
        for _ in range(500):
            judged = generator.randrange(12)
            calibration.learn(generator.randrange(2), generator.randrange(judged + 1), judged)
            for key in (0, 1):
                chances = calibration.chances(key, 40)
                assert list(chances) == sorted(chances, reverse=True)
                assert 0 <= chances[-1] <= chances[0] <= 1
