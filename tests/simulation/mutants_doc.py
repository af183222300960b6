#!/usr/bin/env python3
"""Writes the table of mutants into tests/simulation/README.md, or checks that the table there is the program's.

    mutants_doc.py PROGRAM DOCUMENT [--write]

PROGRAM is tenure-sim; the output of its --list is the only source.
"""

import pathlib
import subprocess
import sys

BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"


def table(program):
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(" | ") for line in listed.splitlines()]
    lines = ["| mutant | breaks | store | what it does |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {rule} | {store} | {what} |" for name, rule, store, what in rows]
    return "\n".join(lines) + "\n"


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[2])
    text = path.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        sys.exit(f"{path}: the marks {BEGIN.strip()} and {END.strip()} are missing")
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    wanted = head + BEGIN + table(program) + END + tail
    if "--write" in sys.argv[3:]:
        path.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        sys.exit(f"{path}: the table of mutants is not that of {program} --list; mutants_doc.py --write puts it right")


if __name__ == "__main__":
    main()
