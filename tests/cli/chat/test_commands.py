"""The slash commands, on a scripted assistant."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from lacli.chat.commands import commands
from lacli.cli.framework.options import Common
from lacli.errors import ModelUnavailable
from lacli.events import Finished, Piece, ReplyStats
from lacli.sessions.store import SessionStore, path
from tests.cli.chat.talking import asked, loop_of

CODE = "Here:\n\n```python\ndef add(a, b):\n    return a + b\n```\n\nand\n\n```sh\nls\n```\n"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, where the user stands."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the user; the first answer is no, the others are yes."""
    seen: list[str] = []

    def confirm(question: str, assume_yes: bool = False) -> bool:
        seen.append(question)
        return len(seen) > 1

    def one_of(question: str, *others: str) -> str:
        return "yes" if confirm(question) else ""

    def answered(question: str, default: str, hint: str = "") -> str:
        seen.append(question)
        return default or "typed.py"

    monkeypatch.setattr("lacli.cli.chat.results.confirm", confirm)
    monkeypatch.setattr("lacli.cli.chat.results.one_of", one_of)
    monkeypatch.setattr("lacli.cli.chat.results.answered", answered)
    return seen


def kept() -> list[list[str]]:
    """The questions of every session in the log, oldest session first."""
    store = SessionStore(path())
    return [
        [turn.question.text for turn in store.session(each.id).turns] for each in reversed(store.list(everywhere=True))
    ]


class TestDispatch:
    def test_help_shows_every_command(self, capfd: Captured) -> None:
        loop, _ = loop_of([])
        loop.handle("/help")
        shown = capfd.readouterr().err
        for command in commands("cli"):
            assert command.usage in shown
            assert command.help in shown

    @pytest.mark.parametrize(("typed", "near"), [("/retyr", "/retry"), ("/sav x.py", "/save"), ("/HELPP", "/help")])
    def test_a_mistyped_command_is_never_sent(self, typed: str, near: str, capfd: Captured) -> None:
        loop, made = loop_of([])
        assert loop.handle(typed)
        assert made[0].requests == []
        assert f"did you mean {near}?" in capfd.readouterr().err

    def test_a_word_that_is_no_command_is_never_sent_and_a_blank_before_it_sends_it(self, capfd: Captured) -> None:
        loop, made = loop_of(["yes", "no"])
        loop.handle("/explain this to me")
        assert made[0].requests == []
        assert "a blank before it sends it as a question" in capfd.readouterr().err
        loop.handle(" /explain this to me")
        loop.handle(" /retry")
        assert asked(made[0])[0::2] == ["/explain this to me", "/retry"]

    def test_a_path_that_exists_is_sent(self, project: Path) -> None:
        loop, made = loop_of(["yes"])
        loop.handle(f"{project} what is in it?")
        assert asked(made[0]) == [f"{project} what is in it?"]

    def test_a_block_of_lines_is_a_question_whatever_it_begins_with(self) -> None:
        loop, made = loop_of(["yes"])
        loop.handle('"""\n/save\nis it a command?\n"""')
        assert asked(made[0]) == ["/save\nis it a command?"]

    def test_a_failing_file_is_one_line_and_the_chat_goes_on(self, project: Path, capfd: Captured) -> None:
        loop, _ = loop_of(["x"])
        assert loop.handle("/file nosuch.py")
        assert loop.handle("/file")
        assert "there is no file nosuch.py" in capfd.readouterr().err


class TestTurns:
    def test_undo_and_retry_keep_the_log_in_step(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two", "other", "three"])
        for line in ("a?", "b?", "/retry"):
            loop.handle(line)
        assert "the same answer is to be expected, as temperature is 0" in capfd.readouterr().err
        (session,) = SessionStore(path()).list(everywhere=True)
        assert [t.answer.text for t in SessionStore(path()).session(session.id).turns] == ["one", "other"]
        loop.handle("/undo")
        assert [t.answer.text for t in SessionStore(path()).session(session.id).turns] == ["one", "two"]
        loop.handle("/undo")
        loop.handle("c?")
        assert asked(made[0]) == ["a?", "one", "c?"]
        assert kept() == [["a?", "c?"]]

    def test_retry_of_an_interrupted_answer_does_not_speak_of_temperature(self, capfd: Captured) -> None:
        half = [Piece("ha", ("",), ReplyStats()), Finished("ha", (1,), "cancelled", ReplyStats())]
        loop, _ = loop_of([half, "half and half"])
        loop.handle("a?")
        loop.handle("/retry")
        assert "to be expected" not in capfd.readouterr().err
        assert loop.chat.conversation.turns[0].answer.text == "half and half"

    def test_clear_begins_another_session_and_undo_goes_back_to_the_one_before(self) -> None:
        loop, made = loop_of(["one", "two", "three", "four"])
        for line in ("a?", "/clear", "b?", "/undo", "/undo", "c?"):
            loop.handle(line)
        assert asked(made[0]) == ["a?", "one", "c?"]
        assert kept()[0] == ["a?", "c?"]

    def test_compact_sums_up_and_undo_brings_the_turns_back(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two", "three", "summary", "four", "five"])
        for line in ("a?", "b?", "c?", "/compact"):
            loop.handle(line)
        captured = capfd.readouterr()
        assert "summary" in captured.out
        assert "2 older turns are replaced by the summary" in captured.err
        loop.handle("d?")
        assert asked(made[0])[1:] == ["summary", "c?", "three", "d?"]
        loop.handle("/undo")
        loop.handle("/undo")
        loop.handle("e?")
        assert asked(made[0]) == ["a?", "one", "b?", "two", "c?", "three", "e?"]
        assert ["a?", "b?", "c?", "e?"] in kept()

    def test_a_summary_that_was_stopped_changes_nothing(self, capfd: Captured) -> None:
        stopped = [Finished("half", (1,), "cancelled", ReplyStats())]
        loop, _ = loop_of(["one", "two", stopped])
        for line in ("a?", "b?", "/compact"):
            loop.handle(line)
        assert "the conversation is as it was" in capfd.readouterr().err
        assert len(loop.chat.conversation.turns) == 2

    def test_edit_puts_what_was_written_at_the_prompt(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EDITOR", f"{sys.executable} -c \"import sys; open(sys.argv[1], 'w').write('a\\nb\\n')\"")
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setattr("lacli.cli.terminal.editor.is_terminal", lambda stream: True)
        loop, made = loop_of([])
        loop.handle("/edit")
        assert loop.draft == "a\nb"
        assert made[0].requests == []

    def test_sessions_are_listed_and_gone_on_with(self, capfd: Captured) -> None:
        loop, _ = loop_of(["one", "two"])
        loop.handle("a?")
        id_ = loop.chat.recorder.id
        other, made = loop_of(["three"])
        other.handle("/sessions")
        assert f"{id_[:8]} " in capfd.readouterr().err
        other.handle(f"/sessions {id_[:6]}")
        assert "going on with session" in capfd.readouterr().err
        other.handle("b?")
        assert asked(made[0]) == ["a?", "one", "b?"]
        assert kept() == [["a?", "b?"]]
        other.handle("/sessions zzz")
        assert "begins with 'zzz'" in capfd.readouterr().err


class TestMaterial:
    def test_a_file_goes_with_the_next_question_only_and_can_be_dropped(self, project: Path, capfd: Captured) -> None:
        (project / "a b.py").write_text("x = 1\ny = 2\n")
        loop, made = loop_of(["one", "two"])
        loop.handle('/file "a b.py"')
        assert "a b.py (2 lines, ~3 tok) goes with the next question" in capfd.readouterr().err
        loop.handle("what?")
        loop.handle("and?")
        first, second = (request.messages for request in made[0].requests)
        assert [each.text for each in first[-1].attachments] == ["x = 1\ny = 2\n"]
        assert second[-1].attachments == ()
        loop.handle("/drop")
        assert "1  a b.py (2 lines, ~3 tok), went with a question" in capfd.readouterr().err
        loop.handle("/drop 2")
        loop.handle("/drop 1")
        captured = capfd.readouterr().err
        assert "there is no attached file 2" in captured
        assert loop.chat.conversation.attachments == []

    def test_a_path_in_the_words_is_shown(self, project: Path) -> None:
        (project / "a.py").write_text("x = 1\n")
        loop, made = loop_of(["one"])
        loop.handle("explain @a.py and @nosuch")
        (message,) = made[0].requests[0].messages
        assert message.text == "explain a.py and @nosuch"
        assert message.attachments[0].label == "a.py"

    def test_the_system_message_is_shown_set_and_kept(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two"])
        loop.handle("/system")
        loop.handle("a?")
        loop.handle("/system Answer in Latin")
        loop.handle("/system")
        assert "\nAnswer in Latin\n" in capfd.readouterr().err
        loop.handle("b?")
        assert asked(made[0])[0] == "Answer in Latin"
        assert SessionStore(path()).session(loop.chat.recorder.id).system == "Answer in Latin"

    def test_none_is_no_system_message(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two"])
        for line in ("/system Answer in Latin", "a?", "/system none", "/system", "b?"):
            loop.handle(line)
        said = capfd.readouterr().err
        assert "the system message is gone" in said
        assert "there is no system message" in said
        assert all(message.role != "system" for message in made[0].requests[-1].messages)
        assert SessionStore(path()).session(loop.chat.recorder.id).system == ""

    def test_a_template_is_put_at_the_prompt(self, capfd: Captured) -> None:
        from lacli.prompts import saved

        loop, made = loop_of([])
        loop.handle("/template")
        saved.save(saved.Saved("review", prompt="Review $input, please", system="Be strict"))
        loop.handle("/template")
        loop.handle("/template reveiw")
        loop.handle("/template review this file")
        shown = capfd.readouterr().err
        assert "no template is saved yet" in shown
        assert "  review\n" in shown
        assert "did you mean review?" in shown
        assert loop.draft == "Review this file, please"
        assert loop.chat.conversation.system == "Be strict"
        assert made[0].requests == []


class TestSettings:
    def test_an_option_is_set_for_the_next_reply(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two"])
        for line in ("/set temperature 0.7", "/set max-tokens 9", "/set stop 'a b' c", "/set top_p 0.5", "a?"):
            loop.handle(line)
        request = made[0].requests[0]
        assert (request.temperature, request.max_tokens, request.top_p) == (0.7, 9, 0.5)
        assert request.stops == ("a b", "c")
        loop.handle("/set stop none")
        loop.handle("/set temperature none")
        loop.handle("/set seed")
        loop.handle("b?")
        assert (made[0].requests[1].stops, made[0].requests[1].temperature) == ((), 0.0)
        assert "seed                none" in capfd.readouterr().err

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("/set temperature hot", "temperature: 'hot' is not a number"),
            ("/set top-p 7", "--top-p 7.0 is out of range; give a number above 0 and at most 1"),
            ("/set temprature 1", "there is no option temprature; did you mean temperature?"),
            ("/set model x", "there is no option model"),
        ],
    )
    def test_a_wrong_one_is_refused_as_its_flag_would_be(self, line: str, words: str, capfd: Captured) -> None:
        loop, _ = loop_of([])
        before = loop.chat.request
        loop.handle(line)
        assert words in capfd.readouterr().err
        assert loop.chat.request == before

    def test_another_model_goes_on_with_the_words_without_the_ids(self, capfd: Captured) -> None:
        loop, made = loop_of(["one", "two"])
        loop.handle("a?")
        loop.handle("/model codellama-7b")
        loop.handle("b?")
        assert made[0].closed
        assert asked(made[1]) == ["a?", "one", "b?"]
        assert made[1].requests[0].messages[1].token_ids == ()
        assert loop.chat.settings.model == "codellama-7b"

    def test_one_that_does_not_exist_or_cannot_be_loaded_leaves_the_one_before(
        self, capfd: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from lacli.assistant.scripted import ScriptedAssistant

        loop, made = loop_of(["one", "two", "three"])
        loop.handle("a?")
        loop.handle("/model nosuch")
        assert "no model named 'nosuch'" in capfd.readouterr().err
        assert len(made) == 1
        opened = ScriptedAssistant.open

        def failing(self: ScriptedAssistant, report: object = None) -> None:
            if self is made[1]:
                raise ModelUnavailable("not here", "fetch it")
            opened(self)

        monkeypatch.setattr(ScriptedAssistant, "open", failing)
        loop.handle("/model codellama-7b")
        loop.handle("b?")
        captured = capfd.readouterr().err
        assert "lacli: error: not here; fetch it" in captured
        assert "going on with scripted, the model before" in captured
        assert loop.draft == "b?"
        loop.handle("b?")
        assert asked(made[2]) == ["a?", "one", "b?"]
        assert loop.chat.settings.model is None

    def test_models_tokens_and_pool_are_shown(self, capfd: Captured) -> None:
        loop, _ = loop_of(["one two"])
        for line in ("three words here", "/model", "/tokens", "/pool"):
            loop.handle(line)
        shown = capfd.readouterr().err
        assert "* smollm2-135m" in shown
        listed = [line for line in shown.splitlines() if line.endswith("here")]
        assert {line.find(" not here") if "not" in line else line.find(" here") for line in listed} == {26}
        assert "5 tokens so far (1 turn)" in shown
        assert "512 kept free for the reply, 1,531 left for the question, of 2,048" in shown
        assert "no pool yet" in shown

    def test_without_the_pool_there_is_none_to_show(self, capfd: Captured) -> None:
        loop, _ = loop_of([], Common(pool=False))
        loop.handle("/pool")
        assert "the pool is off" in capfd.readouterr().err


class TestResults:
    def test_save_writes_the_chat_or_the_code_and_asks_before_it_overwrites(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        loop, _ = loop_of([CODE])
        loop.handle("/save a.md")
        assert "there is nothing to save yet" in capfd.readouterr().err
        loop.handle("show me")
        loop.handle("/save a.md")
        loop.handle("/save list.sh")
        assert (project / "a.md").read_text() == f"## You\n\nshow me\n\n## Assistant\n\n{CODE}"
        assert (project / "list.sh").read_text() == "ls\n"
        loop.handle("/save a.md")
        assert "nothing was written" in capfd.readouterr().err
        (project / "a.md").write_text("mine")
        (project / "a.md").chmod(0o640)
        loop.handle("/save a.md")
        assert (project / "a.md").read_text().startswith("## You")
        assert stat.S_IMODE((project / "a.md").stat().st_mode) == 0o640
        assert answers == ["a.md exists; overwrite it with the chat?"] * 2
        loop.handle(f"/save {project}")
        loop.handle("/save no/such/folder.md")
        assert answers[2:] == ["there is no folder no/such; make it, and put the chat into no/such/folder.md?"]
        assert (project / "no/such/folder.md").read_text().startswith("## You")
        assert "is a folder" in capfd.readouterr().err
        loop.handle("/save")
        assert answers[3:] == ["save the chat to"]
        assert list(project.glob("chat-*.md"))

    def test_a_number_takes_another_block_than_the_last(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
        loop, _ = loop_of([CODE])
        loop.handle("show me")
        loop.handle("/save 1 add.py")
        loop.handle("/save 1 add.md")
        loop.handle("/save ./7")
        loop.handle("/save 3 x.py")
        loop.handle("/apply 1 calc.py")
        loop.handle("/apply 1 calc.py")
        loop.handle("/save 1")
        loop.handle("/apply 3 calc.py")
        block = "def add(a, b):\n    return a + b\n"
        assert [(project / name).read_text() for name in ("add.py", "add.md", "calc.py", "typed.py")] == [block] * 4
        assert (project / "7").read_text() == "ls\n"
        assert not (project / "x.py").exists()
        captured = capfd.readouterr().err
        assert captured.count("there is no code block 3: the answer has 2 code blocks; a file of that name is ./3") == 2
        assert answers == ["code block 1 of 2: change calc.py?"] * 2 + ["save code block 1 of 2 to"]

    def test_apply_shows_a_diff_and_asks(self, project: Path, answers: list[str], capfd: Captured) -> None:
        (project / "calc.py").write_bytes(b"def add(a, b):\r\n    return a - b\r\n")
        fixed = "```python\ndef add(a, b):\n    return a + b\n```"
        loop, _ = loop_of(["no code", fixed])
        loop.handle("hello")
        loop.handle("/apply calc.py")
        loop.handle("/file calc.py")
        loop.handle("fix it")
        loop.handle("/apply")
        captured = capfd.readouterr().err
        assert "the reply has no code block" in captured
        assert "-    return a - b" in captured
        assert "+    return a + b" in captured
        assert "nothing was changed" in captured
        assert b"a - b" in (project / "calc.py").read_bytes()
        loop.handle("/apply")
        assert (project / "calc.py").read_bytes() == b"def add(a, b):\r\n    return a + b\r\n"
        loop.handle("/apply")
        assert "has just this text already" in capfd.readouterr().err
        loop.handle("/apply new.py")
        assert "@@ -0,0 +1,2 @@\n+def add(a, b):\n+    return a + b" in capfd.readouterr().err
        assert (project / "new.py").read_text() == "def add(a, b):\n    return a + b\n"
        assert answers[-1] == "code block 1: make new.py?"

    def test_what_would_be_written_elsewhere_than_in_the_project_is_asked_about(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        (project / "sub/.git").mkdir(parents=True)
        loop, _ = loop_of([CODE])
        loop.handle("show me")
        loop.handle("/apply 1 ../out2.py")
        captured = capfd.readouterr().err
        assert "warning: ../out2.py, outside the project" in captured
        assert "nothing was written" in captured
        assert not (project / "../out2.py").exists()
        loop.handle("/save 1 ../sv.py")
        loop.handle("/save sub/.git/config2")
        loop.handle("/save x9/")
        assert "x9/ is a folder" in capfd.readouterr().err
        assert not (project / "x9").exists()
        assert answers == [
            "code block 1 of 2: make ../out2.py, outside the project?",
            "put code block 1 of 2 into ../sv.py, outside the project?",
            "put code block 2 of 2 into sub/.git/config2, inside .git?",
        ]

    def test_the_file_an_answer_names_is_meant_and_asked_about(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        loop, _ = loop_of(["```python src/calc.py\ny = 1\n```\n\n```\n1\n```\n"])
        loop.handle("write it")
        loop.handle("/apply")
        loop.handle("/apply")
        assert answers == ["code block 1 of 2: make src/calc.py?"] * 2
        assert capfd.readouterr().err.count("warning: there is no folder src yet; it is made, too") == 2
        assert (project / "src/calc.py").read_text() == "y = 1\n"

    def test_a_part_takes_its_own_place_and_leaves_the_rest(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        (project / "long.py").write_text("".join(f"x{n} = {n}\n" for n in range(40)))
        (project / "link.py").symlink_to(project / "long.py")
        loop, _ = loop_of(["```python\nx3 = 4\n```\n"])
        loop.handle("only replace x3")
        loop.handle("/apply 1 link.py")
        shown = capfd.readouterr().err
        assert "-x3 = 3\n+x3 = 4\n" in shown
        assert "only x3 is put into the file" in shown
        assert answers == [f"code block 1: change link.py, a link to {project / 'long.py'}?"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_nothing_but_files_is_written_to_or_attached(
        self, project: Path, answers: list[str], capfd: Captured
    ) -> None:
        os.mkfifo(project / "pipe.py")
        loop, _ = loop_of([CODE])
        loop.handle("show me")
        for line in ("/save pipe.py", "/apply pipe.py", "/file pipe.py", "/save /dev/null"):
            loop.handle(line)
            assert "is not a regular file" in capfd.readouterr().err
        assert answers == []

    def test_a_file_that_is_surely_too_long_is_refused_when_it_is_attached(
        self, project: Path, capfd: Captured
    ) -> None:
        (project / "long.txt").write_text("word " * 3_000)
        loop, _ = loop_of([CODE], Common(ctx=1000))
        loop.handle("/file long.txt")
        assert "long.txt has about 3,800 tokens, and the context 1,000" in capfd.readouterr().err
        assert not loop.chat.conversation.pending

    def test_a_reply_cut_in_its_code_is_not_applied(self, project: Path, answers: list[str], capfd: Captured) -> None:
        (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
        loop, _ = loop_of(["```python\ndef add(a, b):\n"])
        loop.handle("fix it")
        loop.handle("/apply calc.py")
        loop.handle("/save calc2.py")
        loop.handle("/apply")
        captured = capfd.readouterr().err
        assert "calc.py is left as it is" in captured
        assert "is not complete" in captured
        assert "no file is attached" in captured
        assert answers == []
        assert not (project / "calc2.py").exists()

    def test_copy_gives_all_or_one_block_to_whoever_takes_it(
        self, monkeypatch: pytest.MonkeyPatch, capfd: Captured
    ) -> None:
        taken: list[str] = []

        def copied(text: str) -> list[str]:
            taken.append(text)
            return ["xclip"] if len(taken) < 3 else []

        monkeypatch.setattr("lacli.shared.clipboard.copied", copied)
        loop, _ = loop_of([CODE])
        for line in ("show me", "/copy", "/copy 2", "/copy 1", "/copy 3", "/copy x"):
            loop.handle(line)
        assert taken == [CODE, "ls", "def add(a, b):\n    return a + b"]
        captured = capfd.readouterr().err
        assert "code block 2 of 2: 2 characters copied to xclip" in captured
        assert "there is no clipboard that can be reached" in captured
        assert captured.count("the answer has 2 code blocks") == 2
