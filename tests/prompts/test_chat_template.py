"""Templates: the right one is found, and none of them can harm, hang or surprise (case T6)."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lacli.errors import ModelUnavailable
from lacli.models.hf import chat_template as module
from lacli.models.hf.chat_template import ChatTemplate, Refused
from lacli.prompts.template import load_template

NOW = datetime(2026, 3, 9, 8, 5)


def rendered(source: str, *contents: str) -> str:
    messages = [{"role": "user", "content": content} for content in contents or ("hi",)]
    return ChatTemplate(source, "m/chat_template.jinja").render(messages, {"bos_token": "<s>"}, NOW)


class TestWhichOne:
    def folder(self, path: Path, config: Any = None, **files: str) -> Path:
        if config is not None:
            (path / "tokenizer_config.json").write_text(json.dumps({"chat_template": config}), "utf-8")
        for name, text in files.items():
            (path / f"chat_template.{name}").write_text(text, "utf-8")
        return path

    def source(self, folder: Path) -> str | None:
        found = load_template(folder)
        return None if found is None else found.source

    def test_the_file_alone_is_enough(self, tmp_path: Path) -> None:
        assert self.source(self.folder(tmp_path, jinja="from the file")) == "from the file"

    def test_the_file_wins_over_the_configuration(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, "from the configuration", jinja="from the file")
        assert self.source(folder) == "from the file"

    def test_of_named_ones_the_default_is_taken(self, tmp_path: Path) -> None:
        named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
        assert self.source(self.folder(tmp_path, named)) == "plain"

    def test_without_a_default_the_first_is_taken(self, tmp_path: Path) -> None:
        assert self.source(self.folder(tmp_path, [{"name": "rag", "template": "first"}])) == "first"

    def test_the_older_json_file_is_read(self, tmp_path: Path) -> None:
        assert self.source(self.folder(tmp_path, json='{"chat_template": "old"}')) == "old"

    @pytest.mark.parametrize("config", [None, "", " \n", [], {}])
    def test_base_models_have_none(self, tmp_path: Path, config: Any) -> None:
        assert self.source(self.folder(tmp_path, config)) is None

    def test_a_damaged_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe\xfa")
        with pytest.raises(ModelUnavailable, match=tmp_path.name):
            load_template(tmp_path)


class TestRendering:
    def test_blocks_leave_no_blank_lines(self) -> None:
        source = "{{ bos_token }}\n{% for m in messages %}\n  {% if m.content %}\n{{ m.content }}\n  {% endif %}\n"
        source += "{% endfor %}"
        assert rendered(source, "a", "b") == "<s>\na\nb\n"

    def test_json_is_not_escaped_for_web_pages(self) -> None:
        assert rendered("{{ messages|tojson }}", "a<b>'é") == '[{"role": "user", "content": "a<b>\'é"}]'

    def test_training_marks_and_the_date_are_understood(self) -> None:
        source = "{% generation %}{{ messages[0].content }}{% endgeneration %} {{ strftime_now('%d %b %Y') }}"
        assert rendered(source) == "hi 09 Mar 2026"

    def test_loops_may_be_left_early(self) -> None:
        assert rendered("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}") == "01"

    def test_a_refusal_is_told_apart_from_a_failure(self) -> None:
        with pytest.raises(Refused, match="no system role"):
            rendered("{{ raise_exception('no system role') }}")

    def test_a_syntax_error_names_file_and_line(self) -> None:
        with pytest.raises(ModelUnavailable, match=r"m/chat_template\.jinja is damaged, line 2"):
            rendered("fine\n{% nonsense %}")

    def test_a_failure_names_file_and_line(self) -> None:
        with pytest.raises(ModelUnavailable, match=r"m/chat_template\.jinja fails, line 3: division by zero"):
            rendered("fine\n\n{{ 1 / 0 }}")

    @pytest.mark.parametrize(
        "source",
        [
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(90) }}",
        ],
    )
    def test_an_endless_one_is_stopped(self, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
        monkeypatch.setattr(module, "_SECONDS", 0.2)
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="does not end"):
            rendered(source)
        assert time.monotonic() - started < 5

    @pytest.mark.parametrize(
        "source",
        [
            "{{ 'x' * 10**11 }}",
            "{{ 9 ** 1000000000 }}",
            "{{ 'x'.center(10**11) }}",
            "{{ '%99999999999d' % 1 }}",
            "{{ '%99999999999d'|format(1) }}",
            "{{ ''.__class__.__mro__[1].__subclasses__() }}",
            "{% for i in range(10**9) %}{% endfor %}",
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        ],
    )
    def test_a_greedy_or_prying_one_is_refused(self, source: str) -> None:
        with pytest.raises(ModelUnavailable):
            rendered(source)
