#!/usr/bin/env python3
"""Counts the markers of eight habits that make English hard to read, in pages, help texts, messages and public headers.

  prose.py                      the markers of each file, and the sums
  prose.py --show docs/a.md     each marker, as file:line: habit: the words around it
  prose.py --commit REVISION    those of a commit
  prose.py --words              the words of each page for users, and their sum

Code is left out: fenced blocks and `words like these`. scripts/house.txt bounds the sums: pages and help texts together, the other texts of
the program, and the comments of installed headers.
"""

import argparse
import collections
import io
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_OURS = ("THIRD_PARTY_NOTICES.md",)
NO_PRODUCT = ("bench", "examples", "scripts", "tests")
FOR_USERS = ("README.md", "docs/", "config/", "examples/")
SENTENCE = r"(?:^ *|[.:;]\s+|\|\s+|- |\*\*)"
HABITS = {
    "verb for a plain one": r"\b(?:tells?|told|bears?|borne|mend(?:s|ed|ing)?|lies?|lying|stands|stood|stand (?:still|there))\b"
                            r"|\b(?:go|goes|going|went|gone) on\b|\bbeg[aiu]ns? (?:anew|again)\b"
                            r"|\b(?:a|the|its|each|next|one|every|no|this|that|first|last|two|further|other) looks?\b"
                            r"|\bneed not\b|\b(?:trouble|wish|tidings)\b|\bcomplain\w*",
    "a body for a process": r"\b(?:[Ss]ome|[Nn]o|[Aa]ny|[Ee]very)body(?:'s)?\b",
    "no noun before it": rf"{SENTENCE}(?:What|Who|Whoever|Whatever|Where)\s(?=[^?.|]*\.)",
    "beside, of its own, else": r"\bbesides?\b|\bof (?:its|their|your|his|ours?|one's|an|my|somebody's|others'?) own\b"
                                r"|\b[Aa]lso (?:if|where|when|while|with|over|in|of)\b|\b[Ee]lse\b|\bby (?:it|them)sel(?:f|ves)\b",
    "no more": r"\b(?:no|any|nothing) more\b(?! than)|\bnot\b[^.]{0,20}\bany ?more\b|\bfor ever\b",
    "a sentence without its verb": rf"{SENTENCE}(?:Nor|Not so|Never(?= (?:a|the)\b)|As above|The same for)\b",
    "a sentence that hides its link": rf"{SENTENCE}So\b",
    "a link that says nothing": r"\[(?:how|why|what|where|some others|in full|more on it|what is not|what is)\]\(",
}
MARKER = {habit: re.compile(pattern, re.MULTILINE) for habit, pattern in HABITS.items()}
COMMENT = re.compile(r"//[/!<]*([^\n]*)")
LITERAL_OR_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\((?P<raw>.*?)\)\1"|"(?P<plain>(?:\\.|[^"\\\n])*)"', re.DOTALL)


def blanked(text):
    """Without its letters, but as many lines."""
    return re.sub(r"[^\n]", " ", text)


def prose_of_page(text):
    text = re.sub(r"^ *```.*?^ *```", lambda m: blanked(m[0]), text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda m: "x" * len(m[0]), text)


def prose_of_comments(text):
    return "\n".join(m[1] if (m := COMMENT.search(line)) else "" for line in text.splitlines())


def prose_of_literals(text):
    """Each literal that has a blank, on the line where it begins."""
    kept, end = [], 0
    for literal in LITERAL_OR_COMMENT.finditer(text):
        words = literal["raw"] or literal["plain"] or ""
        kept += [blanked(text[end:literal.start()]), words if " " in words else blanked(literal[0])]
        end = literal.end()
    return "".join(kept)


def part_of(name):
    """(part, how its prose is found), or None."""
    if name.endswith(".md") and name not in NOT_OURS:
        return "pages", prose_of_page
    if name.split("/")[0] in NO_PRODUCT:
        return None
    if "/include/tenure/" in name and name.endswith(".hpp"):
        return "headers", prose_of_comments
    if name.endswith((".cpp", ".hpp")):
        return "help" if re.search(r"help|_commands?\.cpp", pathlib.PurePath(name).name) else "messages", prose_of_literals
    return None


def markers(text):
    """[(line, habit, words around it)] of plain prose."""
    found = []
    for habit, marker in MARKER.items():
        for match in marker.finditer(text):
            start, end = max(0, match.start() - 30), match.end() + 30
            found.append((text.count("\n", 0, match.end() - 2) + 1, habit, " ".join(text[start:end].split())))
    return sorted(found)


def measure(texts):
    """{part: {file: [marker]}} of a tree, {name: text}."""
    parts = collections.defaultdict(dict)
    for name, text in texts.items():
        if part := part_of(name):
            parts[part[0]][name] = markers(part[1](text))
    return parts


def totals(texts):
    """The markers that scripts/house.txt bounds."""
    sums = {"markers": 0, "messages": 0, "headers": 0}
    for part, files in measure(texts).items():
        sums["markers" if part in ("pages", "help") else part] += sum(map(len, files.values()))
    return sums


def words(text):
    """How many words a reader of the page meets: without code blocks, comments and the targets of links."""
    text = re.sub(r"<!--.*?-->", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE), flags=re.DOTALL)
    return sum(1 for word in re.sub(r"\]\([^)]*\)", "]", text).split() if re.search(r"\w", word))


def words_of_users(texts):
    """{page: words} of the pages for users."""
    return {name: words(text) for name, text in texts.items() if name.endswith(".md") and name.startswith(FOR_USERS)}


def tree_of(root, commit=None):
    if commit:
        archive = subprocess.run(["git", "archive", commit], cwd=root, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return {m.name: tar.extractfile(m).read().decode() for m in tar.getmembers() if m.isfile() and part_of(m.name)}
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    return {name: (root / name).read_text(encoding="utf-8") for name in listed if part_of(name) and (root / name).is_file()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="count in this commit instead of the files")
    parser.add_argument("--show", action="store_true", help="each marker with its line")
    parser.add_argument("--words", action="store_true", help="the words of the pages for users")
    parser.add_argument("file", nargs="*", help="these files only")
    options = parser.parse_args()
    texts = {n: t for n, t in tree_of(ROOT, options.commit).items() if not options.file or n in options.file}
    if options.words:
        counted = words_of_users(texts)
        print("\n".join(f"{count:6} {name}" for name, count in sorted(counted.items(), key=lambda one: one[1])))
        print(f"{sum(counted.values()):6} in {len(counted)} pages")
        return 0
    parts = measure(texts)
    for part, files in sorted(parts.items()):
        for name, found in sorted(files.items()):
            if options.show:
                print("\n".join(f"{name}:{line}: {habit}: {words}" for line, habit, words in found), end="\n" if found else "")
            elif found:
                print(f"{len(found):5} {name}")
        print(f"{sum(map(len, files.values())):5} {part}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
