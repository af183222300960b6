"""Lists in Markdown, as GitHub reads them, for a parser that wants more spaces."""

import re

ITEM = re.compile(r"( *)([-*+]|[0-9]+\.)( +)(?=\S)")


def for_python(text):
    """Lists as Python's Markdown wants them where GitHub takes more: an empty line before an item that follows a paragraph,
    and four spaces a level, whatever the width of the marker is."""
    out, depths, fence, before, paragraph = [], [], False, "", True  # depths: where the text of each open item begins
    for line in text.split("\n"):
        indent, item = len(line) - len(line.lstrip()), None
        if line.strip() and not fence:
            item = ITEM.match(line)
            if item and before.strip() and not depths and item[2] not in ("-", "*", "+", "1."):
                item = None  # a number at the begin of a line of prose
            goes_on = before.strip() and not item and not line.lstrip().startswith(("#", "|", "<", "```"))
            while depths and indent < depths[-1] and not goes_on:
                depths.pop()
            item = item if depths or indent < 4 else None
        if item and not depths and paragraph and before.strip():
            out.append("")
        cut = indent if item else min(indent, depths[-1] if depths else 0)
        out.append("    " * len(depths) + line[cut:] if line.strip() else "")
        if item:
            depths.append(item.end())
        paragraph = not item and (paragraph or not line.strip())
        fence ^= line.lstrip().startswith("```")
        before = line
    return "\n".join(out)
