"""The configuration files: reading with positions, checking against known keys, layering with origins, rewriting.

Pure but for the one file that is read or written; knows no option by name but those a project may not set. Which keys
there are is told by `cli.schema`. May not import typer.
"""
