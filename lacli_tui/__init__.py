"""The terminal UI of lacli: `lacli tui`, `lacli-tui`. Never imports torch, which works in a child process.

`app` runs it; `actions` is the one registry of what keys, palette and slash commands do; `engine_session` connects the
shared chat of `lacli.chat` with an engine, through the thread of `bridge`; `controllers` are what the main screen owns.
A screen a file in `screens`, a widget a file in `widgets`; `messages` are what they tell each other.
"""
