"""The Language Server Protocol, as much of it as inline completion needs: pygls' server with documents of our own.

Translates; what a completion is shown and what comes of it is `completer`'s.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method
from pygls.uris import to_fs_path

import lacli
from lacli.assistant.cancel import CancelToken
from lacli.chat.outcome import fault
from lacli.errors import LacliError
from lacli.server.lsp.completer import Completer
from lacli.server.lsp.documents import Document
from lacli.server.stdio.streams import in_thread


class _Protocol(LanguageServerProtocol):
    """What pygls does of its own, but for the text of documents."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.documents: dict[str, Document] = {}

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answer a request with an error; `number` is its id, None where that could not be read."""
        self._send_response(number, None, error.to_response_error())

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        encoding = types.PositionEncodingKind(self.workspace.position_encoding).value
        language = opened.language_id
        name = language.value if isinstance(language, types.LanguageKind) else language
        self.documents[opened.uri] = Document(opened.uri, name, opened.text, encoding)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self.documents.get(params.text_document.uri)
        if document is not None:
            document.change(params.content_changes)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.documents.pop(params.text_document.uri, None)


class LacliServer(LanguageServer):
    """Completes at one place at a time: a newer request cancels the one before."""

    protocol: _Protocol

    def __init__(self, completer: Completer) -> None:
        super().__init__("lacli", lacli.__version__, protocol_cls=_Protocol)
        self._completer = completer
        self._running: CancelToken | None = None
        self._told: set[str] = set()
        """The failures that the user was told of: not again with every key."""
        self.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(_complete)
        self.feature(types.INITIALIZED)(_initialized)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What cannot be understood goes into the editor's log, not before the user's eyes; a request that fails is
        answered, and that is enough."""
        if source is FeatureRequestError:
            return
        said = types.LogMessageParams(types.MessageType.Warning, f"lacli: {error}")
        self.window_log_message(said)

    def cancel(self) -> None:
        """End the completion that is being written after its current step."""
        running, self._running = self._running, None
        if running is not None:
            running.cancel()

    async def load(self) -> None:
        """Have the model loaded before the first key."""
        folder = to_fs_path(self.workspace.root_uri or "") or ""
        await self._attempt(partial(self._completer.load, folder))

    async def complete(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        """What belongs at a place in an open file."""
        document = self.protocol.documents.get(params.text_document.uri)
        if document is None:
            return types.InlineCompletionList([])
        start = end = document.offset(params.position)
        begun = ""
        chosen = params.context.selected_completion_info
        if chosen is not None:  # an entry of the editor's menu, which what we write is to go on from
            start, end, begun = document.offset(chosen.range.start), document.offset(chosen.range.end), chosen.text
        before, after = document.text[:start] + begun, document.text[end:]
        where = types.Range(document.position(start), document.position(end))
        self.cancel()
        self._running = cancel = CancelToken()
        try:
            uri, language = document.uri, document.language
            text = await self._attempt(partial(self._completer.text, uri, language, before, after, cancel))
        except asyncio.CancelledError:
            cancel.cancel()
            raise
        finally:
            if self._running is cancel:
                self._running = None
        if cancel() or not text:
            return types.InlineCompletionList([])
        return types.InlineCompletionList([types.InlineCompletionItem(begun + text, range=where)])

    async def _attempt(self, work: Any) -> Any:
        """The result of work, or None where it failed, of which the user is told once."""
        try:
            return await in_thread(work)
        except (LacliError, OSError) as error:
            line = fault(error)
            said = f"lacli: {line.text}; {line.hint}" if line.hint else f"lacli: {line.text}"
            if said not in self._told:
                self._told.add(said)
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, said))
            return None


async def _complete(ls: LacliServer, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    return await ls.complete(params)


async def _initialized(ls: LacliServer, params: types.InitializedParams) -> None:
    await ls.load()
