"""What shapes the next question before it is sent: options of the reply, saved templates, the user's own editor."""

from __future__ import annotations

from textual import work
from textual.app import SuspendNotSupported

from lacli.chat import options
from lacli.chat.slash import as_typed
from lacli.errors import LacliError
from lacli_tui.verbs.reading import Reading


class Drafts(Reading):
    """Of the main screen."""

    async def action_system(self, rest: str = "") -> None:
        """Tell the model something first: `[TEXT]`; without, it is asked for, with what it is told now."""
        told = self.talk.conversation.system
        if rest:
            await self.describe(rest)
        elif "\n" in told:
            await self.tell(told, hint="/system TEXT sets another one")
        else:
            self._ask_system(told)

    @work(group="picker", exclusive=True)
    async def _ask_system(self, told: str) -> None:
        from lacli_tui.screens.line import LineScreen

        screen = LineScreen("System message: what the model is told first", "nothing yet", told)
        text = await self.app.push_screen_wait(screen)
        if text is not None and text != told:
            await self.describe(text)

    async def action_set(self, rest: str = "") -> None:
        """Show or set an option of the replies to come: `[K V]`."""
        try:
            if not rest:
                self._choose_option()
                return
            flag, value = options.wish(rest)
            if value:
                await self._set(flag, value)
            else:
                await self.tell(options.line(self.talk.request, flag))
        except LacliError as error:
            await self.blame(error)

    @work(group="picker", exclusive=True)
    async def _choose_option(self) -> None:
        from lacli_tui.screens.choice import ChoiceScreen
        from lacli_tui.screens.line import LineScreen

        rows = [(flag, options.shown(self.talk.request, flag)) for flag in options.OPTIONS]
        flag = await self.app.push_screen_wait(ChoiceScreen("Set an option", rows))
        if flag is None:
            return
        now = options.shown(self.talk.request, flag)
        value = await self.app.push_screen_wait(LineScreen(f"{flag}, now {now}", "none is the default again"))
        try:
            if value is not None:
                await self._set(flag, value)
        except LacliError as error:
            await self.blame(error)

    async def _set(self, flag: str, value: str) -> None:
        self.talk.request = options.changed(self.talk.request, flag, self.begun.checked(flag, value))
        self.talk.conversation.changed = True
        await self.tell(f"{flag} is {options.shown(self.talk.request, flag)}")

    async def action_template(self, rest: str = "") -> None:
        """Put a saved prompt at the prompt, filled in with the words behind its name: `[NAME …]`."""
        self._template(rest)

    @work(group="picker", exclusive=True)
    async def _template(self, rest: str) -> None:
        from lacli.prompts import saved
        from lacli_tui.screens.choice import ChoiceScreen

        try:
            names = [] if rest else await self.aside(saved.names, "looking for templates")
            if not rest and not names:
                await self.tell("no template is saved yet; see `lacli templates`")
                return
            rows = [(each, "") for each in names]
            name = None if rest else await self.app.push_screen_wait(ChoiceScreen("Fill in a template", rows))
            if rest or name is not None:
                await self._fill(rest or f"{name} {self.prompt.text}")
        except LacliError as error:
            await self.blame(error)

    async def _fill(self, typed: str) -> None:
        from lacli.prompts import saved
        from lacli_tui.screens.line import LineScreen

        found = await self.aside(lambda: saved.named(typed), "reading the template")
        given: dict[str, str] = {}
        for name in found.missing:
            title = f"{name}, for the template {found.template.name}"
            value = await self.app.push_screen_wait(LineScreen(title))
            if value is None:
                return
            given[name] = value
        told, question = found.filled(given)
        if told.strip():
            await self.describe(told)
        self.prompt.put(as_typed(question))
        self.prompt.focus()

    async def describe(self, system: str) -> None:
        """Tell the model this first from now on."""
        raise NotImplementedError

    async def action_edit(self) -> None:
        """Write the question in the user's editor, which has the terminal meanwhile; a reply goes on behind."""
        text = self.prompt.text
        failed: Exception | None = None
        try:
            with self.app.suspend():
                try:
                    text = as_typed(self.begun.edited(text))
                except (LacliError, OSError) as error:  # out of here the terminal would stay the editor's
                    failed = error
        except SuspendNotSupported:
            self.notify("an editor needs the whole screen: start without --inline", markup=False)
            return
        if failed is not None:
            await self.blame(failed)
        self.prompt.put(text)
        self.prompt.focus()
