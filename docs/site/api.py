"""The API reference: one page of Markdown for each public header, from what Doxygen reads in it."""

import html
import posixpath
import re
import subprocess
import tempfile
import pathlib
import xml.etree.ElementTree as xml

DOXYFILE = pathlib.Path(__file__).with_name("Doxyfile")
INLINE = {"computeroutput": "code", "bold": "strong", "emphasis": "em", "para": "p", "itemizedlist": "ul",
          "orderedlist": "ol", "listitem": "li", "verbatim": "pre", "table": "table", "row": "tr", "entry": "td"}
NO_DOC = re.compile(r"\b(friend (class|struct)|=\s*default$)")


def page_of(header):
    """election/include/tenure/election/group.hpp -> api/election/group.md"""
    return "api/" + header.split("/include/tenure/")[1].removesuffix(".hpp") + ".md"


def introduction(path):
    """The comment that a header begins with."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    parts = " ".join(lines).split("`")  # what is between two of these is code
    return "`".join(part if at % 2 else html.escape(part, quote=False).replace("|", "\\|") for at, part in enumerate(parts))


def read(root, headers):
    """Every compound that Doxygen finds in the headers."""
    with tempfile.TemporaryDirectory(prefix="tenure-api.") as out:
        settings = DOXYFILE.read_text(encoding="utf-8")
        settings += f"OUTPUT_DIRECTORY = {out}\nSTRIP_FROM_PATH = {root}\nINPUT = {' '.join(str(root / h) for h in headers)}\n"
        done = subprocess.run(["doxygen", "-"], input=settings, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"doxygen failed:\n{done.stderr}")
        return [compound for path in sorted(pathlib.Path(out, "xml").glob("*.xml"))
                for compound in xml.parse(path).getroot().iter("compounddef")]


class Reference:
    def __init__(self, root, headers):
        self.root, self.headers = root, headers
        self.places = {}  # Doxygen's id -> (page, anchor)
        self.items = {header: [] for header in headers}  # what stands at the top of a header, or in a namespace: by line
        for compound in read(root, headers):
            if compound.get("kind") in ("class", "struct", "concept"):
                self.add(compound, self.short(compound.findtext("compoundname")))
            elif compound.get("kind") == "namespace":
                for member in compound.iter("memberdef"):
                    self.add(member, member.findtext("name"))

    @staticmethod
    def short(name):
        return re.sub(r"^tenure::", "", name)

    def add(self, element, name):
        where = element.find("location")
        header = where.get("file") if where is not None else None
        if header not in self.items or element.get("id") in self.places or element.get("prot") == "private":
            return
        anchor = re.sub(r"\W+", "-", name).strip("-")
        self.places[element.get("id")] = (page_of(header), anchor)
        self.items[header].append((int(where.get("line")), name, element))
        for member in element.iter("memberdef"):
            if member.get("prot") != "private":
                last = re.sub(r"\W+", "-", member.findtext("name").replace("~", "destroy ")).strip("-")
                self.places[member.get("id")] = (page_of(header), f"{anchor}-{last}")

    def link(self, refid, text, page):
        if refid not in self.places:
            return text
        target, anchor = self.places[refid]
        path = posixpath.relpath(target, posixpath.dirname(page)).removesuffix(".md") + ".html"
        return f'<a href="{"" if target == page else path}#{anchor}">{text}</a>'

    def inline(self, element, page):
        """The content as HTML."""
        if element is None:
            return ""
        parts = [html.escape(element.text or "", quote=False)]
        for child in element:
            inner = self.inline(child, page)
            if child.tag == "ref":
                inner = self.link(child.get("refid"), inner, page)
            elif child.tag == "ulink":
                inner = f'<a href="{html.escape(child.get("url"))}">{inner}</a>'
            elif child.tag in INLINE:
                inner = f"<{INLINE[child.tag]}>{inner}</{INLINE[child.tag]}>"
            parts += [inner, html.escape(child.tail or "", quote=False)]
        return "".join(parts)

    def described(self, element, page):
        text = self.inline(element.find("detaileddescription"), page) + self.inline(element.find("briefdescription"), page)
        text = re.sub(r"<p>\s*(<([uo]l|pre|table)>.*?</\2>)\s*</p>", r"\1", text, flags=re.S)
        return re.sub(r"<p>\s*</p>|\n\s*(?=\n)", "", text).strip()  # an empty line would end the block of HTML

    def code(self, element, page):
        """A type or a default as Doxygen has it, with the spaces that this tree writes."""
        text = self.inline(element, page).strip()
        text = text.replace("&lt; ", "&lt;").replace(" &gt;", "&gt;")
        return re.sub(r"(?<=\S) (?=(&amp;|\*)+(\W|$))", "", text)

    def parameters(self, member, page, tag="param"):
        found = []
        for one in member.findall(tag):
            text = self.code(one.find("type"), page)
            if (name := one.findtext("declname")) and not text.endswith(f" {name}"):
                text += f" {html.escape(name)}"
            if one.find("defval") is not None:
                text += f" = {self.code(one.find('defval'), page)}"
            found.append(text)
        return found

    def template(self, element, page):
        one = element.find("templateparamlist")
        return f"template &lt;{', '.join(self.parameters(one, page))}&gt;\n" if one is not None else ""

    def declaration(self, member, page):
        kind, name = member.get("kind"), html.escape(member.findtext("name"))
        kept = self.template(member, page)
        if (clause := member.find("requiresclause")) is not None:
            kept += f"requires {self.code(clause, page)}\n"
        words = [word for word in ("static", "explicit") if member.get(word) == "yes"]
        words += ["virtual"] if member.get("virt") in ("virtual", "pure-virtual") else []
        text = self.code(member.find("type"), page)
        if kind == "typedef":
            return f"{kept}using {name} = {text}{html.escape(member.findtext('argsstring') or '')};"
        if kind == "enum":
            return f"enum class {name}"
        start = " ".join([*words, *([text] if text else []), name])
        if kind != "function" and "(" not in (member.findtext("argsstring") or ""):
            value = self.code(member.find("initializer"), page)
            return f"{kept}{start}{' ' if value.startswith('=') else ''}{value if len(value) < 200 else ''};"
        given = self.parameters(member, page)
        end = html.escape(after_parameters(member.findtext("argsstring")))
        line = f"{start}({', '.join(given)}){end};"
        if len(re.sub(r"<[^>]+>|&\w+;", "", line)) > 100:
            line = f"{start}(\n    " + ",\n    ".join(given) + f"){end};"
        return kept + line

    def member(self, member, page, level, before):
        """Markdown. A function that is described has a heading, unless the one before has the same."""
        text, name = self.described(member, page), member.findtext("name")
        anchor, block = self.places[member.get("id")][1], ""
        mark = f' id="{anchor}"' if name != before else ""
        if text and level and member.get("kind") in ("function", "friend") and name != before:
            block, mark = f"{'#' * level} `{name}` {{#{anchor}}}\n\n", ""
        block += f'<pre class="declaration"{mark}>{self.declaration(member, page)}</pre>\n\n'
        return block + (f'<div class="described">{text}</div>\n\n' if text else "") + self.values(member, page)

    def values(self, member, page):
        """An enum's values."""
        rows = [f"<dt><code>{one.findtext('name')}</code></dt><dd>{self.described(one, page)}</dd>"
                for one in member.findall("enumvalue")]
        return f"<dl>{''.join(rows)}</dl>\n\n" if rows else ""

    def compound(self, compound, name, page):
        if compound.get("kind") == "concept":
            words = self.code(compound.find("initializer"), page)
        else:
            words = f"{self.template(compound, page)}{compound.get('kind')} {html.escape(name)}"
            bases = [self.code(base, page) for base in compound.findall("basecompoundref")]
            words += f" : {', '.join(bases)}" if bases else ""
        text = f'<pre class="declaration">{words}</pre>\n\n<div class="described">{self.described(compound, page)}</div>\n\n'
        members = [m for m in compound.iter("memberdef") if m.get("id") in self.places and m.get("prot") != "private"]
        before = None
        for member in sorted(members, key=lambda one: int(one.find("location").get("line"))):
            if not NO_DOC.search(f"{member.findtext('definition')}{member.findtext('argsstring')}"):
                text += self.member(member, page, 3, before)
                before = member.findtext("name")
        return text

    def page(self, header):
        page = page_of(header)
        include = header.split("/include/")[1]
        text = f"# {posixpath.basename(header)}\n\n{introduction(self.root / header)}\n\n```cpp\n#include <{include}>\n```\n\n"
        before = None
        for _, name, element in sorted(self.items[header], key=lambda item: item[:2]):
            if name != before:
                text += f"## `{name}` {{#{self.places[element.get('id')][1]}}}\n\n"
            before = name
            if element.tag == "compounddef":
                text += self.compound(element, name, page)
            else:
                text += self.member(element, page, 0, name)
        return text

    def index(self):
        """The first page: every header with what it begins with."""
        text = "# C++ API by header\n\nBy task: [C++ API](../docs/reference/cpp-api.md).\n"
        for folder in sorted({posixpath.dirname(page_of(h)) for h in self.headers}):
            text += f"\n## {folder.removeprefix('api/')}\n\n| | |\n|---|---|\n"
            for header in sorted(self.headers):
                if posixpath.dirname(page_of(header)) == folder:
                    text += f"| [{posixpath.basename(header)}]({page_of(header)[4:]}) | {introduction(self.root / header)} |\n"
        return text


def after_parameters(arguments):
    """What follows a function's parameters: ` const noexcept`."""
    depth = 0
    for at, sign in enumerate(arguments or ""):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign == ")":
            return re.sub(r"\s*=\s*(0|default|delete)$", r" = \1", arguments[at + 1:])
    return ""
