"""What is done with the chat: ask again, go back, begin anew, go on with another one, another model, files."""

from __future__ import annotations

from textual import work
from textual.widgets import OptionList

from lacli.chat import settings_summary as inforce
from lacli.chat.settings_summary import Row
from lacli.chat.slash import path_of
from lacli.errors import LacliError
from lacli.events import Counts
from lacli.shared.wording import counted, counts_table, number_of, unvarying
from lacli_tui.background import done
from lacli_tui.talk import Took
from lacli_tui.verbs.reading import Reading
from lacli_tui.widgets.sidebar import MOST, Sidebar

_SUMMING = "the older turns are being summed up; escape leaves them as they are"


class Chats(Reading):
    """Of the main screen."""

    _begins = False
    """Whether the steps that are told of next are the first of a reply."""

    async def action_retry(self) -> None:
        """Ask the last question again."""
        if self.is_busy():
            return
        conversation = self.talk.conversation
        if not conversation.turns:
            self.notify("there is no question to ask again", markup=False)
            return
        request = self.talk.request
        why = unvarying(request.temperature, request.seed)
        if why and not conversation.changed and not conversation.turns[-1].interrupted:
            remedy = "/set temperature 0.7" if request.temperature == 0 else "/set seed none"
            self.notify(f"the same answer is to be expected, as {why}; {remedy} makes it vary", markup=False)
        self.talk.retry()
        await self.answer_comes(again=True)

    async def answer_comes(self, again: bool = False) -> None:
        """Make room for the answer that was asked for."""
        raise NotImplementedError

    async def action_undo(self) -> None:
        """Take back what was done last."""
        if self.is_busy():
            return
        change = self.talk.undo()
        if change:
            self._begins = True  # the charts are not of the reply that is the last one now
            await self.show_all()
        now = counted(len(self.talk.conversation.turns), "turn", "turns")
        said = {
            "": "there is nothing to take back",
            "question": "the last question is taken back",
            "retry": "the answer before is back",
            "drop": "the file is back",
        }
        self.notify(said.get(change, f"what was there before is back: {now}"), markup=False)

    async def action_clear(self) -> None:
        """Forget the conversation."""
        if not self.is_busy():
            self.talk.clear()
            await self.show_all()
            self.notify("the conversation is forgotten; /undo brings it back", markup=False)

    async def action_new(self) -> None:
        """Begin another chat."""
        if not self.is_busy():
            self.talk.new()
            await self.show_all()
            self.prompt.focus()

    async def describe(self, system: str) -> None:
        """Tell the model this first from now on; `none` is nothing."""
        gone = system.strip() == "none"
        self.talk.describe("" if gone else system)
        done_ = "gone" if gone else "set"
        await self.tell(f"the system message is {done_}; the conversation is read again with the next question")
        self.changed()

    async def action_compact(self) -> None:
        """Have older turns summed up."""
        if self.is_busy():
            return
        if len(self.talk.conversation.turns) < 2:
            self.notify("there are no older turns to sum up", markup=False)
            return
        self.talk.summarise()
        await self.answer_comes()
        await self.tell(_SUMMING)

    async def summed_up(self, took: Took) -> None:
        """Say what became of the summary; the conversation is shown as it is now."""
        self.moment.take_back(_SUMMING)
        if took.compacted is not None:
            gone = counted(took.compacted, "older turn is", "older turns are")
            await self.add(f"{gone} replaced by the summary; /undo brings back what was there")
            return
        finished = took.finished
        cut = finished is not None and finished.reason in ("length", "context")
        why = f"max-tokens was reached ({self.talk.most_tokens:,})" if cut else "no summary came of it"
        hint = "/set max-tokens N makes room for it" if cut else ""
        await self.tell(f"the conversation is as it was: {why}", "warning", hint)

    async def action_attach(self, rest: str = "") -> None:
        """Show the model a file with the next question."""
        if rest and rest != "@":
            self.attach_soon(str(path_of(rest)))
        else:
            self._pick_file(typed=rest == "@")

    @work(group="picker", exclusive=True)
    async def _pick_file(self, typed: bool) -> None:
        from lacli_tui.screens.files import FilesScreen

        found = await self.app.push_screen_wait(FilesScreen(self.begun.folder))
        if found is None:
            return
        if typed:
            self.prompt.insert(f'"{found}" ' if " " in found else f"{found} ")
        self.attach_soon(found)

    async def action_detach(self, rest: str = "") -> None:
        """Take away an attached file: the n-th of those that are sent, without n the last that waits."""
        conversation = self.talk.conversation
        if not rest:
            if conversation.pending:
                conversation.pending.pop()
                self.show_chips()
            return
        chosen = number_of(rest, len(conversation.attachments))
        if chosen is None:
            files = "\n".join(f"{number}  {each.label}" for number, each in enumerate(conversation.attachments, 1))
            await self.tell(f"there is no attached file {rest}", "error", files)
            return
        dropped = conversation.drop(chosen)
        self.show_chips()
        await self.tell(f"{dropped.label} is not shown any more")

    async def action_resume(self, rest: str = "") -> None:
        """Go on with another chat."""
        if not self.is_busy():
            self._resume(rest)

    @work(group="picker", exclusive=True)
    async def _resume(self, rest: str) -> None:
        from lacli.project.root import project_root
        from lacli.sessions.store import SessionStore, path

        try:
            if not rest:
                from lacli_tui.screens.sessions import SessionsScreen

                project = await self.aside(lambda: project_root(self.begun.folder), "looking at the project")
                chosen = await self.app.push_screen_wait(SessionsScreen(self.talk.session_id, project))
                rest = chosen or ""
            if not rest or rest == self.talk.session_id:
                return
            session = await self.aside(lambda: SessionStore(path()).session(rest), "reading the chat")
            if not self.is_busy():  # a question may have been sent meanwhile
                self.talk.resume(session)
                await self.show_all()
                self.prompt.focus()
        except LacliError as error:
            await self.blame(error)

    def action_sidebar(self) -> None:
        """Show or hide earlier chats and files."""
        self.toggle_class("-sidebar")
        self.fill_sidebar()
        if self.has_class("-sidebar"):
            self.query_one(Sidebar).query_one(OptionList).focus()
        else:
            self.prompt.focus()

    def fill_sidebar(self) -> None:
        """Tell the sidebar what there is, where it is seen."""
        if self.has_class("-sidebar"):
            self.query_one(Sidebar).show_files(self.talk.conversation.attachments)
            self._list_chats()

    @work(group="sidebar", exclusive=True, exit_on_error=False)
    async def _list_chats(self) -> None:
        from lacli.project.root import project_root
        from lacli.sessions.store import SessionStore, path

        try:
            chats = await done(lambda: SessionStore(path()).list(project_root(self.begun.folder), limit=MOST))
        except LacliError:
            chats = []
        self.query_one(Sidebar).show_chats(chats, self.talk.session_id, self.begun.now())

    async def action_models(self, rest: str = "") -> None:
        """Go on with another model."""
        if not self.is_busy():
            self._choose_model(rest)

    @work(group="picker", exclusive=True)
    async def _choose_model(self, rest: str) -> None:
        try:
            if rest:
                await self.take_model(rest)
                return
            from lacli_tui.screens.models import ModelsScreen

            marked: str | None = ""
            while marked is not None:  # "no" to fetching one goes back to the others
                marked = await self.app.push_screen_wait(ModelsScreen(self.talk.model, marked=marked))
                if marked and await self.take_model(marked):
                    return
        except LacliError as error:
            await self.blame(error)

    async def action_restart(self) -> None:
        """Start the engine again; one that does not come to an end with a reply is not waited for."""
        if self.talk.phase == "stopping" or not self.is_busy():
            self.talk.restart()
            self.changed()

    async def action_stats(self) -> None:
        """The numbers of the last reply and of the chat."""
        if not self.talk.counts.replies:
            self.notify("no reply yet", markup=False)
            return
        columns: list[tuple[str, Counts]] = [("this chat", self.talk.counts)]
        if self.talk.stats is not None:
            columns.insert(0, ("this reply", self.talk.stats))
        await self.add("\n".join(counts_table(columns)))

    async def action_tokens(self) -> None:
        """The size of the prompt so far."""
        if not self.is_busy():
            self.talk.count_tokens()

    @work(group="picker", exclusive=True)
    async def action_pool(self) -> None:
        """What this project has taught the drafts."""
        from lacli_tui.screens.pool import PoolScreen

        await self.app.push_screen_wait(PoolScreen(self.begun.folder, self.talk.settings))

    @work(group="picker", exclusive=True)
    async def action_settings(self) -> None:
        """Settings, paths, versions."""
        from lacli_tui.screens.settings import SettingsScreen

        groups, copy = self.settings_in_force(), self.program.main.copy
        screen = SettingsScreen(groups, copy, origins=self.begun.origins)
        chosen = await self.app.push_screen_wait(screen)
        if chosen is not None:
            self.program.perform(chosen)

    def settings_in_force(self) -> list[tuple[str, list[Row]]]:
        """What shapes the engine and the replies, by titles that say what changes it."""
        talk, begun = self.talk, self.begun
        theme = self.program.chosen_theme
        return [
            ("Replies: s, or /set, changes them for this run", inforce.replies(talk.request, begun.request)),
            ("Model: ctrl+t, or /model, takes another one", [Row("model", talk.model, talk.model != begun.model)]),
            ("Engine, from its start on", inforce.engine(talk.settings)),
            ("What is kept on this computer", inforce.kept(talk.settings, begun.keep)),
            ("Here", [Row("theme", theme, theme != begun.theme != ""), Row("project", str(begun.folder))]),
        ]
