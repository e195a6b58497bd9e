"""A screen a file; see `lacli_tui.app` for how one returns its result. The names the main screen knows them by:

`confirm.ConfirmScreen(question, yes="yes")` -> bool · `diff.DiffScreen(title, diff, notes)` -> bool (apply or not) ·
`files.FilesScreen(folder, query)` -> str | None (a path as the prompt shows it) · `models.ModelsScreen(current)` ->
str | None (a name) · `sessions.SessionsScreen(current, project)` -> str | None (an id) · `pool.PoolScreen(folder)`,
`settings.SettingsScreen(rows)`, `help.HelpScreen(keymap)` -> None · `prepare.PrepareScreen()`, told of `Loading` by
`show(loading)`, -> bool (False: not wanted) · `line.LineScreen(question, value)` -> str | None.
Each imports nothing heavy and is imported when it is opened.
"""
