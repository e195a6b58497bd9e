"""The terminal UI of lacli: `lacli tui`, `lacli-tui`. Never imports torch, which works in a child process.

`app` runs it, `actions` is the one registry of what keys, palette and slash commands do, `bridge` drives a `Replier`
in a thread, `talk` is what is said (no widget in it), `messages` are what widgets are told. A screen a file in
`screens`, a widget a file in `widgets`.
"""
