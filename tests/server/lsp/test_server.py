"""`lacli lsp`: what it completes, in this process and as one of its own with pygls' client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import Workspace

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.main import main
from lacli.config import Settings
from lacli.errors import WorkerDied
from lacli.events import Place
from lacli.server.lsp.completer import Completer
from lacli.server.lsp.documents import Document
from lacli.server.lsp.server import LacliServer
from lacli.server.lsp.start import Start
from lacli.server.stdio.engine import Engines
from tests.server import door


def params(uri: str, line: int, character: int, chosen: Any = None) -> types.InlineCompletionParams:
    context = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic, chosen)
    return types.InlineCompletionParams(context, types.TextDocumentIdentifier(uri), types.Position(line, character))


class Told(LacliServer):
    """Notes what the user is told."""

    def __init__(self, engine: Any, start: Start = Start()) -> None:  # noqa: B008 - frozen
        self.engines = Engines(lambda settings: engine)
        super().__init__(Completer(start, self.engines))
        self.shown: list[str] = []

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        self.shown.append(params.message)

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.protocol.documents[uri] = Document(uri, language, text)


def completed(server: Told, *arguments: Any) -> Any:
    async def go() -> Any:
        try:
            return (await server.complete(params(*arguments))).items
        finally:
            server.engines.close()

    return asyncio.run(go())


def place(engine: ScriptedAssistant) -> Place:
    asked = engine.requests[-1].place
    assert asked is not None
    return asked


class TestACompletion:
    def test_is_the_text_for_the_cursor(self, tmp_path: Path) -> None:
        uri = (tmp_path / "a.py").as_uri()
        engine = ScriptedAssistant(["return 1"])
        server = Told(engine, Start(scope="line", max_lines=3))
        server.open(uri, "x = '😋'; y = \r\nz = 1\r\n")
        (item,) = completed(server, uri, 0, 14)
        assert item.insert_text == "return 1"
        assert item.range == types.Range(types.Position(0, 14), types.Position(0, 14))
        asked = place(engine)
        assert (asked.prefix, asked.suffix) == ("x = '😋'; y = ", "\nz = 1\n")
        assert (asked.path, asked.scope, asked.max_lines) == ("a.py", "line", 3)
        assert engine.requests[-1].begins_again
        assert engine.requests[-1].tried_once

    def test_goes_on_from_the_entry_that_is_chosen_in_a_menu(self, tmp_path: Path) -> None:
        uri = (tmp_path / "a.py").as_uri()
        engine = ScriptedAssistant(["(1)"])
        server = Told(engine)
        server.open(uri, "import os\nos.pat\n")
        where = types.Range(types.Position(1, 3), types.Position(1, 6))
        (item,) = completed(server, uri, 1, 6, types.SelectedCompletionInfo(where, "path"))
        assert place(engine).prefix == "import os\nos.path"
        assert (item.insert_text, item.range) == ("path(1)", where)

    def test_of_a_file_without_a_name_has_the_editor_s_language(self) -> None:
        engine = ScriptedAssistant(["x"])
        server = Told(engine)
        server.open("untitled:1", "fn main() {", "rust")
        completed(server, "untitled:1", 0, 11)
        assert (place(engine).path, place(engine).language) == ("", "rust")

    def test_has_the_language_that_the_editor_names(self) -> None:
        engine = ScriptedAssistant(["x"])
        server = Told(engine)
        server.protocol._workspace = Workspace(None)
        item = types.TextDocumentItem("untitled:1", types.LanguageKind.Rust, 1, "fn main() {")
        server.protocol.lsp_text_document__did_open(types.DidOpenTextDocumentParams(item))
        completed(server, "untitled:1", 0, 11)
        assert place(engine).language == "rust"

    def test_stands_in_its_project_with_other_files_of_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("objects", "refs"):
            (tmp_path / "site" / ".git" / name).mkdir(parents=True)
        (tmp_path / "site" / ".git" / "HEAD").touch()
        (tmp_path / "site" / "src").mkdir()
        (tmp_path / "site" / "src" / "b.py").write_text("def helper():\n    return 7\n")
        uri = (tmp_path / "site" / "src" / "a.py").as_uri()
        engine = ScriptedAssistant(["x"] * 2)
        start = Start(settings=Settings(model="qwen2.5-coder-1.5b"))
        server = Told(engine, start)
        server.open(uri, "from b import helper\n\nhel")
        completed(server, uri, 2, 3)
        asked = place(engine)
        assert (asked.path, asked.project) == ("src/a.py", "site")
        assert [each.label for each in asked.context] == ["src/b.py"]
        assert engine.entered[-1].folder == tmp_path / "site" / "src"

    def test_of_letters_that_are_none_does_no_harm(self) -> None:
        engine = ScriptedAssistant(["x"])
        server = Told(engine)
        server.open("untitled:1", "a = '\ud800' + b\udc00", "python")
        assert completed(server, "untitled:1", 0, 7)
        (place(engine).prefix + place(engine).suffix).encode()

    def test_of_an_unknown_file_or_a_notebook_is_none(self, tmp_path: Path) -> None:
        notebook = (tmp_path / "a.ipynb").as_uri()
        server = Told(ScriptedAssistant([]))
        server.open(notebook, "{}", "json")
        assert not completed(server, "file:///nosuch.py", 0, 0)
        assert not completed(server, notebook, 0, 1)

    def test_that_fails_is_none_and_the_user_is_told_once(self) -> None:
        server = Told(ScriptedAssistant([WorkerDied("it died", "go on")] * 2))
        server.open("untitled:1", "x", "python")

        async def go() -> None:
            for _ in range(2):
                assert not (await server.complete(params("untitled:1", 0, 1))).items

        asyncio.run(go())
        server.engines.close()
        assert server.shown == ["lacli: it died; go on"]

    def test_gives_way_to_a_newer_one(self) -> None:
        from tests.worker.worker_child import Slow

        server = Told(Slow())
        server.open("untitled:1", "x", "python")

        async def go() -> None:
            first = asyncio.create_task(server.complete(params("untitled:1", 0, 1)))
            await asyncio.sleep(0.05)
            second = asyncio.create_task(server.complete(params("untitled:1", 0, 1)))
            assert not (await first).items
            assert not second.done()
            second.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await second

        asyncio.run(go())
        server.engines.close()


@contextlib.asynccontextmanager
async def client(command: Sequence[str], *encodings: types.PositionEncodingKind) -> AsyncIterator[LanguageClient]:
    """pygls' client with a server of its own."""
    editor = LanguageClient("editor", "1")
    await editor.start_io(*command, env=dict(os.environ))
    general = types.GeneralClientCapabilities(position_encodings=list(encodings) or None)
    await editor.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities(general=general)))
    editor.initialized(types.InitializedParams())
    yield editor
    await editor.shutdown_async(None)
    editor.exit(None)
    await asyncio.wait_for(editor.stop(), door.ENOUGH_S)


def opened(editor: LanguageClient, uri: str, text: str) -> None:
    item = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=text)
    editor.text_document_did_open(types.DidOpenTextDocumentParams(item))


class TestAProcess:
    def test_completes_what_was_typed_and_ends(self, tmp_path: Path) -> None:
        uri = (tmp_path / "a.py").as_uri()

        async def go() -> None:
            async with client(door.command('["one", "two"]', "lsp"), types.PositionEncodingKind.Utf8) as editor:
                opened(editor, uri, "x = 1\n")
                change = types.TextDocumentContentChangePartial(
                    types.Range(types.Position(0, 4), types.Position(0, 5)), "'ç' + "
                )
                document = types.VersionedTextDocumentIdentifier(2, uri)
                editor.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
                answer = await editor.text_document_inline_completion_async(params(uri, 0, 11))
                (item,) = answer.items
                assert (item.insert_text, item.range.start.character) == ("one", 11)
                server = editor._server
                (worker,) = door.children(server.pid)
            assert server.returncode == 0
            assert not worker.is_running()
            assert b"Traceback" not in await server.stderr.read()

        asyncio.run(go())

    @pytest.mark.slow
    def test_ends_a_completion_that_is_cancelled(self) -> None:
        async def go() -> None:
            async with client(door.command("slow", "lsp")) as editor:
                opened(editor, "untitled:1", "x")
                for _ in range(2):
                    answer = editor.protocol.send_request_async(
                        types.TEXT_DOCUMENT_INLINE_COMPLETION, params("untitled:1", 0, 1), msg_id="one"
                    )
                    await asyncio.sleep(0.3)
                    editor.cancel_request(types.CancelParams(id="one"))
                    with pytest.raises(Exception, match="cancel"):
                        await asyncio.wait_for(answer, door.ENOUGH_S)

        asyncio.run(go())

    def test_lives_on_after_what_is_no_message_and_ends_with_stdin(self, tmp_path: Path) -> None:
        def framed(body: bytes) -> bytes:
            return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

        start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None}}
        sent = b"".join(
            [
                *(framed(each) for each in (b"nonsense", b"[1]", b"3", b'{"jsonrpc":"2.0"}', b"[" * 90_000, b"{}")),
                framed(b'{"jsonrpc":"2.0","id":7,"method":"nosuch"}'),
                framed(b'{"jsonrpc":"2.0","id":8,"method":"textDocument/inlineCompletion","params":{"a":1}}'),
                framed(json.dumps(start).encode()),
            ]
        )
        running = subprocess.Popen(
            door.command('["hi"]', "lsp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = running.communicate(sent, timeout=door.ENOUGH_S)
        assert running.returncode == 0
        assert b"inlineCompletionProvider" in out
        assert out.startswith(b"Content-Length: ")
        assert b"says hello" not in out
        assert b"Traceback" not in err

    def test_completes_with_the_default_model_as_the_command_does(
        self,
        sandbox_with_model: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / "a.py"
        text = "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return "
        file.write_text(text)

        async def go() -> str:
            async with client(door.real("lsp")) as editor:
                opened(editor, file.as_uri(), text)
                answer = await editor.text_document_inline_completion_async(params(file.as_uri(), 5, 11))
                return answer.items[0].insert_text

        inserted = asyncio.run(go())
        monkeypatch.chdir(tmp_path)
        assert main(["complete", "a.py"]) == 0
        assert capfd.readouterr().out.rstrip("\n") == inserted.rstrip("\n")


def test_without_its_packages_the_remedy_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["lsp"]) == 1
    err = capfd.readouterr().err
    assert err == "lacli: error: lacli lsp needs the package pygls; install it with `pip install 'lacli[lsp]'`\n"
