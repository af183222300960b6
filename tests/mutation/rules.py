"""The rules that make mutants of a C++ source: one small change each.

Why not universalmutator: its regular expressions do not recognise comments and texts. They make about seven mutants of
each line (a `<=` of every `==`, a `break` of every line), and most of them do not compile, but each costs a
compilation. quiet.py defines what is left out.
"""

import dataclasses
import hashlib
import re

import cpp_tokens
import quiet
from cpp_tokens import is_spaced, statement_begin, statement_end

SWAPS = {
    "relation": {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)},
    "logic": {"&&": ("||",), "||": ("&&",)},
    "arithmetic": {"+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",), "+=": ("-=",), "-=": ("+=",)},
    "count": {"++": ("--",), "--": ("++",)},
}
WORDS = {"true": "false", "false": "true"}
KEYWORDS = frozenset("""alignas auto case catch class concept const consteval constexpr constinit default delete do else
    enum explicit extern for friend goto if inline mutable namespace new operator private protected public requires return
    sizeof static struct switch template throw try typedef typename union using virtual volatile while""".split())
NUMBER = re.compile(r"^(?P<value>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)"
                    r"(?P<suffix>[uU]?[lL]{0,2}|[lL]{0,2}[uU]|[zZ][uU]|h|min|s|ms|us|ns)$")
BIG = 100  # in numbers from here on, one more or less is not noticeable


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    rule: str
    begin: int  # the replaced part, in characters of the file
    end: int
    replacement: str
    first_line: int  # of its statement; `line` is its own
    line: int
    identity: str

    def apply(self, source):
        return source[: self.begin] + self.replacement + source[self.end :]


class Maker:
    """Collects the mutants of one source."""

    def __init__(self, path, source):
        self.path = path
        self.source = source
        self.tokens = cpp_tokens.tokens_of(source)
        self.quiet = quiet.Quiet(self.tokens).indices()
        self.found = {}

    def add(self, rule, index, begin, end, replacement):
        if index in self.quiet:
            return
        lines = "\n" * self.source.count("\n", begin, end)
        if not replacement.count("\n"):
            replacement += lines  # the following lines keep their numbers
        line_begin = self.source.rfind("\n", 0, begin) + 1
        line_end = self.source.find("\n", end)
        was = self.source[line_begin:line_end]
        is_now = self.source[line_begin:begin] + replacement + self.source[end:line_end]
        key = (rule, " ".join(was.split()), " ".join(is_now.split()))
        same = sum(1 for known in self.found if known[:3] == key)
        identity = hashlib.sha256("\0".join((self.path, *key, str(same))).encode()).hexdigest()[:8]
        first = self.tokens[statement_begin(self.tokens, index)].begin
        self.found[(*key, same)] = Mutant(self.path, rule, begin, end, replacement, self.line_at(first),
                                          self.line_at(begin), f"{self.path}:{identity}")

    def line_at(self, offset):
        return self.source.count("\n", 0, offset) + 1

    def make(self):
        for index, token in enumerate(self.tokens):
            if token.kind == "sign":
                self.signs(index, token)
            elif token.kind == "number":
                self.numbers(index, token)
            elif token.kind == "name":
                self.names(index, token)
        self.statements()
        return list(self.found.values())

    def signs(self, index, token):
        neighbours = self.tokens[max(index - 1, 0) : index + 2]
        for rule, swaps in SWAPS.items():
            if token.text not in swaps or (rule != "count" and not is_spaced(self.source, token)):
                continue
            if rule == "arithmetic" and any(t.kind == "text" for t in neighbours):
                continue
            for other in swaps[token.text]:
                self.add(rule, index, token.begin, token.end, other)
        if token == "!" and not self.is_whole_condition(index):
            self.add("negation", index, token.begin, token.end, "")
        elif token == "?":
            begin = self.tokens[cpp_tokens.condition_before(self.tokens, index)].begin
            self.add("condition", index, begin, token.begin, "!(" + self.source[begin : token.begin].rstrip() + ") ")

    def is_whole_condition(self, index):
        """`if (!x)`: negating the condition would be the same."""
        if self.tokens[index - 1] != "(" or self.tokens[index - 2].text not in ("if", "while"):
            return False
        inner = self.tokens[index : self.tokens[index - 1].match]
        return all(t.text not in ("&&", "||", "?", ";") for t in inner)

    def numbers(self, index, token):
        number = NUMBER.match(token.text)
        if not number or (self.tokens[index - 1] == "case"):
            return
        digits = number["value"].replace("'", "")
        octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
        value = int(digits, 8 if octal else 0)
        others = (value * 2, value // 2) if value >= BIG else (value + 1, value - 1)
        for other in others:
            if other >= 0:
                self.add("constant", index, token.begin, token.end, f"{other}{number['suffix']}")

    def names(self, index, token):
        if token.text in WORDS and not self.is_specifier(index):
            self.add("truth", index, token.begin, token.end, WORDS[token.text])
        elif token.text in ("min", "max") and self.is_call_of_std(index):
            self.add("extreme", index, token.begin, token.end, {"min": "max", "max": "min"}[token.text])
        elif token.text in ("if", "while") and self.tokens[index + 1] == "(":
            self.condition(index)
        elif token == "return":
            self.returned(index)
        elif token == "else" and self.tokens[index + 1] != "if":
            self.otherwise(index)

    def is_call_of_std(self, index):
        return [t.text for t in self.tokens[index - 2 : index]] == ["std", "::"] and self.tokens[index + 1].text in ("(", "<")

    def is_specifier(self, index):
        """noexcept(true), explicit(false)."""
        return self.tokens[index - 2].text in ("noexcept", "explicit")

    def condition(self, index):
        opening = self.tokens[index + 1]
        inner = list(range(index + 2, opening.match))
        semicolons = [i for i in inner if self.tokens[i] == ";"]
        first = semicolons[-1] + 1 if semicolons else index + 2
        begin, end = self.tokens[first].begin, self.tokens[opening.match].begin
        if any(self.tokens[i] == "=" for i in range(first, opening.match) if self.level_is(i, opening)):
            return  # a declaration
        self.add("condition", index + 1, begin, end, f"!({self.source[begin:end]})")

    def level_is(self, index, opening):
        """Directly between these brackets, not deeper."""
        inside = self.tokens[index]
        return not any(t.text in cpp_tokens.OPEN and t.begin > opening.begin and t.match > index and t.begin < inside.begin
                       for t in self.tokens[max(0, index - 60) : index])

    def returned(self, index):
        end = statement_end(self.tokens, index)
        value = self.tokens[index + 1 : end] if end else []
        if not value:
            return
        plain = len(value) == 1 and (value[0].kind in ("text", "number") or value[0].text in ("true", "false", "nullptr"))
        if plain or value[0].text == "{" or value[0].kind == "text" or value[-1].text in ("nullopt", "this"):
            return
        self.add("returned", index, value[0].begin, value[-1].end, "{}")

    def otherwise(self, index):
        after = self.tokens[index + 1]
        end = after.match if after == "{" else statement_end(self.tokens, index + 1)
        if end is None or end < 0:
            return
        self.add("else", index, self.tokens[index].begin, self.tokens[end].end, "")

    # Statements that are removed: calls, assignments, `return;`, `break;`.

    def statements(self):
        for index, token in enumerate(self.tokens):
            before = self.tokens[index - 1] if index else None
            if before is None or not self.begins_statement(index):
                continue
            end = statement_end(self.tokens, index)
            if end is None or end == index or not self.may_go(index, end):
                continue
            if any(at in self.quiet for at in range(index, end)):
                continue
            self.add("statement", index, token.begin, self.tokens[end].end, ";")

    def begins_statement(self, index):
        before = self.tokens[index - 1]
        if before.text in (";", "{", "}", "else", "do"):
            return True
        if before == ")" and before.match > 0:
            return self.tokens[before.match - 1].text in ("if", "for", "while", "switch")
        return False

    def may_go(self, index, end):
        first = self.tokens[index]
        if first.text in ("break", "continue"):
            return end == index + 1
        if first == "return":
            return end == index + 1
        if first.text in ("++", "--", "*", "co_await"):
            return True
        if first.kind != "name" or first.text in KEYWORDS:
            return False
        return self.is_expression(index, end)

    def is_expression(self, index, end):
        """A chain of names, calls and indices that is not followed by a second name: that would be a declaration."""
        at, called = index + 1, False
        while at < end:
            token = self.tokens[at]
            if token.text in ("::", ".", "->"):
                at += 2
            elif token.text in ("(", "["):
                called = called or token == "("
                at = token.match + 1
            elif token == "<" and not is_spaced(self.source, token):
                at = self.after_brackets(at)
            elif token.text in ("=", "+=", "-=", "|=", "&=", "++", "--", "<<"):
                return True
            else:
                return False
        return called

    def after_brackets(self, at):
        depth = 0
        while at < len(self.tokens):
            depth += {"<": 1, ">": -1, ">>": -2}.get(self.tokens[at].text, 0)
            at += 1
            if depth <= 0:
                break
        return at


def mutants_of(path, source):
    """Every mutant of a source, in the order of its lines."""
    made = Maker(path, source).make()
    return sorted(made, key=lambda mutant: (mutant.begin, mutant.end, mutant.replacement))
