"""Who is let in: the table of Host, Origin and token, what a project may be, and what may be asked how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lacli.config import Settings
from tests.server.http.engines import TOKEN, Doors, ScriptedEngine, serving

BODY = {"messages": [{"role": "user", "content": "q"}], "prompt": "q", "content": "q", "tokens": [1], "model": "small"}
POSTS = (
    *("/v1/chat/completions", "/v1/completions", "/infill", "/completion", "/tokenize", "/detokenize"),
    *("/apply-template", "/api/generate", "/api/chat", "/api/show"),
)
GETS = ("/v1/models", "/props", "/metrics", "/api/tags", "/api/ps", "/api/version")


def asked(doors: Doors, **options: Any) -> int:
    """The status of a chat."""
    status, _, answer = doors.send("POST", "/v1/chat/completions", BODY, **options)
    assert isinstance(json.loads(answer), dict)
    return status


class TestToken:
    @pytest.mark.parametrize("path", [*POSTS, *GETS, "/nowhere"])
    def test_nothing_is_served_without_it(self, doors: Doors, path: str) -> None:
        method = "POST" if path in POSTS else "GET"
        for token in (None, "", TOKEN[:-1], TOKEN + "x", "\xe9"):
            status, headers, _ = doors.send(method, path, BODY if path in POSTS else None, token=token)
            assert status == 401
            assert headers["www-authenticate"] == "Bearer"
        assert not doors.engine.asked
        assert not doors.engine.previewed

    def test_it_may_come_in_two_ways(self, doors: Doors) -> None:
        for headers in (
            {"authorization": f"Bearer {TOKEN}"},
            {"authorization": f"bearer  {TOKEN}"},
            {"x-api-key": TOKEN},
            {"authorization": "Bearer wrong", "x-api-key": TOKEN},
        ):
            assert asked(doors, headers=headers, token=None) == 200
        for headers in ({"authorization": TOKEN}, {"authorization": f"Basic {TOKEN}"}, {"cookie": TOKEN}):
            assert asked(doors, headers=headers, token=None) == 401

    def test_it_is_in_no_path(self, doors: Doors) -> None:
        assert doors.send("GET", f"/v1/models?api_key={TOKEN}", token=None)[0] == 401


class TestHost:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost:{port}", "LOCALHOST", "[::1]:{port}", "127.0.0.1:1"])
    def test_our_own_names(self, doors: Doors, host: str) -> None:
        assert asked(doors, headers={"host": host.format(port=doors.port)}) == 200

    @pytest.mark.parametrize(
        "host",
        [
            *("", "evil.example", "evil.example:8012", "localhost.evil.example", "localhost.", "x.localhost"),
            *("127.0.0.1.evil.example", "127.0.0.2", "printer.local", "0.0.0.0", "::1", "127.0.0.1:8012:1"),
            *("127.0.0.1@evil.example", "user@127.0.0.1", "[::1", "127.0.0.1:x", "localhost, evil.example"),
        ],
    )
    def test_every_other_name_is_refused(self, doors: Doors, host: str) -> None:
        assert asked(doors, headers={"host": host}) == 403
        assert doors.send("GET", "/health", headers={"host": host}, token=None)[0] == 403
        assert not doors.engine.asked

    def test_another_address_may_be_named_where_it_is_listened_at(self) -> None:
        with serving(ScriptedEngine(), host="0.0.0.0") as doors:
            assert asked(doors, headers={"host": "192.168.1.7:8012"}) == 200
            assert asked(doors, headers={"host": "localhost"}) == 200
            assert asked(doors, headers={"host": "evil.example"}) == 403


class TestOrigin:
    @pytest.mark.parametrize(
        "origin",
        [
            "null",
            "",
            "https://evil.example",
            "http://localhost:3000",
            "http://127.0.0.1",
            "vscode-webview://x",
            "file://",
        ],
    )
    def test_pages_of_others_are_refused(self, doors: Doors, origin: str) -> None:
        headers = {"origin": origin}
        assert asked(doors, headers=headers) == 403
        for method, path in (("GET", "/health"), ("OPTIONS", "/v1/chat/completions")):
            status, told, _ = doors.send(method, path, headers=headers, token=None)
            assert status == 403
            assert not [name for name in told if name.startswith("access-control")]

    def test_our_own_is_none_of_them(self, doors: Doors) -> None:
        assert asked(doors, headers={"origin": f"http://127.0.0.1:{doors.port}"}) == 200


class TestMethods:
    @pytest.mark.parametrize(("method", "path"), [("GET", "/infill"), ("PUT", "/v1/models"), ("DELETE", "/api/chat")])
    def test_others_are_named(self, doors: Doors, method: str, path: str) -> None:
        status, headers, answer = doors.send(method, path)
        assert status == 405
        assert headers["allow"]
        assert "error" in json.loads(answer)

    def test_head_and_options(self, doors: Doors) -> None:
        status, headers, answer = doors.send("HEAD", "/v1/models")
        assert (status, answer) == (200, b"")
        assert int(headers["content-length"]) > 0
        status, headers, _ = doors.send("OPTIONS", "/infill")
        assert (status, headers["allow"]) == (405, "POST")

    @pytest.mark.parametrize("path", ["/", "/v1", "/v1/../../etc/passwd", "/%2e%2e/x", "/v1/models/", "/api/pull"])
    def test_there_is_nothing_else(self, doors: Doors, path: str) -> None:
        assert doors.send("POST", path, BODY)[0] in (404, 405)

    def test_ollamas_api_says_how_it_is_switched_on(self) -> None:
        with serving(ScriptedEngine(), ollama=False) as doors:
            status, _, answer = doors.send("GET", "/api/tags")
            assert status == 404
            assert "`lacli serve --port N --ollama` serves it" in json.loads(answer)["error"]
            assert "Not Found" in json.loads(doors.send("GET", "/api/pull")[2])["error"]

    def test_every_api_tells_of_it_in_its_own_way(self, doors: Doors) -> None:
        assert json.loads(doors.send("POST", "/v1/x", BODY)[2])["error"]["type"] == "not_found_error"
        assert json.loads(doors.send("GET", "/infill")[2])["error"]["code"] == 405
        assert isinstance(json.loads(doors.send("GET", "/api/chat")[2])["error"], str)


class TestProject:
    def test_a_folder_that_exists(self, doors: Doors, tmp_path: Path) -> None:
        folder = tmp_path / "prøject"
        folder.mkdir()
        assert asked(doors, headers={"x-lacli-project": str(folder).encode().decode("latin-1")}) == 200
        settings = doors.engine.settings
        assert settings.folder == folder
        assert settings.pool
        assert settings.learn

    def test_without_one_nothing_is_read_or_learned(self, doors: Doors) -> None:
        assert asked(doors) == 200
        settings = doors.engine.settings
        assert (settings.folder, settings.pool, settings.learn, settings.keep_prompts) == (None, False, False, False)
        assert settings.offline

    def test_permissions_of_the_server_are_kept(self, tmp_path: Path) -> None:
        with serving(ScriptedEngine(), settings=Settings(pool=False, learn=False, context=99)) as doors:
            assert asked(doors, headers={"x-lacli-project": str(tmp_path)}) == 200
            settings = doors.engine.settings
            assert (settings.folder, settings.pool, settings.learn, settings.context) == (tmp_path, False, False, 99)

    @pytest.mark.parametrize("named", ["", ".", "..", "relative/x", "~", "/nowhere/at/all", "/etc/passwd", "C:\\x"])
    def test_anything_else_is_refused(self, doors: Doors, named: str) -> None:
        assert asked(doors, headers={"x-lacli-project": named}) == 400
        assert not doors.engine.asked
