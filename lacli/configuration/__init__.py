"""Configuration files: reading with positions, checking against a schema, merging, rewriting.

Pure except for the file that is read or written. The schema comes from `cli.framework.schema`; the only options known
by name here are those that `trust` judges. May not import typer.
"""
