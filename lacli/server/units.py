"""What has `lacli serve` started by the system: a unit of systemd, a property list of launchd. Only text."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from xml.sax.saxutils import escape

UNITS = ("systemd", "launchd")

_SYSTEMD = """\
# ~/.config/systemd/user/lacli.service, then: systemctl --user enable --now lacli
[Unit]
Description=lacli's engine

[Service]
ExecStart={command}
Restart=on-failure

[Install]
WantedBy=default.target
"""
_LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/lacli.plist, then: launchctl load -w ~/Library/LaunchAgents/lacli.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>lacli</string>
  <key>ProgramArguments</key>
  <array>
{arguments}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
"""


def unit(system: str, arguments: Sequence[str]) -> str:
    """The text for one of `UNITS` that runs `lacli serve` with these arguments."""
    command = [sys.executable, "-P", "-m", "lacli", "serve", *arguments]
    if system == "systemd":
        return _SYSTEMD.format(command=shlex.join(command).replace("%", "%%").replace("$", "$$"))
    lines = (f"    <string>{escape(each)}</string>" for each in command)
    return _LAUNCHD.format(arguments="\n".join(lines))
