#!/usr/bin/env python3
"""Writes lockcore/port/composition_tables.hpp from Python's Unicode database.

Unicode promises that what is composed stays so, so the file is written again only for characters that are new.
"""
import pathlib
import unicodedata

TREE = pathlib.Path(__file__).resolve().parent.parent
FILE = TREE / "lockcore/port/composition_tables.hpp"

HEAD = """// Written by scripts/composition_tables.py from Unicode {version}: what NFC leaves as it is (UAX #15). Without Hangul.
#pragma once

#include <array>
#include <cstdint>

namespace tenure {{

"""


def characters():
    return (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)


def ranges(codes):
    """Of pairs (code, value): [first, last, value]."""
    out = []
    for code, value in codes:
        if out and out[-1][1] == code - 1 and out[-1][2] == value:
            out[-1][1] = code
        else:
            out.append([code, code, value])
    return out


def never_composed():
    codes = [(ord(c), 0) for c in characters() if unicodedata.normalize("NFC", c) != c]
    return [f"0x{first:X}{last:08X}" for first, last, _ in ranges(codes)]


def combining_classes():
    codes = [(ord(c), unicodedata.combining(c)) for c in characters() if unicodedata.combining(c)]
    return [f"0x{first << 40 | last << 16 | value:X}" for first, last, value in ranges(codes)]


def compositions():
    rows = []
    for c in characters():
        parts = unicodedata.decomposition(c).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            base, mark = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(base) + chr(mark)) == c:
                rows.append(mark << 42 | base << 21 | ord(c))
    return [f"0x{row:X}" for row in sorted(rows)]


def table(about, name, values):
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) + 2 > 120:
            lines.append(line)
            line = "   "
        line += f" {value},"
    lines.append(line)
    body = "\n".join(lines)
    return (f"/// {about}\n// clang-format off\ninline constexpr std::array<std::uint64_t, {len(values)}> {name}{{\n"
            f"{body}\n}};\n// clang-format on\n\n")


def main():
    text = HEAD.format(version=unicodedata.unidata_version)
    text += table("First and last character (32 bits each) of those that NFC always replaces.", "neverComposed",
                  never_composed())
    text += table("First and last character (24 bits each) and their combining class (16 bits).", "combiningClasses",
                  combining_classes())
    text += table("A mark, the character before it, and the one that NFC makes of both (21 bits each).",
                  "compositions", compositions())
    FILE.write_text(text + "}  // namespace tenure\n", encoding="utf-8")


if __name__ == "__main__":
    main()
