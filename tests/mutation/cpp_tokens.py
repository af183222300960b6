"""C++ as tokens with their positions: enough to distinguish code from comments, texts and preprocessor lines.

The tree is formatted by clang-format, so a space on both sides distinguishes an operator from a template's bracket, a
pointer or a reference. This code knows nothing about types; the compiler judges the result of a mutation.
"""

import dataclasses
import re

PATTERN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*)
      | (?P<raw>R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)")
      | (?P<text>(?:u8|[LuU])?"(?:[^"\\\n]|\\.)*")
      | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      | (?P<character>(?:u8|[LuU])?'(?:[^'\\\n]|\\.)+')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[^\s\w])""",
    re.VERBOSE | re.MULTILINE | re.DOTALL)

OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = {")": "(", "]": "[", "}": "{"}


@dataclasses.dataclass
class Token:
    kind: str  # text, number, character, name or sign
    text: str
    begin: int
    end: int
    match: int = -1  # for a bracket: the index of the matching one

    def __eq__(self, other):
        return self.text == other if isinstance(other, str) else self is other


def tokens_of(source):
    """The tokens of the code, brackets matched; comments and preprocessor lines are left out."""
    tokens = []
    for found in PATTERN.finditer(source):
        kind = found.lastgroup if found.lastgroup != "delimiter" else "raw"
        if kind in ("comment", "directive"):
            continue
        kind = "text" if kind == "raw" else kind
        tokens.append(Token(kind, found.group(), found.start(), found.end()))
    match_brackets(tokens)
    return tokens


def match_brackets(tokens):
    waiting = []
    for index, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in OPEN:
            waiting.append(index)
        elif token.text in CLOSE and waiting and tokens[waiting[-1]].text == CLOSE[token.text]:
            token.match = waiting.pop()
            tokens[token.match].match = index


def is_spaced(source, token):
    """Whether there is a space or a line end on both sides."""
    return source[token.begin - 1 : token.begin].isspace() and source[token.end : token.end + 1].isspace()


def statement_begin(tokens, index):
    """The first token of the statement that contains this token."""
    while index > 0:
        before = tokens[index - 1]
        if before.text in (";", "{", "}"):
            break
        index = before.match if before.text in (")", "]") and before.match >= 0 else index - 1
    return index


def statement_end(tokens, index):
    """The `;` that ends the statement of this token; None if there is none on its level."""
    while index < len(tokens):
        token = tokens[index]
        if token.text == ";":
            return index
        if token.text in CLOSE:
            return None
        index = token.match + 1 if token.text in OPEN and token.match >= 0 else index + 1
    return None


def condition_before(tokens, index):
    """The first token of the condition whose `?` is at this index."""
    while index > 0:
        before = tokens[index - 1]
        if before.text in ("(", "[", "{", "}", ";", ",", "=", "return", "<<", "?", ":", "+", "+="):
            break
        index = before.match if before.text in (")", "]") and before.match >= 0 else index - 1
    return index
