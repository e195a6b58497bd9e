"""A screen a file; see `lacli_tui.app` for how one returns its result. The names the main screen knows them by:

`confirm.ConfirmScreen(question, yes="yes")` -> bool · `diff.DiffScreen(title, choosing, notes, edited)` -> bytes | None
(what the file becomes) · `files.FilesScreen(folder, query)` -> str | None (a path as the prompt shows it) ·
`models.ModelsScreen(current)` -> str | None (a name, or a path) · `sessions.SessionsScreen(current, project)` -> str |
None (an id) · `palette.PaletteScreen(actions, keymap)` -> str | None (the id of an action) ·
`pool.PoolScreen(folder, settings)`, `settings.SettingsScreen(rows, copy)`, `help.HelpScreen(keymap)` -> None ·
`line.LineScreen(question, placeholder, value)` -> str · `themes.ThemesScreen(current, names, preview)` -> str | None (a
name).

All but the main one are a `dialog.Dialog`: a frame, and the keys that apply in a line below. Those with a list are a
`picker.ListDialog`, those that search in it while one types a `picker.Picker`. What may wait for a disk is done
`lacli_tui.background`. Each imports nothing heavy and is imported when it is opened.
"""
