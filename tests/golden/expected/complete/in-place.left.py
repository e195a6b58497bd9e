import os


def rename(old, new):
    os.rename(old, new)
    x


def main():
    rename("a", "b")
