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
from dataclasses import dataclass

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
_FOLLOW_S = 0.03
"""How long an enter waits for what may follow it."""
_SUGGESTIONS_S = 0.3
"""How long an enter or a tab waits for suggestions."""
_TEXT = {"enter": "\n", "tab": "\t"}


class Prompt(Draft):
    class Clear(Message, bubble=False):
        """Clear the draft; if there is none, say how to quit."""

    @dataclass
    class SuggestionsWanted(Message):
        """A word is being typed that may be completed."""

        partial: Partial

    def __init__(self, suggestion_list: SuggestionList, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("Ask about your code; @ attaches a file, / is a command, f1 helps", id)
        self._suggestion_list = suggestion_list
        self._burst: list[str] = []
        self._burst_timer: Timer | None = None
        self._last_key = 0.0
        self._held_key = ""
        """An enter or a tab that waits for what may follow it."""
        self._held_key_at = 0.0
        self._waits_for_list = False
        """Whether nothing followed it, and it only waits for suggestions."""
        self._hold_number = 0
        self._has_line_ends = False
        """Whether line ends came in this burst: then its last enter does not send, either."""
        self._looked_up: Partial | None = None
        """The word that suggestions were asked for last."""
        self._looked_up_in = ""
        """The draft at that time, or one for which nothing is looked up, as it was put here and not typed."""
        self._is_looking_up = False
        """Whether the suggestions are still to come."""
        self._hidden_word: tuple[str, int, int] | None = None
        """The word whose list was hidden."""

    def _load_draft(self, text: str) -> None:
        super()._load_draft(text)
        self._stop_suggesting()

    def give_back(self, text: str) -> None:
        """Make a question that could not be sent the draft again, before what was typed meanwhile."""
        self.put("\n\n".join(filter(str.strip, (text, self.text))))

    async def on_key(self, event: events.Key) -> None:
        """Text goes into the draft; every other key is a binding."""
        event.prevent_default()
        restart_blink(self)
        if self._held_key and event.time - self._held_key_at > _FOLLOW_S:  # it came later, if we are late as well
            self._release(self._hold_number, at_once=True)
        in_burst = event.time - self._last_key < _BURST_S
        self._last_key = event.time
        text = _TEXT.get(event.key, event.character if event.is_printable else None)
        if self._held_key and text is not None:  # an enter or a tab, with this at its heels
            self._burst.append(_TEXT[self._held_key])
            self._held_key = ""
            self._has_line_ends = in_burst = True
        self._has_line_ends = self._has_line_ends and in_burst
        if self._has_line_ends and (text is not None or event.key == "escape"):
            event.stop()
            self._flush_burst_soon(text or "")
        elif event.key == "tab" or event.key in keys_of("send", self.app):
            event.stop()
            self._hold(event)
        elif self._suggestion_list.is_open and self._handle_list_key(event.key):
            event.stop()
        elif event.key in keys_of("newline", self.app):  # here and now: as a binding it would come behind later keys
            event.stop()
            self.action_newline()
        elif text is not None:
            event.stop()
            if in_burst:
                self._flush_burst_soon(text)
            else:
                self._flush_burst()
                self._write(text)
        else:
            if self._held_key in keys_of("send", self.app):
                self._release(self._hold_number, at_once=True)
            self._flush_burst()
            await self.act_on(event)

    async def on_paste(self, event: events.Paste) -> None:
        """A paste is one change of the draft, whatever is in it."""
        event.prevent_default()
        event.stop()
        if isinstance(event, UnmarkedPaste):
            self._take_unmarked_paste(event)
            return
        self._flush_burst()
        self._write(clean_paste(event.text), typed=False)

    def _take_unmarked_paste(self, event: UnmarkedPaste) -> None:
        """Treat it as the keys it stands for: what came just before and comes just behind belongs to it."""
        if self._held_key and event.time - self._held_key_at > _FOLLOW_S:
            self._release(self._hold_number, at_once=True)
        if self._held_key:
            self._burst.append(_TEXT[self._held_key])
            self._held_key = ""
        self._last_key = event.time
        self._has_line_ends = True
        self._flush_burst_soon(clean_paste(event.text))

    def _handle_list_key(self, key: str) -> bool:
        """Whether this is a key of the list; carries it out."""
        if key in keys_of("offer-take", self.app):
            self.take_suggestion()
        elif key in keys_of("offer-up", self.app):
            self._suggestion_list.move_mark(-1)
        elif key in keys_of("offer-down", self.app):
            self._suggestion_list.move_mark(1)
        elif key in keys_of("offer-hide", self.app):
            self._hidden_word = self._looked_up.place if self._looked_up is not None else None
            self._suggestion_list.close()
        else:
            return False
        return True

    def _flush_burst_soon(self, character: str) -> None:
        self._burst.append(character)
        if self._burst_timer is None:
            self._burst_timer = self.set_timer(_FOLLOW_S, self._flush_burst)

    def _flush_burst(self) -> None:
        """Put a burst of keys into the draft."""
        if self._burst_timer is not None:
            self._burst_timer.stop()
            self._burst_timer = None
        if self._burst:
            text = "".join(self._burst)
            self._burst.clear()
            self._write(text, typed=not self._has_line_ends)

    def _write(self, text: str, typed: bool = True) -> None:
        replace_as_typed(self, text, *self.selection)
        if not typed:
            self._stop_suggesting()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._fit()
        self._look_up()

    def on_text_area_selection_changed(self) -> None:
        """Another word has another list, or none."""
        if self._suggestion_list.is_open and self.text == self._looked_up_in and self._partial != self._looked_up:
            self._stop_suggesting()

    def on_blur(self) -> None:
        self._stop_suggesting()

    # The word at the cursor

    @property
    def _partial(self) -> Partial | None:
        start, end = self.selection
        return partial(self.document.lines, *end, SLASH_WORDS) if start == end else None

    def _stop_suggesting(self) -> None:
        """Look nothing up until something is typed."""
        self._looked_up, self._looked_up_in, self._is_looking_up = None, self.text, False
        self._suggestion_list.close()

    def _look_up(self, again: bool = False) -> None:
        """Ask for suggestions after something was typed."""
        text = self.text
        if text == self._looked_up_in and not again:
            return
        found = self._partial
        self._looked_up_in = text
        if found is None or found.place != self._hidden_word:
            self._hidden_word = None
        if found is None or self._hidden_word:
            self._stop_suggesting()
        elif found != self._looked_up:
            self._looked_up, self._is_looking_up = found, True
            self.post_message(self.SuggestionsWanted(found))

    def suggest(self, found: Partial | None, suggestions: Sequence[Suggestion], room: int) -> None:
        """Show what fits; the list may have so many rows."""
        if found is None or found == self._looked_up:
            self._is_looking_up = False
            self._suggestion_list.suggest(suggestions, room)
            if self._waits_for_list:
                self._release(self._hold_number, at_once=True)

    def take_suggestion(self) -> None:
        """Replace the word being typed by the marked suggestion."""
        suggestion, found = self._suggestion_list.marked, self._partial
        if suggestion is None or found is None:
            return
        replace_as_typed(self, suggestion.text, (found.row, found.column), self.cursor_location)
        if suggestion.goes_on:
            self._look_up()
        else:
            self._stop_suggesting()

    @property
    def is_waiting(self) -> bool:
        """Whether keys were typed that have not taken effect."""
        return bool(self._held_key or self._burst)

    def _hold(self, event: events.Key) -> None:
        """Wait a moment for what may follow this key, also for what is still in the queues before us."""
        if not self._held_key:
            self._held_key, self._held_key_at = event.key, event.time
            self._hold_number += 1
            self._release_soon(_FOLLOW_S)

    def _release_soon(self, seconds: float, at_once: bool = False) -> None:
        release = functools.partial(self.call_later, self._release, self._hold_number, at_once)
        self.set_timer(seconds, functools.partial(self.app.call_later, release))

    def _release(self, number: int, at_once: bool = False) -> None:
        """Nothing followed: carry out the key, once it is known what fits the word before it."""
        key = self._held_key if number == self._hold_number else ""
        if not key:
            return
        self._flush_burst()
        self._look_up()
        if self._is_looking_up and not at_once:
            self._waits_for_list = True
            self._release_soon(_SUGGESTIONS_S, at_once=True)
            return
        self._held_key, self._waits_for_list = "", False
        suggestion = self._suggestion_list.marked if not self._is_looking_up else None
        if key in keys_of("send", self.app):
            if suggestion is not None and (suggestion.begun or self._suggestion_list.was_moved):
                self.take_suggestion()
            else:
                self.action_send()
        elif suggestion is not None:
            self.take_suggestion()
        elif self._partial is not None and self._looked_up is None and not self._hidden_word:
            self._look_up(again=True)
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
        self._flush_burst()
        self._write("\n")

    def on_prompt_clear(self, event: Clear) -> None:
        """Comes behind all keys pressed before it; undo brings the draft back."""
        event.stop()
        if self._held_key:
            self._release(self._hold_number, at_once=True)
        self._flush_burst()
        if self.text:
            self.history.checkpoint()
            self.clear()
            self._typed_history.leave()
        else:
            self.app.notify("ctrl+q leaves", markup=False)
