import os


def rename(old, new):
    os.replace(old, new)


def main():
    rename("a", "b")
