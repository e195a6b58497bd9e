"""Programs of the comparison that answer at once, at a speed of their own."""

from __future__ import annotations

from typing import Any

SPEEDS = {"lacli default": 300.0, "llama.cpp": 100.0, "llama.cpp ngram-mod": 150.0, "llama.cpp ngram-cache": 90.0}


class StubField:
    """Answers at once, as lacli does, at a speed by process; remembers the orders."""

    def __init__(self, speeds: dict[str, float]) -> None:
        self.speeds = speeds
        self.orders: list[tuple[str, str, dict[str, Any]]] = []
        self.renewed: list[set[str]] = []

    def ask(self, name: str, do: str, **arguments: Any) -> dict[str, Any] | None:
        self.orders.append((name, do, arguments))
        if name not in self.speeds:
            return None
        if do == "read":
            return {"ms": 1000 * len(arguments["prompt"]) / self.speeds[name]}
        if do == "step_cost":
            return {"ms": {str(rows): [rows * self.speeds[name]] * 3 for rows in arguments["rows"]}}
        return {"token_ids": [7] * 11, "ms": 10_000 / self.speeds[name]}

    def renew(self, needed: set[str]) -> None:
        self.renewed.append(needed)

    def generated(self, name: str) -> list[dict[str, Any]]:
        return [arguments for asked, do, arguments in self.orders if asked == name and do == "generate"]
