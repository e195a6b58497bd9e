"""How this computer is named as a host: by the address served by default, and by every other name for it. Pure."""

from __future__ import annotations

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "::1", "localhost")


def in_url(host: str) -> str:
    """A host as it stands in URLs and Host headers: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
