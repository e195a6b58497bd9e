"""A server of each kind whose answers are scripted: recorded shapes of what real ones send, and ways to misbehave.

It listens on this computer only, and keeps what it was sent.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

WORDS = ("Use", " `os.replace`", ",", " which", " is", " atomic", ".")
TEXT = "".join(WORDS)
OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llama-server": "llamacpp",
    "ollama": "library",
    "openai": "system",
    "lacli": "lacli",
}
PROMPT_N, CACHED_N, PREDICTED_N, STEPS, DRAFTED, ACCEPTED = 12, 4, 7, 3, 9, 3


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Answer:
    """What is sent back: a status with a body, or raw parts with pauses between them."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    parts: Sequence[bytes | float] = ()
    """Of a stream: bytes to send, or seconds to wait."""
    cut: bool = False
    """Whether the connection is reset after the parts instead of ended."""


Script = Answer | Callable[[Asked], Answer]


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def chunks(kind: str, words: Sequence[str] = WORDS, chat: bool = True, told: bool = True) -> list[bytes]:
    """A stream as a server of this kind sends it; `told`: with its statistics."""
    parts = []
    for number, word in enumerate(words, start=1):
        said: dict[str, Any] = {"delta": {"content": word}} if chat else {"text": word}
        parts.append(event({"choices": [{"index": 0, **said, "finish_reason": None}], **_along(kind, number)}))
    last: dict[str, Any] = {"delta": {}} if chat else {"text": ""}
    parts.append(event({"choices": [{"index": 0, **last, "finish_reason": "stop"}], **_timings(kind, told)}))
    parts.append(event({"choices": [], "usage": _usage(), **(_statistics(kind) if told else {})}))
    return [*parts, DONE]


def _along(kind: str, number: int) -> dict[str, Any]:
    if kind in ("vllm", "sglang"):
        return {"usage": {"prompt_tokens": PROMPT_N, "completion_tokens": number}}
    return {"usage": None}


def _usage() -> dict[str, Any]:
    return {
        "prompt_tokens": PROMPT_N,
        "completion_tokens": PREDICTED_N,
        "total_tokens": PROMPT_N + PREDICTED_N,
        "prompt_tokens_details": {"cached_tokens": CACHED_N},
    }


def _timings(kind: str, told: bool) -> dict[str, Any]:
    if kind != "llama-server":
        return {}
    drafted = {"draft_n": DRAFTED, "draft_n_accepted": ACCEPTED} if told else {}
    timings = {"cache_n": CACHED_N, "prompt_n": PROMPT_N - CACHED_N, "prompt_ms": 20.5, "predicted_n": PREDICTED_N}
    return {"timings": timings | drafted}


def _statistics(kind: str) -> dict[str, Any]:
    spec = {"num_spec_steps": STEPS, "num_draft_tokens": DRAFTED, "num_accepted_draft_tokens": ACCEPTED}
    if kind in ("vllm", "lacli"):
        return {"metrics": {"speculative_decoding": {"mean_acceptance_length": 2.0, **spec}}}
    if kind == "sglang":
        details = {
            "spec_verify_ct": STEPS,
            "spec_num_proposed_drafts": DRAFTED,
            "spec_num_correct_drafts": ACCEPTED,
            "spec_accept_length": 2.0,
        }
        return {"sglext": {"spec_tokens_details": details}}
    return {}


def ollama_lines(words: Sequence[str] = WORDS) -> list[bytes]:
    """What /api/generate sends."""
    lines = [{"model": "m", "response": word, "done": False} for word in words]
    end = {"model": "m", "response": "", "done": True, "done_reason": "stop", "eval_count": PREDICTED_N}
    end |= {"prompt_eval_count": PROMPT_N, "prompt_eval_duration": 20_500_000}
    return [json.dumps(line).encode() + b"\n" for line in [*lines, end]]


class Server:
    """One that runs; `answers` are given in turn to what is asked besides the list of models, the last one again and
    again."""

    def __init__(self, kind: str, answers: Sequence[Script] = (), model: str = "m") -> None:
        self.kind, self.model = kind, model
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.doors: dict[str, Script] = {}
        """Answers of paths that are not those of replies."""
        self.gone = threading.Event()
        """Whether a client left in the middle of a stream."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def replies(self) -> list[Asked]:
        """What was asked of the model."""
        return [each for each in self.asked if each.method == "POST" and each.path not in self.doors]

    def close(self) -> None:
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            asked = _read(connection)
            if asked is None:
                return
            self.asked.append(asked)
            script = self._script(asked)
            self._send(connection, script if isinstance(script, Answer) else script(asked))

    def _script(self, asked: Asked) -> Script:
        if asked.path in self.doors:
            return self.doors[asked.path]
        if asked.method == "GET":
            return self._list() if asked.path == "/v1/models" else Answer(404)
        if len(self.answers) > 1:
            return self.answers.pop(0)
        return self.answers[0] if self.answers else self._usual(asked)

    def _list(self) -> Answer:
        entry = {"id": self.model, "object": "model", "owned_by": OWNERS[self.kind], "max_model_len": 4096}
        return Answer(body=json.dumps({"object": "list", "data": [entry]}).encode())

    def _usual(self, asked: Asked) -> Answer:
        if asked.path == "/api/generate":
            return Answer(parts=ollama_lines(), headers={"Content-Type": "application/x-ndjson"})
        if asked.path == "/infill":
            parts = [event({"content": word, "stop": False}) for word in WORDS]
            return Answer(parts=[*parts, event({"content": "", "stop": True, "stop_type": "eos"})])
        return Answer(parts=chunks(self.kind, chat=asked.path.endswith("/chat/completions")))

    def _send(self, connection: socket.socket, answer: Answer) -> None:
        headers = {"Content-Type": "text/event-stream" if answer.parts else "application/json", **answer.headers}
        if not answer.parts:
            headers["Content-Length"] = str(len(answer.body))
        lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in headers.items())]
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + answer.body)
        try:
            for part in answer.parts:
                if isinstance(part, bytes):
                    connection.sendall(part)
                else:
                    self._wait(connection, part)
        except OSError:
            self.gone.set()
            return
        if answer.cut:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def _wait(self, connection: socket.socket, seconds: float) -> None:
        """Wait; a client that leaves meanwhile ends it."""
        connection.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            if not connection.recv(1):
                raise OSError
        connection.settimeout(None)


def _read(connection: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part:
            return None
        data += part
        if data.startswith(b"\x16"):  # TLS, which nobody speaks here
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(1 << 16)
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, json.loads(body) if body else {})


@contextlib.contextmanager
def serving(kind: str = "vllm", *answers: Script, model: str = "m") -> Iterator[Server]:
    server = Server(kind, answers, model)
    try:
        yield server
    finally:
        server.close()


def refusal(status: int, message: str, **headers: str) -> Answer:
    """An error as OpenAI's API tells it."""
    body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)
