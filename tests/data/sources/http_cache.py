"""Keeps responses of GET requests on disk and decides, by their headers, whether they may be used again."""

import email.utils
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


class CacheControl:
    """The directives of a Cache-Control header."""

    def __init__(self, header=""):
        self.directives = {}
        for part in header.split(","):
            name, _, value = part.strip().partition("=")
            if name:
                self.directives[name.lower()] = value.strip('"') or None

    def __contains__(self, name):
        return name in self.directives

    def seconds(self, name):
        value = self.directives.get(name)
        if value is None:
            return None
        try:
            return max(0, int(value))
        except ValueError:
            return 0


class Entry:
    def __init__(self, url, status, headers, body, stored_at):
        self.url = url
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body
        self.stored_at = stored_at

    @property
    def control(self):
        return CacheControl(self.headers.get("cache-control", ""))

    def age(self, now):
        already = int(self.headers.get("age", 0) or 0)
        return already + max(0, now - self.stored_at)

    def lifetime(self):
        """Seconds this response is fresh for, by the strongest header that says so."""
        control = self.control
        for name in ("s-maxage", "max-age"):
            seconds = control.seconds(name)
            if seconds is not None:
                return seconds
        expires = _http_date(self.headers.get("expires"))
        if expires is not None:
            return max(0, expires - self.stored_at)
        modified = _http_date(self.headers.get("last-modified"))
        if modified is not None:
            return max(0, (self.stored_at - modified) * 0.1)
        return 0

    def is_fresh(self, now):
        return "no-cache" not in self.control and self.age(now) < self.lifetime()

    def validators(self):
        """Request headers that ask whether the response has changed."""
        headers = {}
        if "etag" in self.headers:
            headers["If-None-Match"] = self.headers["etag"]
        if "last-modified" in self.headers:
            headers["If-Modified-Since"] = self.headers["last-modified"]
        return headers


class HttpCache:
    def __init__(self, folder, most_bytes=50_000_000, clock=time.time):
        self.folder = Path(folder)
        self.most_bytes = most_bytes
        self.clock = clock
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, url):
        path = self._path(url)
        try:
            with open(path, "rb") as file:
                head = json.loads(file.readline())
                body = file.read()
        except (OSError, ValueError):
            return None
        if head.get("url") != normalise(url):
            return None
        return Entry(head["url"], head["status"], head["headers"], body, head["stored_at"])

    def put(self, url, status, headers, body):
        entry = Entry(normalise(url), status, headers, body, self.clock())
        if not may_store(entry):
            return None
        head = json.dumps(
            {"url": entry.url, "status": status, "headers": entry.headers, "stored_at": entry.stored_at}
        )
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(head.encode() + b"\n" + body)
        os.replace(temporary, self._path(url))
        self._shrink()
        return entry

    def forget(self, url):
        self._path(url).unlink(missing_ok=True)

    def fetch(self, url, send):
        """The response for `url`, asking `send(url, headers)` only where the stored one is not enough."""
        entry = self.get(url)
        if entry is not None and entry.is_fresh(self.clock()):
            return entry
        headers = entry.validators() if entry is not None else {}
        status, answer_headers, body = send(url, headers)
        if status == 304 and entry is not None:
            entry.headers.update({name.lower(): value for name, value in answer_headers.items()})
            return self.put(url, entry.status, entry.headers, entry.body) or entry
        stored = self.put(url, status, answer_headers, body)
        return stored or Entry(url, status, answer_headers, body, self.clock())

    def _path(self, url):
        return self.folder / hashlib.sha256(normalise(url).encode()).hexdigest()

    def _shrink(self):
        files = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)
        total = sum(path.stat().st_size for path in files)
        for path in files:
            if total <= self.most_bytes:
                break
            total -= path.stat().st_size
            path.unlink(missing_ok=True)


def may_store(entry):
    if entry.status not in (200, 203, 301, 404, 410):
        return False
    return "no-store" not in entry.control and entry.headers.get("vary", "") != "*"


def normalise(url):
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.port and (parts.scheme, parts.port) not in (("http", 80), ("https", 443)):
        host = f"{host}:{parts.port}"
    return urlunsplit((parts.scheme.lower(), host, parts.path or "/", parts.query, ""))


def _http_date(text):
    if not text:
        return None
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None
