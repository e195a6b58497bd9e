"""What the main screen owns: a class a file, each with its own fields, given what it needs in its constructor.

`screen` is the Textual screen that runs their workers and timers and opens their dialogs; they use nothing else of it.
Which action of `lacli_tui.actions` is whose method says the table in `screens.main`.
"""
