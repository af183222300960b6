#!/usr/bin/env python3
"""Figures of the product's sources and pages that may only fall: scripts/house.txt has the bounds, and lint.py compares.

Lines are those that are neither blank nor comment. `--lower` writes today's figures where they have fallen.
"""

import argparse
import pathlib
import re
import sys

import prose

FOLDERS = ("adapters", "cli", "config", "election", "lockcore")
NOT_CORE = ("lockcore/stores/", "lockcore/net/", "lockcore/aws/", "lockcore/kubernetes/")
SHORT_FILE = 40
STORES = re.compile(r"sqlite|dynamodb|postgres|etcd|kubernetes|(?<![a-z])s3(?![a-z])|redis", re.IGNORECASE)
TYPE = re.compile(r"^\s*(?:template\s*<[^>]*>\s*)?(?:class|struct|enum class|enum)\s+(?:\[\[\w+\]\]\s+)?"
                  r"(?:TENURE_API\s+)?\w+[^;(){}]*\{", re.MULTILINE)
# Not the field's words for what they named here; each is to be replaced by the standard term.
TYPE_WORDS = ("Tidings", "Complaint", "Bell", "Order", "Opener", "Patient", "Wish", "Seat", "Glance", "Lanes")
WORDS = ("trouble", "refusal", "complaint")  # in prose too
LITERAL_OR_COMMENT = re.compile(r'R"([^(\s]*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                                r"'(?:\\.|[^'\\\n])+'", re.DOTALL)


def without_comments(text):
    return LITERAL_OR_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text)


def without_literals(text):
    return LITERAL_OR_COMMENT.sub(lambda m: re.sub(r"[^\n]", " " if m[0].startswith("/") else "x", m[0]), text)


def uses(word, text):
    """Of the word alone or as a part of a name: `trouble`, `Trouble`, `aTroubleOf`, `trouble_`; not of `untroubled`."""
    return len(re.findall(rf"(?<![A-Za-z]){word}(?![a-z])|{word.capitalize()}(?![a-z])", text))


def measure(texts):
    """The figures of a tree, {name: text}."""
    product = {n: t for n, t in texts.items() if n.endswith((".cpp", ".hpp")) and n.split("/")[0] in FOLDERS}
    code = {n: without_comments(t) for n, t in product.items()}
    lines = {n: sum(1 for line in without_literals(t).splitlines() if line.strip()) for n, t in product.items()}
    installed = [n for n in product if "/include/tenure/" in n and n.endswith(".hpp")]
    figures = {
        "installed_headers": len(installed),
        "installed_types": sum(len(TYPE.findall(without_literals(product[n]))) for n in installed),
        "files": len(product),
        "short_files_permille": 1000 * sum(len(t.splitlines()) < SHORT_FILE for t in product.values())
                                // max(1, len(product)),
        "lines": sum(lines.values()),
    }
    for folder in FOLDERS:
        figures[f"lines.{folder}"] = sum(c for n, c in lines.items() if n.startswith(f"{folder}/"))
    figures["lines.lockcore_without_stores_net_aws"] = sum(
        c for n, c in lines.items() if n.startswith("lockcore/") and not n.startswith(NOT_CORE))
    figures["store_names.cli_election"] = sum(
        bool(STORES.search(line)) for n, t in code.items() if n.startswith(("cli/", "election/"))
        for line in t.splitlines())
    for word in TYPE_WORDS:
        figures[f"word.{word}"] = sum(len(re.findall(rf"{word}(?![a-z])", t)) for t in product.values())
    for word in WORDS:
        figures[f"word.{word}"] = sum(uses(word, t) for t in product.values())
    figures |= {f"prose.{part}": count for part, count in prose.totals(texts).items()}
    return figures


def read_bounds(text):
    """{figure: bound}. A line is `<figure> <bound>` and, after `#`, why it was raised."""
    bounds = {}
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if words:
            bounds[words[0]] = int(words[1])
    return bounds


def compare(bounds, figures):
    """(faults, slack): texts about what is above its bound or has none, and the figures that have fallen."""
    faults = [f"{name} is {value}, and may be {bounds[name]}" if name in bounds else f"{name} has no bound"
              for name, value in figures.items() if value > bounds.get(name, -1)]
    faults += [f"{name} is no figure" for name in bounds if name not in figures]
    return faults, {n: v for n, v in figures.items() if v < bounds.get(n, v)}


def lower(text, slack):
    """A reason for a raise goes with it."""
    return "".join(f"{line.split()[0]} {slack[line.split()[0]]}\n"
                   if line.split() and line.split()[0] in slack else line
                   for line in text.splitlines(keepends=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="write the figures that have fallen to scripts/house.txt")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    texts = prose.tree_of(root) | {str(p.relative_to(root)): p.read_text(encoding="utf-8") for folder in FOLDERS
                                   for p in (root / folder).rglob("*.[ch]pp")}
    file = root / "scripts" / "house.txt"
    text = file.read_text(encoding="utf-8")
    faults, slack = compare(read_bounds(text), measure(texts))
    if options.lower:
        file.write_text(lower(text, slack), encoding="utf-8")
    for line in faults + [f"{name} has fallen to {value}" for name, value in slack.items()]:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
