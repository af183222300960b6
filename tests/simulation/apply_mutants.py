#!/usr/bin/env python3
"""Makes the copy of the product that contains the mutants. A mutant is a fault made by hand. The process chooses one of
them when it starts.

    apply_mutants.py --to FOLDER --lists FILE... --folders FOLDER... [--tree ROOT]

A list (mutants/*.txt) describes each mutant: its name, the rule that it breaks, the store, the mode and the kinds of
faults under which it is searched (optional; otherwise they are drawn), what it does, and its edits. An edit names a file of the
product and gives lines that stay, lines that go (-) and lines that come (+).

    noGuard (I1): the holder leaves no margin for clock rates
    lockcore/port/lease_options.cpp
      timing.clockMargin_ = options.clockMargin.value_or(duration / 1000);
    + if (MUTANT) timing.clockMargin_ = zero;

MUTANT is true while this mutant runs, and each edit depends on it. The lines that stay and go must be in the file
exactly once; their line breaks do not matter, and a line may be given in part. Edits apply in order: each one sees the
result of those before it.

--folders are copied from the tree to FOLDER/tree with all edits applied; FOLDER/list/simulation has the mutants' names and table.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys

HEAD = re.compile(r"(?P<name>[a-z]\w*) \((?P<rule>\w+)(?:, (?P<store>(?!safety|liveness)\w+))?"
                  r"(?:, (?P<mode>safety|liveness))?(?:, faults (?P<faults>[\w,-]+))?\): (?P<what>\S.*)")
MARK = re.compile(r"\bMUTANT\b")
INCLUDE = '#include "simulation/mutants.hpp"\n'

NAMES = """// Made from tests/simulation/mutants by apply_mutants.py.
#pragma once

namespace tenure {{

enum class Mutant {{ none, {names} }};

namespace mutant {{

/// The one that this process runs with. Set before any thread starts.
inline Mutant active = Mutant::none;
[[nodiscard]] inline bool on(Mutant which) noexcept {{ return active == which; }}

}}  // namespace mutant
}}  // namespace tenure
"""


class Refused(Exception):
    pass


@dataclasses.dataclass
class Edit:
    file: str
    was: list = dataclasses.field(default_factory=list)
    made: list = dataclasses.field(default_factory=list)

    def take(self, line):
        if line[0] in " -":
            self.was.append(line[2:])
        if line[0] in " +":
            self.made.append(line[2:])


@dataclasses.dataclass
class Mutant:
    name: str
    rule: str
    store: str
    what: str
    mode: str = "drawn"
    faults: str = "all"
    edits: list = dataclasses.field(default_factory=list)


def mutants_of(text, source):
    """The mutants of one list, in its order."""
    mutants = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        head = HEAD.fullmatch(line)
        if head:
            mutants.append(Mutant(head["name"], head["rule"], head["store"] or "drawn", head["what"],
                                  head["mode"] or "drawn", head["faults"] or "all"))
        elif mutants and line[:2] in ("  ", "- ", "+ ") and mutants[-1].edits:
            mutants[-1].edits[-1].take(line)
        elif mutants and re.fullmatch(r"[\w./-]+", line):
            mutants[-1].edits.append(Edit(line))
        else:
            raise Refused(f"{source}:{number}: neither a mutant, nor a file, nor a line of an edit: {line}")
    return mutants


def pattern_of(lines):
    """Finds these lines from the start of a word to the end of a word, with any blanks and line breaks between the
    words."""
    words = " ".join(lines).split()
    begin, end = (r"\b" if re.match(r"\w", edge) else "" for edge in (words[0][0], words[-1][-1]))
    return re.compile(begin + r"\s+".join(map(re.escape, words)) + end)


def applied(edit, mutant, text):
    """The file's text with the edit in it."""
    if not any(map(MARK.search, edit.made)):
        raise Refused(f"{mutant.name}: an edit of {edit.file} changes it without MUTANT")
    if not "".join(edit.was).strip():
        raise Refused(f"{mutant.name}: an edit of {edit.file} does not say where")
    found = list(pattern_of(edit.was).finditer(text))
    if len(found) != 1:
        times = "is not there" if not found else f"is there {len(found)} times"
        raise Refused(f"{mutant.name}: in {edit.file} this {times}:\n" + "\n".join(f"    {line}" for line in edit.was))
    made = MARK.sub(f"mutant::on(Mutant::{mutant.name})", "\n".join(edit.made))
    return text[: found[0].start()] + made + text[found[0].end() :]


def apply(mutants, files):
    """The files (name -> text) with all edits applied."""
    files, edited, names = dict(files), set(), set()
    for mutant in mutants:
        if mutant.name in names or mutant.name == "none":
            raise Refused(f"{mutant.name}: this name is taken")
        if not mutant.edits:
            raise Refused(f"{mutant.name}: there is no edit")
        names.add(mutant.name)
        for edit in mutant.edits:
            if edit.file not in files:
                raise Refused(f"{mutant.name}: {edit.file} is not among the files that are copied")
            files[edit.file] = applied(edit, mutant, files[edit.file])
            edited.add(edit.file)
    return {name: INCLUDE + text if name in edited else text for name, text in files.items()}


def tables(mutants):
    rows = "".join(f"    {{Mutant::{m.name}, {json.dumps(m.name)}, StoreKind::{m.store}, SimMode::{m.mode},"
                   f" {json.dumps(m.rule)}, {json.dumps(m.what)}, {json.dumps(m.faults)}}},\n" for m in mutants)
    return {"mutants.hpp": NAMES.format(names=", ".join(m.name for m in mutants)), "mutant_rows.inc": rows}


def write(path, text):
    """A file whose content did not change keeps its date, so that nothing is compiled again for it."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    parser.add_argument("--lists", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    try:
        mutants = [m for path in options.lists for m in mutants_of(path.read_text(encoding="utf-8"), path)]
        sources = [p for folder in options.folders for p in (options.tree / folder).glob("*.[ch]pp")]
        texts = {p.relative_to(options.tree).as_posix(): p.read_text(encoding="utf-8") for p in sources}
        for name, text in apply(mutants, texts).items():
            write(options.to / "tree" / name, text)
        for name, text in tables(mutants).items():
            write(options.to / "list/simulation" / name, text)
    except (OSError, Refused) as fault:
        sys.exit(f"apply_mutants: {fault}")


if __name__ == "__main__":
    main()
