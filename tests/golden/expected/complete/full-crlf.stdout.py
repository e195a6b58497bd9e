import os␍
␍
␍
def rename(old, new):␍
    os.rename(old, new)␍
    return new␍
␍
␍
def main():␍
    rename("a", "b")␍
