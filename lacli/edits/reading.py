from lacli.edits.intent import Intent
import re


def intent_of(instruction, text, outline):
    words = set(re.findall(r"[\w.]+", instruction))
    words |= {w.split(".")[-1] for w in words}
    names = {d.name for d in outline.definitions if d.name in words} if outline else set()
    return Intent(instruction, frozenset(names))
