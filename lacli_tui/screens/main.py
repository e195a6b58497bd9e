"""The main screen: transcript, prompt and what shows how decoding goes; from top to bottom and left to right:

`#header` · `#chat` (with `#transcript`), `#decode` in `#body` · `#status` · `#chips` · `#prompt` · footer.

It owns the widgets, the chat and the controllers, hands messages to whom they are for, and shows what the engine sends.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from lacli.chat import listings
from lacli.errors import WorkerDied
from lacli_tui.actions import MAIN, action_of, bindings_of
from lacli_tui.background import BackgroundResult, in_thread
from lacli_tui.controllers.answer_actions import AnswerActions
from lacli_tui.controllers.chat_actions import ChatActions
from lacli_tui.controllers.decode_panel_controller import DecodePanelController
from lacli_tui.controllers.file_reader import FileReader
from lacli_tui.controllers.model_loader import ModelLoader
from lacli_tui.controllers.outcome_presenter import OutcomePresenter
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.question_sender import QuestionSender
from lacli_tui.controllers.request_actions import RequestActions
from lacli_tui.controllers.resource_monitor import ResourceMonitor
from lacli_tui.controllers.sidebar_controller import SidebarController
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.controllers.suggestion_finder import SuggestionFinder
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.controllers.update_loop import UpdateLoop
from lacli_tui.engine_session import EngineSession, Updates
from lacli_tui.glyphs import is_ascii_terminal
from lacli_tui.messages import ActionRequested, QuestionSent, UpdatesReady
from lacli_tui.notifications import Notifications
from lacli_tui.start import Start
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.key_footer import KeyFooter
from lacli_tui.widgets.message import Answer
from lacli_tui.widgets.notice_bar import NoticeBar
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.sidebar import Sidebar
from lacli_tui.widgets.status_line import StatusLine
from lacli_tui.widgets.suggestion_list import SuggestionList
from lacli_tui.widgets.transcript import Transcript

_WARM_UP_S = 0.3
_SLIM = 60
"""Fewer columns are not enough for words beside the panel."""


class MainScreen(Screen[None]):
    """The chat."""

    BINDINGS = bindings_of(MAIN)
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-narrow"), (100, "-wide"), (140, "-broad")]  # type: ignore[misc]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-tiny"), (10, "-low"), (30, "-high")]  # type: ignore[misc]
    DEFAULT_CSS = """
    MainScreen {
        & #new-text { height: 1; display: none; text-align: center; color: $accent; }
        & #new-text.-shown { display: block; }
    }
    """

    def __init__(self, start: Start, perform: Callable[..., None], theme: Callable[[], str]) -> None:
        """`perform` carries out an action of the app or of this screen by its id; `theme` is the one chosen."""
        super().__init__()
        engine = self.engine = EngineSession(start, self._wake)
        self._keys_for_reply = False
        """Whether the footer shows the keys that apply while a reply is written."""
        self._make_widgets()
        chat, prompt, folder = engine.chat, self.prompt, start.folder
        self.chat = chat
        notifications = self.notifications = Notifications(
            self.notice_bar, self.transcript, lambda text: self.notify(text, markup=False)
        )
        self.prompts = PromptController(chat, prompt, self.chips, notifications)
        self.slow_work = SlowWork(self, self.chips, notifications)
        self.files = FileReader(self, engine, folder, prompt, self.prompts, self.slow_work, notifications)
        self.updates = UpdateLoop(self, lambda: not self.replies.is_mounting, self._take_updates, self._settle)
        self.panel = DecodePanelController(self, engine, start.project, lambda: self.loader.shown_loading)
        self.replies = TranscriptController(
            self,
            engine,
            self.transcript,
            self._new_text,
            prompt,
            self.prompts,
            self.panel,
            notifications,
            self.updates.hurry,
            self.refresh_state,
        )
        self.loader = ModelLoader(
            self, engine, start.missing, self.replies, notifications, self._mount_below_chat, self.refresh_state
        )
        self.resources = ResourceMonitor(self, folder, lambda: engine.engine_pid, lambda: self.panel.widgets)
        self.sidebar = SidebarController(self, chat, folder, self._sidebar, prompt, start.now)
        self.answers = AnswerActions(self, chat, start.edited, self.slow_work, notifications)
        self.outcomes = OutcomePresenter(engine, prompt, self.replies, self.panel, notifications)
        self.chats = ChatActions(
            self, engine, folder, prompt, self.replies, self.outcomes, self.slow_work, notifications
        )
        self.requests = RequestActions(
            self,
            chat,
            start,
            prompt,
            self.slow_work,
            self.outcomes,
            notifications,
            self.refresh_state,
            self.answers.copy_text,
            theme,
            perform,
        )
        self.sender = QuestionSender(engine, prompt, self.prompts, self.replies, self.files, notifications, perform)
        self.finder = SuggestionFinder(self, folder, lambda: sorted(self.app.available_themes), prompt, self.chips)
        self._perform = perform
        self.commands = self._make_commands()

    def _make_widgets(self) -> None:
        self.transcript = Transcript(id="transcript")
        self.notice_bar = NoticeBar(id="notices")
        self.chips = Chips(id="chips")
        self._suggestion_list = SuggestionList(id="suggestions")
        self.prompt = Prompt(self._suggestion_list, id="prompt")
        self._sidebar = Sidebar(id="sidebar")
        self._new_text = Static("↓ new text: ctrl+end", id="new-text", markup=False)

    def _make_commands(self) -> dict[str, Callable[..., object]]:
        """What does each action of `where` MAIN, by its id; those that take something get it as a string."""
        return {
            "attach": self.files.attach,
            "detach": self.prompts.detach,
            "edit": self.requests.edit,
            "template": self.requests.template,
            "stop": self._stop,
            "back": self._back,
            "retry": self.replies.retry,
            "undo": self.chats.undo,
            "clear": self.chats.clear,
            "system": self.requests.system,
            "set": self.requests.set_option,
            "compact": self.replies.summarise,
            "copy": self.answers.copy,
            "save": self.answers.save,
            "apply": self.answers.apply,
            "earlier": self.replies.page_up,
            "later": self.replies.page_down,
            "to-start": self.transcript.to_start,
            "to-end": self.transcript.to_end,
            "panel": self.panel.toggle,
            "sidebar": self.sidebar.toggle,
            "sources": lambda: self.panel.toggle_sources(self.transcript.last_answer),
            "new": self.chats.new,
            "resume": self.chats.resume,
            "models": self.loader.choose,
            "pool": self.requests.pool,
            "settings": self.requests.settings,
            "stats": self.chats.stats,
            "tokens": self.chats.count_tokens,
            "restart": self.loader.restart,
            "not-now": self.loader.stop_waiting,
        }

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written, loaded, read or still to be shown."""
        busy = self.engine.is_replying or self.updates.is_pending or self.files.is_reading
        return not busy and self.engine.phase != "loading"

    @property
    def session_id(self) -> str:
        """The id of the session being kept; empty until there is one."""
        return self.chat.recorder.id if self.chat.conversation.turns else ""

    def compose(self) -> ComposeResult:
        """The widgets in their places."""
        yield Header(id="header")
        with Horizontal(id="body"):
            yield self._sidebar
            with Vertical(id="chat"):
                yield self.transcript
                yield self._new_text
            yield DecodePanel(id="decode")
        yield StatusLine(id="status")
        yield self.notice_bar
        yield self._suggestion_list
        yield self.chips
        yield self.prompt
        yield KeyFooter()

    async def on_mount(self) -> None:
        """Let typing begin at once; everything else comes after the first paint."""
        self.prompt.focus()
        self.call_after_refresh(self._begin)
        await self.loader.start()

    async def _begin(self) -> None:
        self.engine.begin()
        self.set_class(is_ascii_terminal(), "-plain")
        self.resources.start()
        self.refresh_state()
        await self.replies.show_all()
        self._load_history()
        if not self.app.is_headless:
            self.set_timer(_WARM_UP_S, self._warm_up)

    @work(group="history", exit_on_error=False)
    async def _load_history(self) -> None:
        self.prompt.remember(await in_thread(self.engine.history))

    async def _warm_up(self) -> None:
        """Have the styles of an answer computed and its libraries imported before the first one is written."""
        answer = Answer("# a\n\nb `c`\n\n- d\n\n1. e\n\n> f\n\n```python\ng = 1\n```\n")
        answer.display = False
        column = self.query_one("#chat")
        if column.is_attached:  # else the program is being left already
            await column.mount(answer)
            await answer.remove()

    async def _mount_below_chat(self, widget: Widget) -> None:
        await self.query_one("#chat").mount(widget, before=self._new_text)

    # What the engine sends

    def _wake(self) -> None:
        """There are updates. Called from any thread."""
        with contextlib.suppress(RuntimeError):  # the event loop has been closed meanwhile
            if self.is_attached:
                self.post_message(UpdatesReady())

    def on_updates_ready(self) -> None:
        """Take them as soon as the last update of the screen allows."""
        self.updates.request()

    async def _take_updates(self) -> Updates:
        updates = self.engine.take()
        await self._show_updates(updates)
        return updates

    async def _show_updates(self, updates: Updates) -> None:
        await self.loader.show(updates)
        for notice in updates.notices:
            await self.notifications.add_to_chat(notice.text, notice.level)
        await self.replies.show_progress(updates)
        if updates.finished is not None:
            await self.replies.finish(updates)
        if updates.error is not None:
            await self._show_failure(updates)
        if updates.preview is not None:
            await self.outcomes.show(listings.size(self.chat, updates.preview))

    async def _settle(self, updates: Updates) -> None:
        self.refresh_state(updates.finished is not None)
        await self.sender.settle(updates)

    async def _show_failure(self, updates: Updates) -> None:
        """Say what went wrong and what to do."""
        error = updates.error
        assert error is not None
        await self.notifications.report(error, in_chat=True)
        if self.engine.phase == "dead" and await self.loader.go_back():
            return
        if isinstance(error, WorkerDied):
            hints = ["what was written is kept"] if updates.outcome.turn is not None else []
            hints += ["the next question starts a new engine", "F5 starts it now"] if error.again else []
            if hints:
                await self.notifications.add_to_chat("; ".join(hints), "warning")
        elif updates.failed == "open":
            await self.notifications.add_to_chat("F5 tries again, ctrl+t chooses another model", "warning")

    def refresh_state(self, reply_ended: bool = False) -> None:
        """Update header, panel, status line, sidebar and footer."""
        self.panel.refresh(at_once=reply_ended)
        if reply_ended:
            self.resources.read_pool()
            self.sidebar.refresh()
        if self.engine.is_replying != self._keys_for_reply:
            self._keys_for_reply = self.engine.is_replying
            self.refresh_bindings()

    # What the user does

    async def action_command(self, id_: str) -> None:
        """Carry out the action with this id: what the bindings call."""
        await self.perform(id_)

    async def perform(self, id_: str, rest: str = "") -> None:
        """Carry out an action of this screen."""
        command = self.commands[id_]
        result = command(rest) if action_of(id_).takes else command()
        if inspect.isawaitable(result):
            await result

    def is_available(self, id_: str) -> bool:
        """Whether an action of this screen applies now: escape stops a reply, and else goes back to the prompt."""
        if id_ == "stop":
            return self.engine.is_replying
        if id_ == "back":
            return not self.engine.is_replying
        return id_ != "not-now" or self.loader.is_preparing

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a binding applies now."""
        return action != "command" or self.is_available(str(parameters[0]))

    async def on_question_sent(self, event: QuestionSent) -> None:
        """A question or a slash command was sent."""
        await self.sender.submit(event.text)

    async def on_action_requested(self, event: ActionRequested) -> None:
        """A widget asks for an action, of which some are about a message."""
        turn, block = event.turn, event.block
        about_message: dict[str, Callable[[], object]] = {
            "message-copy": lambda: self.answers.copy_text(event.rest),
            "message-block": lambda: self.answers.copy_block(turn, block),
            "message-save": lambda: self.answers.save_block(turn, block),
            "message-apply": lambda: self.answers.apply_block(turn, block),
            "message-edit": lambda: self._edit(turn),
            "message-retry": lambda: self.replies.ask_again(turn),
            "message-sources": lambda: self.panel.toggle_sources(self.replies.answer_of(turn)),
            "to-messages": self.replies.focus_last,
            "take-back": self.prompts.take_last_back,
            "message-up": lambda: self.replies.move_focus(-1),
            "message-down": lambda: self.replies.move_focus(1),
        }
        command = about_message.get(event.action)
        result = command() if command is not None else self._perform(event.action, event.rest)
        if inspect.isawaitable(result):
            await result

    def _edit(self, turn: int | None) -> None:
        """Edit the question of this turn and send it again."""
        if turn is not None and turn < len(self.chat.conversation.turns) and not self.replies.is_busy():
            self.prompts.edit(turn)

    async def _stop(self) -> None:
        """Stop the reply; before that, what is waiting for a disk."""
        if self.slow_work.cancel():
            return
        if self.engine.phase == "stopping":
            self.replies.is_busy()
        await self.replies.stop()
        self.refresh_state(True)

    async def _back(self) -> None:
        """Stop editing and go back to the prompt; before that, cancel what is waiting for a disk."""
        if self.slow_work.cancel():
            return
        if self.prompts.editing is None and self.loader.is_preparing and not self.prompt.text:
            await self.loader.stop_waiting()
            return
        self.prompts.stop_editing()
        self.prompt.focus()

    def on_transcript_followed(self, event: Transcript.Followed) -> None:
        """The end of the text came into view, or left it."""
        self.replies.followed(event.follows)

    def on_prompt_emptied(self) -> None:
        """Backspace in an empty prompt detaches the last file."""
        self.prompts.detach_last()

    def on_prompt_suggestions_wanted(self, event: Prompt.SuggestionsWanted) -> None:
        """A word is being typed that may be completed."""
        self.finder.look_up(event.partial)

    def on_background_result(self, result: BackgroundResult) -> None:
        """The lookup of suggestions is done."""
        self.finder.show(result)

    @on(SuggestionList.Chosen)
    def _suggestion_clicked(self, event: SuggestionList.Chosen) -> None:
        event.stop()
        self.prompt.take_suggestion()
        self.prompt.focus()

    def on_resize(self) -> None:
        """On a slim screen the panel takes the place of the words."""
        self.set_class(self.size.width < _SLIM, "-slim")
