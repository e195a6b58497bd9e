"""Draft sources at the extremes: one that is always right, one that never is."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.drafts.base import Draft


class OracleSource:
    """Proposes the true continuation, as long as there is room: every row is accepted."""

    name = "project"

    def __init__(self, prompt_length: int, reply: Sequence[int]) -> None:
        self._prompt_length, self._reply = prompt_length, tuple(reply)

    def start(self, context: Sequence[int]) -> None: ...

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        guess = self._reply[len(context) - self._prompt_length :][:room]
        return [Draft(guess, (1.0,) * len(guess), self.name)] if guess else []

    def credit(self, draft: Draft, accepted: int) -> None: ...

    def observe(self, token_ids: Sequence[int]) -> None: ...


class LiarSource(OracleSource):
    """Proposes long guesses that turn wrong at their first, second, third ... token, and claims to be sure of them."""

    name = "session"

    def __init__(self, prompt_length: int, reply: Sequence[int], vocab_size: int) -> None:
        super().__init__(prompt_length, reply)
        self._vocab_size = vocab_size

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        truth = [token for draft in super().propose(context, room) for token in draft.token_ids]
        drafts = []
        for right in range(min(3, len(truth))):
            wrong = [(token + 1) % self._vocab_size for token in truth[right:]]
            drafts.append(Draft((*truth[:right], *wrong), (1.0,) * len(truth), self.name))
        return drafts
