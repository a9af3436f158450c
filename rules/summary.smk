"""The last lines of a run."""


onsuccess:
    print("", *summarize(SETTINGS), sep="\n", file=sys.stderr)
