"""A package index and a hub on this machine, and who listens to what is said of a download."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from contextlib import suppress
from pathlib import Path

from lacli.models.progress import Progress


class Enough(BaseException):
    """Whoever waits for the model does so no longer."""


class Heard:
    """A report that remembers."""

    def __init__(self) -> None:
        self.steps: list[Progress] = []

    def __call__(self, step: Progress) -> None:
        self.steps.append(step)

    @property
    def text(self) -> str:
        return "\n".join(step.text for step in self.steps)


class Index(http.server.ThreadingHTTPServer):
    """A package index of the wheels beside this one; it may know of no ranges, and hold back the rest of one."""

    def __init__(self, wheel: Path, ranges: bool = True) -> None:
        self.wheel = wheel
        self.ranges = ranges
        self.most: int | None = None
        """So many bytes of the wheel are sent, and the rest when it is let go."""
        self.sent = threading.Event()
        self.let_go = threading.Event()
        self.asked: list[str | None] = []
        """The ranges of the wheel that were asked for."""
        super().__init__(("127.0.0.1", 0), _Files)


class _Files(http.server.BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        server = self.server
        if not self.path.endswith(".whl"):
            names = sorted(path.name for path in server.wheel.parent.glob("*.whl"))
            links = "".join(f'<a href="/{name}">{name}</a>' for name in names)
            page = f"<!DOCTYPE html><html><body>{links}</body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page.encode())
            return
        data, asked = (server.wheel.parent / self.path[1:]).read_bytes(), self.headers.get("Range")
        server.asked.append(asked)
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.ranges else 0
        if begin >= len(data):
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        most = len(data) if server.most is None else server.most
        with suppress(OSError):  # whoever asked may have gone
            self.wfile.write(data[begin:][:most])
            self.wfile.flush()
            if server.most is not None:
                server.sent.set()
                server.let_go.wait(20)
                self.wfile.write(data[begin:][most:])

    def log_message(self, *_: object) -> None:
        return None


class Hub(http.server.ThreadingHTTPServer):
    """A hub with one repository, or one that answers with a status."""

    def __init__(self, folder: Path | None, status: int = 200) -> None:
        self.folder = folder
        self.status = status
        self.digest = ""
        """The hash that all files are said to have; empty: the right one."""
        self.asked: list[str] = []
        self.ranges: list[int] = []
        super().__init__(("127.0.0.1", 0), _Answer)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        commit = "a" * 40
        if self.server.status != 200 or self.server.folder is None:
            headers = {"Location": "https://elsewhere.invalid/"} if self.server.status // 100 == 3 else {}
            if self.server.status == 403:
                headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"}
            return self.answer(self.server.status, b"", headers)
        files = sorted(path for path in self.server.folder.iterdir() if path.is_file())
        if self.path.startswith("/api/models/"):
            if "/tree/" in self.path:
                tree = [
                    {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": "b" * 40} for path in files
                ]
                return self.answer(200, json.dumps(tree).encode(), {})
            siblings = [{"rfilename": path.name} for path in files]
            document = {"id": "someone/tiny", "sha": commit, "siblings": siblings, "private": False}
            return self.answer(200, json.dumps(document).encode(), {})
        path = self.server.folder / self.path.rpartition("/")[2]
        data = path.read_bytes()
        weights = path.suffix in (
            ".safetensors",
            ".gguf",
        )  # these are in the hub's store of large files, named by another hash
        digest = self.server.digest or (hashlib.sha256(data) if weights else hashlib.sha1(data)).hexdigest()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{digest}"'}
        asked = self.headers.get("Range")
        if asked is not None:
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            self.server.ranges.append(begin)
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
            return self.answer(206, data[begin:], headers)
        return self.answer(200, data, headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None
