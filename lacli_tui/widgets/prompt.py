"""Where questions are typed: handles bursts of keys and pastes, sends the draft, and completes words.

A terminal without bracketed paste sends a paste key by key, with enter as line end. So keys that come faster than
anybody types are put together, and an enter with more keys right behind it is a line end and sends nothing. Keys are
timed by their own time stamps, however late they are handled.

While a word is typed, `SuggestionsWanted` asks for what fits, `suggest` answers, and the list above the prompt shows
it. Every key but those of the list still goes into the draft.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from lacli.chat.suggestions import Partial, Suggestion, partial
from lacli_tui.actions import SLASH_WORDS
from lacli_tui.keys import keys_of
from lacli_tui.messages import QuestionSent
from lacli_tui.sanitize import clean_paste
from lacli_tui.terminal import UnmarkedPaste
from lacli_tui.textual_private import replace_as_typed, restart_blink
from lacli_tui.widgets.draft import Draft
from lacli_tui.widgets.suggestion_list import SuggestionList

_BURST_S = 0.012
"""Keys closer together than this are not typed by hand."""
_HEELS_S = 0.03
"""How long an enter waits for what may follow it."""
_LOOKING_S = 0.3
"""How long an enter or a tab waits for suggestions."""
_TEXT = {"enter": "\n", "tab": "\t"}


class Prompt(Draft):
    class Clear(Message, bubble=False):
        """Clear the draft; if there is none, say how to quit."""

    class SuggestionsWanted(Message):
        """A word is being typed that may be completed."""

        def __init__(self, partial: Partial) -> None:
            super().__init__()
            self.partial = partial

    def __init__(self, suggestion_list: SuggestionList, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("Ask about your code; @ attaches a file, / is a command, f1 helps", id)
        self._list = suggestion_list
        self._burst: list[str] = []
        self._pouring: Timer | None = None
        self._last_key = 0.0
        self._held = ""
        """An enter or a tab that waits for what may follow it."""
        self._held_at = 0.0
        self._held_for_list = False
        """Whether nothing followed it, and it only waits for suggestions."""
        self._holding = 0
        self._many = False
        """Whether line ends came in this burst: then its last enter does not send, either."""
        self._looked: Partial | None = None
        """The word that suggestions were asked for last."""
        self._looked_in = ""
        """The draft at that time, or one for which nothing is looked up, as it was put here and not typed."""
        self._looks = False
        """Whether the suggestions are still to come."""
        self._hidden: tuple[str, int, int] | None = None
        """The word whose list was hidden."""

    def _load(self, text: str) -> None:
        super()._load(text)
        self._no_word()

    def give_back(self, text: str) -> None:
        """Make a question that could not be sent the draft again, before what was typed meanwhile."""
        self.put("\n\n".join(filter(str.strip, (text, self.text))))

    async def on_key(self, event: events.Key) -> None:
        """Text goes into the draft; every other key is a binding."""
        event.prevent_default()
        restart_blink(self)
        if self._held and event.time - self._held_at > _HEELS_S:  # it came later, if we are late as well
            self._release(self._holding, at_once=True)
        in_burst = event.time - self._last_key < _BURST_S
        self._last_key = event.time
        text = _TEXT.get(event.key, event.character if event.is_printable else None)
        if self._held and text is not None:  # an enter or a tab, with this at its heels
            self._burst.append(_TEXT[self._held])
            self._held = ""
            self._many = in_burst = True
        self._many = self._many and in_burst
        if self._many and (text is not None or event.key == "escape"):
            event.stop()
            self._pour_soon(text or "")
        elif event.key == "tab" or event.key in keys_of("send", self.app):
            event.stop()
            self._hold(event)
        elif self._list.is_open and self._is_of_list(event.key):
            event.stop()
        elif event.key in keys_of("newline", self.app):  # here and now: as a binding it would come behind later keys
            event.stop()
            self.action_newline()
        elif text is not None:
            event.stop()
            if in_burst:
                self._pour_soon(text)
            else:
                self._pour()
                self._write(text)
        else:
            if self._held in keys_of("send", self.app):
                self._release(self._holding, at_once=True)
            self._pour()
            await self.act_on(event)

    async def on_paste(self, event: events.Paste) -> None:
        """A paste is one change of the draft, whatever is in it."""
        event.prevent_default()
        event.stop()
        if isinstance(event, UnmarkedPaste):
            self._take_unmarked_paste(event)
            return
        self._pour()
        self._write(clean_paste(event.text), typed=False)

    def _take_unmarked_paste(self, event: UnmarkedPaste) -> None:
        """Treat it as the keys it stands for: what came just before and comes just behind belongs to it."""
        if self._held and event.time - self._held_at > _HEELS_S:
            self._release(self._holding, at_once=True)
        if self._held:
            self._burst.append(_TEXT[self._held])
            self._held = ""
        self._last_key = event.time
        self._many = True
        self._pour_soon(clean_paste(event.text))

    def _is_of_list(self, key: str) -> bool:
        """Whether this is a key of the list; carries it out."""
        if key in keys_of("offer-take", self.app):
            self.take_suggestion()
        elif key in keys_of("offer-up", self.app):
            self._list.turn(-1)
        elif key in keys_of("offer-down", self.app):
            self._list.turn(1)
        elif key in keys_of("offer-hide", self.app):
            self._hidden = self._looked.place if self._looked is not None else None
            self._list.close()
        else:
            return False
        return True

    def _pour_soon(self, character: str) -> None:
        self._burst.append(character)
        if self._pouring is None:
            self._pouring = self.set_timer(_HEELS_S, self._pour)

    def _pour(self) -> None:
        """Put a burst of keys into the draft."""
        if self._pouring is not None:
            self._pouring.stop()
            self._pouring = None
        if self._burst:
            text = "".join(self._burst)
            self._burst.clear()
            self._write(text, typed=not self._many)

    def _write(self, text: str, typed: bool = True) -> None:
        replace_as_typed(self, text, *self.selection)
        if not typed:
            self._no_word()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._fit()
        self._look()

    def on_text_area_selection_changed(self) -> None:
        """Another word has another list, or none."""
        if self._list.is_open and self.text == self._looked_in and self._partial != self._looked:
            self._no_word()

    def on_blur(self) -> None:
        self._no_word()

    # The word at the cursor

    @property
    def _partial(self) -> Partial | None:
        start, end = self.selection
        return partial(self.document.lines, *end, SLASH_WORDS) if start == end else None

    def _no_word(self) -> None:
        """Look nothing up until something is typed."""
        self._looked, self._looked_in, self._looks = None, self.text, False
        self._list.close()

    def _look(self, again: bool = False) -> None:
        """Ask for suggestions after something was typed."""
        text = self.text
        if text == self._looked_in and not again:
            return
        found = self._partial
        self._looked_in = text
        if found is None or found.place != self._hidden:
            self._hidden = None
        if found is None or self._hidden:
            self._no_word()
        elif found != self._looked:
            self._looked, self._looks = found, True
            self.post_message(self.SuggestionsWanted(found))

    def suggest(self, found: Partial | None, suggestions: Sequence[Suggestion], room: int) -> None:
        """Show what fits; the list may have so many rows."""
        if found is None or found == self._looked:
            self._looks = False
            self._list.suggest(suggestions, room)
            if self._held_for_list:
                self._release(self._holding, at_once=True)

    def take_suggestion(self) -> None:
        """Replace the word being typed by the marked suggestion."""
        suggestion, found = self._list.marked, self._partial
        if suggestion is None or found is None:
            return
        replace_as_typed(self, suggestion.text, (found.row, found.column), self.cursor_location)
        if suggestion.goes_on:
            self._look()
        else:
            self._no_word()

    @property
    def is_waiting(self) -> bool:
        """Whether keys were typed that have not taken effect."""
        return bool(self._held or self._burst)

    def _hold(self, event: events.Key) -> None:
        """Wait a moment for what may follow this key, also for what is still in the queues before us."""
        if not self._held:
            self._held, self._held_at = event.key, event.time
            self._holding += 1
            self._release_soon(_HEELS_S)

    def _release_soon(self, seconds: float, at_once: bool = False) -> None:
        release = functools.partial(self.call_later, self._release, self._holding, at_once)
        self.set_timer(seconds, functools.partial(self.app.call_later, release))

    def _release(self, number: int, at_once: bool = False) -> None:
        """Nothing followed: carry out the key, once it is known what fits the word before it."""
        key = self._held if number == self._holding else ""
        if not key:
            return
        self._pour()
        self._look()
        if self._looks and not at_once:
            self._held_for_list = True
            self._release_soon(_LOOKING_S, at_once=True)
            return
        self._held, self._held_for_list = "", False
        suggestion = self._list.marked if not self._looks else None
        if key in keys_of("send", self.app):
            if suggestion is not None and (suggestion.begun or self._list.was_moved):
                self.take_suggestion()
            else:
                self.action_send()
        elif suggestion is not None:
            self.take_suggestion()
        elif self._partial is not None and self._looked is None and not self._hidden:
            self._look(again=True)
        else:
            self.screen.focus_next()

    def action_send(self) -> None:
        """Send the draft and clear it; it is in the history."""
        text = self.text
        if not text.strip():
            return
        self._typed_history.add(text)
        self.put("")
        self.post_message(QuestionSent(text))

    def action_newline(self) -> None:
        self._pour()
        self._write("\n")

    def on_prompt_clear(self, event: Clear) -> None:
        """Comes behind all keys pressed before it; undo brings the draft back."""
        event.stop()
        if self._held:
            self._release(self._holding, at_once=True)
        self._pour()
        if self.text:
            self.history.checkpoint()
            self.clear()
            self._typed_history.leave()
        else:
            self.app.notify("ctrl+q leaves", markup=False)
