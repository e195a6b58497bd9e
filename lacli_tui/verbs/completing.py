"""What is offered for the word that is being typed: looked up behind, shown by the list above the prompt."""

from __future__ import annotations

from textual import on

from lacli_tui.background import Behind, Came
from lacli_tui.suggestions import Begun, Offer, Offers
from lacli_tui.verbs import Verbs
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.offered import Offered
from lacli_tui.widgets.prompt import Prompt

_OFFERS = "offers"


class Completing(Verbs):
    """Of the main screen."""

    _finding: Behind | None = None
    _offers: Offers | None = None

    def on_prompt_begins(self, event: Prompt.Begins) -> None:
        """Something is being typed that may go on."""
        if self._finding is None or self._offers is None:
            self._finding = Behind(self)
            self._offers = Offers(self.begun.folder, sorted(self.app.available_themes))
        offers = self._offers
        begun = event.begun
        self._finding.do(f"{_OFFERS} {begun.source}", lambda: (begun, offers.of(begun)))

    @on(Came)
    def _found(self, came: Came) -> None:
        """What fits; what could not be read fits nothing."""
        if not came.what.startswith(_OFFERS):
            return
        found: tuple[Begun | None, list[Offer]] = (None, [])
        if came.error is None:
            found = came.value  # type: ignore[assignment]  # what was given to `do`
        chips = self.query_one(Chips)
        self.prompt.offer(*found, (chips if chips.display else self.prompt).region.y)

    @on(Offered.Chosen)
    def _clicked(self, event: Offered.Chosen) -> None:
        event.stop()
        self.prompt.take_offer()
        self.prompt.focus()
