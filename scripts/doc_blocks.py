#!/usr/bin/env python3
"""Takes the code blocks out of the documentation, so that what readers copy is what is tested.

A block is marked by a comment on the line above its fence:
  <!-- compiled: name -->   C++ that is compiled by the tests, as <name>.cpp
  <!-- loaded: name -->     YAML that config loads in a test, as <name>.yaml
  <!-- run: name -->        shell or Python that a test runs, or C# whose command lines it runs (tests/docs/run_blocks_test.py)
  <!-- fragment -->         a part that is not complete by itself; not tested

  doc_blocks.py extract compiled DIR   writes the marked blocks into DIR and prints their paths
  doc_blocks.py list                   prints what is marked, and where
  doc_blocks.py files                  prints the documents
  doc_blocks.py check                  fails unless every C++ and YAML block is marked, names are unique, links lead somewhere
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"^<!-- (?:(compiled|loaded|run): ([a-z][a-z0-9_]*)|(fragment)) -->$")
FENCE = re.compile(r"^ {0,3}```(\w*)\s*$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
SUFFIX = {"compiled": "cpp", "loaded": "yaml"}
LANGUAGES = {"compiled": ("cpp",), "loaded": ("yaml",), "run": ("sh", "python", "csharp")}


class Block:
    def __init__(self, document, line, language, kind, name):
        self.document, self.line, self.language, self.kind, self.name = document, line, language, kind, name
        self.lines = []

    @property
    def where(self):
        return f"{self.document}:{self.line}"

    def text(self):
        body = "\n".join(self.lines) + "\n"
        # With #line compilers name the document and its line in their messages.
        return f'#line {self.line + 1} "{self.document}"\n{body}' if self.kind == "compiled" else body


def documents(root):
    top = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY_NOTICES.md")]
    return [p for p in top if p.exists()] + sorted((root / "docs").rglob("*.md"))


def blocks_of(root, path):
    blocks, block, mark = [], None, None
    name = str(path.relative_to(root))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if block is not None:
            if fence and not fence.group(1):
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
        elif fence:
            kind = (mark.group(1) or mark.group(3)) if mark else None
            block = Block(name, number, fence.group(1), kind, mark.group(2) if mark else None)
            mark = None
        elif line.strip():
            mark = MARK.match(line.strip())
    if block is not None:
        raise SystemExit(f"{block.where}: the code block has no end")
    return blocks


def all_blocks(root):
    return [block for path in documents(root) for block in blocks_of(root, path)]


def extract(root, kind, directory):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for block in all_blocks(root):
        if block.kind != kind:
            continue
        path = directory / f"{block.name}.{SUFFIX[kind]}"
        if not path.exists() or path.read_text(encoding="utf-8") != block.text():
            path.write_text(block.text(), encoding="utf-8")  # an unchanged file keeps its time, so that nothing is built again
        print(path)


def anchors_of(path):
    """The anchors that GitHub makes from the headings of a document."""
    anchors, fenced = set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if FENCE.match(line):
            fenced = not fenced
        heading = re.match(r"^#+\s+(.*)", line)
        if heading and not fenced:
            anchors.add(re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-"))
    return anchors


def broken_links(root, path):
    name = path.relative_to(root)
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            linked = (path.parent / file).resolve() if file else path
            if not linked.exists():
                yield f"{name}:{number}: the link to {target} leads nowhere"
            elif anchor and linked.suffix == ".md" and anchor not in anchors_of(linked):
                yield f"{name}:{number}: {target}: there is no such heading"


def check(root):
    faults, seen = [], {}
    for block in all_blocks(root):
        if block.language in ("cpp", "yaml") and block.kind is None:
            mark = "compiled" if block.language == "cpp" else "loaded"
            faults.append(f"{block.where}: mark the {block.language} block: <!-- {mark}: name --> or <!-- fragment -->")
        if block.kind in LANGUAGES:
            if block.language not in LANGUAGES[block.kind]:
                faults.append(f"{block.where}: marked as {block.kind} but written in \"{block.language}\"")
            if block.name in seen:
                faults.append(f"{block.where}: the name {block.name} is taken by {seen[block.name]}")
            seen[block.name] = block.where
    for path in documents(root):
        faults += broken_links(root, path)
    return faults


def main(arguments):
    match arguments:
        case ["extract", ("compiled" | "loaded") as kind, directory]:
            extract(ROOT, kind, directory)
        case ["list"]:
            for block in all_blocks(ROOT):
                mark = f"{block.kind or 'unmarked'} {block.name or ''}".rstrip()
                print(f"{block.where}: {block.language or 'text'}, {mark}")
        case ["files"]:
            print("\n".join(str(path) for path in documents(ROOT)))
        case ["check"]:
            faults = check(ROOT)
            print("\n".join(faults), end="\n" if faults else "")
            return 1 if faults else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
