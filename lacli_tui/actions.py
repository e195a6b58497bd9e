"""Everything the user can do, in one table: key bindings, footer, help, palette, slash commands and keymap read it.

To add an action, add an entry to `ACTIONS` and what does it: for `where` MAIN an entry in the table of `screens.main`,
else a method `action_<id with _ for ->` on the app, the prompt or the message. That node's class has `BINDINGS =
bindings_of(WHERE)`. The `[keymap]` table of the configuration gives an id other keys. Of Textual this imports Binding
only.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from textual.binding import Binding, BindingType

from lacli.chat import commands
from lacli.errors import UsageError
from lacli_tui.keynames import key_problem

_COMMANDS = {each.name: each for each in commands.commands("tui")}
_KEY = re.compile(r"(?:(?:ctrl|shift|alt|super)\+)*[a-z0-9_?!@#$%&*/.;:<>=+-]+")
APP, MAIN, PROMPT, MESSAGE = "app", "main", "prompt", "message"
OFFERS = "offers"
"""The list above the prompt while a file or a command is typed; the prompt handles its keys."""
DIALOG, PICKER = "dialog", "picker"
"""Every screen over the main one, and every one with a list to choose from."""
SESSIONS, POOL, CONFIRM, DIFF, LINE, SETTINGS = "sessions", "pool", "confirm", "diff", "line", "settings"
HELP = "help"


@dataclass(frozen=True, slots=True)
class Action:
    id: str
    keys: str
    """Separated by commas, named as in Textual; empty if only the palette or a slash command leads to it."""
    title: str
    """A few words: for the palette and the help screen."""
    help: str = ""
    """One sentence more."""
    where: str = MAIN
    palette: bool = True
    footer: str = ""
    """Its name in the footer; empty: not shown there."""
    slash: str = ""
    """Its slash command, if any: a name in `lacli.chat.commands`."""
    priority: bool = False
    """Whether the key works wherever the focus is, before the widget that has it."""

    @property
    def takes(self) -> str:
        """What may follow the slash command, as the help shows it."""
        return _COMMANDS[self.slash].arguments if self.slash else ""

    @property
    def method(self) -> str:
        """The method that carries it out, without `action_`."""
        return self.id.replace("-", "_")


ACTIONS: tuple[Action, ...] = (
    # the prompt
    Action(
        "send",
        "enter",
        "Send the question",
        "Waits for the reply that is written; up takes it back.",
        where=PROMPT,
        palette=False,
        footer="send",
    ),
    Action("newline", "ctrl+j,shift+enter", "New line", where=PROMPT, palette=False, footer="new line"),
    Action("attach", "ctrl+f", "Attach a file", "Shows the model a file; @ does the same.", slash="file"),
    Action("detach", "", "Take away an attached file", "Without n, the last one.", slash="drop"),
    Action("edit", "", "Write the question in your editor", "$VISUAL or $EDITOR.", slash="edit"),
    Action(
        "template",
        "",
        "Fill in a saved template",
        "With the draft; K=V behind its name is what it is to say for $K.",
        slash="template",
    ),
    Action("to-messages", "shift+tab,ctrl+up", "Go to the messages", where=PROMPT, palette=False),
    Action("undo-typing", "ctrl+underscore", "Take back what was typed last", where=PROMPT, palette=False),
    *(
        replace(action, where=OFFERS, palette=False)
        for action in (
            Action("offer-take", "tab", "Take what is marked", "Enter does so of a command that is only begun."),
            Action("offer-up", "up", "Mark the one above"),
            Action("offer-down", "down", "Mark the one below"),
            Action("offer-hide", "escape", "Hide the list for this word"),
        )
    ),
    # replies
    Action("stop", "escape", "Stop the reply", "Keeps what was written of it.", footer="stop"),
    Action("back", "escape", "Back to the prompt", palette=False),
    Action("retry", "", "Ask the last question again", slash="retry"),
    Action("undo", "", "Take back what was done last", "A question, /clear, /drop or a retry.", slash="undo"),
    Action("clear", "", "Forget the conversation", "Undo brings it back.", slash="clear"),
    Action("system", "", "Show or set the system message", slash="system"),
    Action("set", "", "Set an option of the replies", "Such as temperature.", slash="set"),
    Action("compact", "", "Replace older turns by a summary", slash="compact"),
    # the last answer
    Action("copy", "", "Copy the last answer", "Or its n-th code block.", slash="copy"),
    Action("save", "", "Save the chat or a code block", "With n, the n-th block; without PATH it asks.", slash="save"),
    Action(
        "apply",
        "",
        "Apply a code block to a file",
        "A diff first; without PATH it asks, and offers the file that the answer names.",
        slash="apply",
    ),
    # a message that has the focus
    Action("message-copy", "y", "Copy the message", where=MESSAGE, palette=False, footer="copy"),
    Action(
        "message-block",
        "1,2,3,4,5,6,7,8,9",
        "Copy a code block",
        "The keys to save and to apply then take it, too.",
        where=MESSAGE,
        palette=False,
    ),
    Action("message-edit", "e", "Edit the question and send it again", where=MESSAGE, palette=False, footer="edit"),
    Action("message-retry", "r", "Ask again", where=MESSAGE, palette=False, footer="retry"),
    Action(
        "message-save",
        "s",
        "Save a code block to a file",
        "The one that was copied last, else the last that is code.",
        where=MESSAGE,
        palette=False,
        footer="save",
    ),
    Action(
        "message-apply",
        "a",
        "Apply a code block to a file",
        "The same one, or what fits the file best.",
        where=MESSAGE,
        palette=False,
        footer="apply",
    ),
    Action("message-sources", "g", "Colour its tokens by who guessed them", where=MESSAGE, palette=False),
    Action("message-up", "up,k", "The message before", where=MESSAGE, palette=False),
    Action("message-down", "down,j", "The message after", where=MESSAGE, palette=False),
    # the view
    Action("earlier", "pageup", "Scroll up", palette=False),
    Action("later", "pagedown", "Scroll down", palette=False),
    Action("to-start", "ctrl+home", "Scroll to the start"),
    Action("to-end", "ctrl+end", "Scroll to the end", "And follow the text again."),
    Action("panel", "f2", "Show or hide the Decode panel", footer="panel"),
    Action("sidebar", "f3", "Show or hide earlier chats and files"),
    Action("sources", "ctrl+g", "Colour tokens by who guessed them", "Of the last reply; g does it on a message."),
    # sessions, model, screens
    Action("new", "ctrl+n", "New chat", slash="new"),
    Action("resume", "ctrl+r", "Go on with another chat", slash="sessions"),
    Action("models", "ctrl+t", "Choose another model", slash="model"),
    Action("pool", "", "What this project has taught the drafts", slash="pool"),
    Action("settings", "", "Settings and what this program knows of itself", slash="settings"),
    Action("stats", "", "Numbers of the last reply and of the chat", slash="stats"),
    Action("tokens", "", "Size of the prompt so far", slash="tokens"),
    Action("restart", "f5", "Start the engine again", "Also where a reply does not stop."),
    # the program
    Action("not-now", "f4", "Do not wait for the model", "Escape at an empty prompt does it, too."),
    Action("help", "f1", "Help", where=APP, footer="help", slash="help", priority=True),
    Action("palette", "ctrl+p", "All commands", where=APP, palette=False, footer="more", priority=True),
    Action(
        "interrupt",
        "ctrl+c",
        "Copy what is selected, else stop, else clear",
        "Of a cleared draft ctrl+_ takes it back.",
        where=APP,
        palette=False,
        priority=True,
    ),
    Action("theme", "", "Choose another theme", "Seen while the mark moves.", where=APP, slash="theme"),
    Action("suspend", "ctrl+z", "Go to the shell", "`fg` there comes back.", where=APP, priority=True),
    Action("leave", "ctrl+q", "Quit", where=APP, footer="quit", slash="exit", priority=True),
    # screens over the main one
    *(
        replace(action, palette=False)
        for action in (
            Action("close", "escape", "Go back", where=DIALOG, footer="back"),
            Action("choose", "enter", "Choose the line", where=PICKER, footer="choose", priority=True),
            Action("choice-up", "up", "The line above", where=PICKER, priority=True),
            Action("choice-down", "down", "The line below", where=PICKER, priority=True),
            Action("choice-page-up", "pageup", "A page up", where=PICKER, priority=True),
            Action("choice-page-down", "pagedown", "A page down", where=PICKER, priority=True),
            Action("choice-first", "ctrl+home", "The first line", where=PICKER, priority=True),
            Action("choice-last", "ctrl+end", "The last line", where=PICKER, priority=True),
            Action("everywhere", "tab", "Chats of all projects, or of this one", where=SESSIONS, priority=True),
            Action(
                "all-kinds", "shift+tab", "Completions and edits, too, or chats alone", where=SESSIONS, priority=True
            ),
            Action("session-delete", "ctrl+d", "Delete the chat", where=SESSIONS, footer="delete", priority=True),
            Action("pool-clear", "c", "Delete what was learned in the project", where=POOL, footer="clear"),
            Action("pool-prune", "p", "Bring all pools below their caps", where=POOL, footer="prune"),
            Action(
                "pool-gone", "g", "Delete what was learned in projects that are gone", where=POOL, footer="gone ones"
            ),
            Action("confirm-yes", "y", "Yes", where=CONFIRM),
            Action("confirm-no", "n", "No", where=CONFIRM),
            Action("confirm-other", "left,right,tab,shift+tab", "The other answer", where=CONFIRM, priority=True),
            Action(
                "confirm-take", "enter", "Take the answer that is marked", where=CONFIRM, footer="take", priority=True
            ),
            Action("help-names", "n", "The names of actions, to give them other keys", where=HELP, footer="names"),
            Action("settings-set", "s", "Set an option of the replies", where=SETTINGS, footer="set an option"),
            Action("settings-copy", "y", "Copy all of it", where=SETTINGS, footer="copy"),
            Action("line-take", "enter", "Take what is typed", where=LINE, footer="take", priority=True),
            Action("line-complete", "tab", "Complete a path", where=LINE, footer="complete", priority=True),
            Action("diff-apply", "y", "Make the change", where=DIFF),
            Action("diff-refuse", "n", "Leave the file as it is", where=DIFF),
            Action("diff-other", "tab,shift+tab", "The other answer", where=DIFF, footer="other", priority=True),
            Action("diff-take", "enter", "Take the answer that is marked", where=DIFF, footer="take", priority=True),
            Action("diff-toggle", "space", "Take the hunk, or leave it", where=DIFF, footer="hunk"),
            Action("diff-next", "j", "The next hunk", where=DIFF, footer="next"),
            Action("diff-before", "k", "The hunk before", where=DIFF),
            Action("diff-all", "a", "Take all hunks, or none", where=DIFF),
            Action("diff-split", "s", "Split the hunk into smaller ones", where=DIFF),
            Action("diff-edit", "e", "Edit the hunk", "In your editor: $VISUAL or $EDITOR.", where=DIFF, footer="edit"),
            Action("diff-wrap", "w", "Wrap long lines, or not", where=DIFF, footer="wrap"),
        )
    ),
)


def bindings_of(where: str) -> list[BindingType]:
    """The bindings of the node that carries out these actions."""
    return [
        Binding(
            key,
            _call(action, key),
            action.footer or action.title,
            show=bool(action.footer),
            priority=action.priority,
            id=action.id if action.id != "message-block" else f"message-block-{key}",
        )
        for action in ACTIONS
        if action.where == where and action.keys
        for key in (action.keys.split(",") if action.id == "message-block" else [action.keys])
    ]


def _call(action: Action, key: str) -> str:
    """The call that Textual is to make."""
    if action.where == MAIN:
        return f"command({action.id!r})"
    if action.id == "message-block":
        return f"{action.method}({key!r})"
    if action.where == MESSAGE and action.id != "message-copy":
        return f"request({action.id!r})"
    return action.method


def checked_keymap(keymap: Mapping[str, object]) -> dict[str, str]:
    """The table [keymap] as Textual takes it. Raises UsageError for unknown actions and keys."""
    found = {}
    for id_, keys in keymap.items():
        if id_ not in _BY_ID:
            near = next(iter(difflib.get_close_matches(id_, _BY_ID, 1, 0.0)), "")
            raise UsageError(f"[keymap] names an action {id_!r} that there is not", f"did you mean {near}?")
        if not isinstance(keys, str) or not all(_KEY.fullmatch(key.strip()) for key in keys.split(",")):
            raise UsageError(f"[keymap] {id_} must be keys like {_BY_ID[id_].keys or 'f12'!r}", "several by commas")
        for key in map(str.strip, keys.split(",")):
            if near := key_problem(key):
                raise UsageError(f"[keymap] {id_} = {key!r} is no key", near)
        found[id_] = ",".join(key.strip() for key in keys.split(","))
    return found


def action_of(id_: str) -> Action:
    """The action of this id. Raises KeyError."""
    return _BY_ID[id_]


def slash_command(typed: str) -> tuple[Action, str] | None:
    """The action and argument of a slash command; None if this is a question. Raises UsageError for what is neither."""
    found = commands.parse(typed, SLASH_WORDS)
    return None if found is None else (_BY_SLASH[found[0].name], found[1])


_BY_ID = {action.id: action for action in ACTIONS}
_BY_SLASH = {action.slash: action for action in ACTIONS if action.slash}
SLASH_WORDS = {name: replace(_COMMANDS[name], help=action.title) for name, action in _BY_SLASH.items()}
"""The slash commands by what is typed, aliases last, described as in palette and help."""
SLASH_WORDS |= {each.alias: each for each in SLASH_WORDS.values() if each.alias}
