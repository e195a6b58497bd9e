"""lacli: a local coding assistant for the terminal with exact lookahead decoding."""

__version__ = "0.1.0"
