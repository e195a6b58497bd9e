"""A cancellation that calls those who have subscribed."""

from __future__ import annotations

from lacli.assistant.cancel import CancelToken


def test_tells_whoever_asks() -> None:
    token = CancelToken()
    assert not token()
    token.cancel()
    assert token()


def test_calls_every_subscriber() -> None:
    token, called = CancelToken(), list[str]()
    with token.subscribed(lambda: called.append("a")), token.subscribed(lambda: called.append("b")):
        assert not called
        token.cancel()
    assert called == ["a", "b"]


def test_calls_one_who_comes_too_late_at_once() -> None:
    token, called = CancelToken(), list[str]()
    token.cancel()
    with token.subscribed(lambda: called.append("a")):
        assert called == ["a"]


def test_calls_nobody_whose_block_has_ended() -> None:
    token, called = CancelToken(), list[str]()
    with token.subscribed(lambda: called.append("a")):
        pass
    token.cancel()
    assert not called
