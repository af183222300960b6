"""Code that no test should fix, and that has no mutants: texts and choices between texts, logging, assertions, and how
much a container reserves."""

import re

import cpp_tokens
from cpp_tokens import statement_begin

LOGGING = re.compile(r"^(log|logger_?|logRejection|logError|logHeld)$")
SILENT = frozenset(("static_assert", "assert", "BOOST_ASSERT", "reserve"))


class Quiet:
    def __init__(self, tokens):
        self.tokens = tokens

    def indices(self):
        """Of the tokens that are left out."""
        quiet = set()
        for index, token in enumerate(self.tokens):
            if token.kind == "name" and (token.text in SILENT or LOGGING.match(token.text)):
                if self.is_call(index):
                    quiet.update(range(statement_begin(self.tokens, index), self.closing(index)))
            elif token == "?":
                quiet.update(self.choice_of_texts(index))
            elif token == "template" and self.text_of(index, 2) == "template<":
                quiet.update(range(index, self.after_template(index)))
        return quiet

    def text_of(self, index, count):
        return "".join(t.text for t in self.tokens[index : index + count])

    def is_call(self, index):
        after = self.tokens[index + 1 : index + 2]
        return bool(after) and after[0].text in ("(", ".", "->")

    def closing(self, index):
        """After the call whose name stands at index."""
        while index < len(self.tokens) and self.tokens[index] != "(":
            index += 1
        return self.tokens[index].match + 1 if index < len(self.tokens) else index

    def after_template(self, index):
        depth = 0
        for at in range(index + 1, len(self.tokens)):
            depth += {"<": 1, ">": -1}.get(self.tokens[at].text, 0)
            if depth == 0:
                return at
        return index

    def choice_of_texts(self, index):
        """`x ? "this" : "that"` words a message."""
        colon = index
        while colon < len(self.tokens) and self.tokens[colon].text not in (":", ";"):
            token = self.tokens[colon]
            colon = token.match + 1 if token.text in cpp_tokens.OPEN and token.match >= 0 else colon + 1
        arms = [at for at in (index + 1, colon + 1) if at < len(self.tokens)]
        if not any(self.tokens[at].kind == "text" for at in arms):
            return []
        return range(cpp_tokens.condition_before(self.tokens, index), arms[-1] + 1)
