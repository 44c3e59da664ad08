"""Formulas as they are written in docstrings, set as mathematics: lines of text with MathML in between.

A docstring's formula must be readable in an editor: `sum_{j <= k} rel(j)`, `e^(s_ap/T)`, `[d_ap - margin]_+`. Here the
same line becomes MathML, which every browser draws by itself. Words stay text, so that a long line can break.
"""

import re
from collections.abc import Collection
from html import escape
from itertools import groupby
from typing import Literal, NamedTuple

_GREEK = {
    "alpha": "&alpha;", "beta": "&beta;", "gamma": "&gamma;", "delta": "&delta;", "epsilon": "&#1013;",
    "theta": "&theta;", "lambda": "&lambda;", "mu": "&mu;", "pi": "&pi;", "rho": "&rho;", "sigma": "&sigma;",
    "psi": "&psi;", "phi": "&phi;",
}  # fmt: skip
_FUNCTIONS = frozenset({
    "exp", "log", "cos", "sin", "tan", "arccos", "softmax", "sigmoid", "max", "min", "argmax", "argmin", "mean",
    "floor", "round", "tr", "KL", "Var", "rank", "rel",
})  # fmt: skip
#: those whose index stands below them
_BELOW = frozenset({"sum", "max", "min", "mean", "argmax", "argmin"})
_PRIME = "&prime;"
_SIGNS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "<-": "←", "..": "…", "...": "…", "*": "⋅", "-": "&minus;",
    "'": _PRIME, "~": "&sim;", "<": "&lt;", ">": "&gt;", "&": "&amp;",
}  # fmt: skip
_TOKEN = re.compile(r"`[^`]*`|\"[^\"]*\"|\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z]+\d?|<=|>=|!=|->|<-|\.{2,3}|\|\||\s+|.")


class Piece(NamedTuple):
    """One piece of a line; `joins` says that it is text beside text, and mathematics beside mathematics."""

    kind: Literal["text", "math", "joins"]
    html: str


def formula_html(text: str, names: Collection[str] = ()) -> str:
    """Return the lines of a formula as HTML; `names` are settings, which are set upright and never cut into indices."""
    lines = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        style = f' style="padding-left: {indent * 0.5 + 1.5}em"' if indent else ""
        lines.append(f"<p{style}>{_line(line.strip(), names)}</p>")
    return '<div class="formula">\n' + "\n".join(lines) + "\n</div>\n"


def _line(line: str, names: Collection[str]) -> str:
    pieces = _settled(_Reader(line, names).pieces())
    html = []
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        content = "".join(piece.html for piece in run)
        html.append(f"<math><mrow>{content}</mrow></math>" if kind == "math" else content)
    return "".join(html)


def _settled(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with every `joins` decided by what stands beside it."""
    kinds = [piece.kind for piece in pieces]
    settled = []
    for place, piece in enumerate(pieces):
        if piece.kind != "joins":
            settled.append(piece)
            continue
        around = [next((k for k in side if k != "joins"), "text") for side in (kinds[place:], kinds[place::-1])]
        is_sign = bool(piece.html.strip())
        is_math = "math" in around if is_sign else around == ["math", "math"]
        drawn = f"<mo>{piece.html}</mo>" if is_sign else '<mspace width="0.3em"/>'
        settled.append(Piece("math", drawn) if is_math else Piece("text", piece.html))
    return settled


class _Reader:
    """Reads one line from left to right."""

    def __init__(self, line: str, names: Collection[str]) -> None:
        self._tokens: list[str] = _TOKEN.findall(line)
        self._names = names
        self._next = 0

    def pieces(self) -> list[Piece]:
        found = []
        while self._next < len(self._tokens):
            found.append(self._piece())
        return found

    def _peek(self, ahead: int = 0) -> str:
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    def _piece(self) -> Piece:
        token = self._peek()
        if token[0] in '`"':
            return Piece("text", f"<code>{escape(self._take()[1:-1])}</code>")
        if token == "." and self._peek(-1).strip() and self._peek(1).isalpha():
            self._next += 1
            return Piece("math", f"<mo>{_SIGNS['*']}</mo>")
        is_hyphen = token == "-" and min(len(self._peek(-1)), len(self._peek(1))) > 1 and self._peek(1).isalpha()
        if token == "'" or is_hyphen:
            return Piece("text", self._take())
        if token.isspace() or token in ",;:.()":
            return self._scripts(Piece("joins", escape(self._take())))
        if token.isalpha() and self._is_word():
            return Piece("text", escape(self._take()))
        return Piece("math", self._term())

    def _named(self) -> int:
        """Return how many of the next tokens are the name of a setting, such as norm, _ and weight; 0 for none."""
        for length in (7, 5, 3, 1):
            tokens = self._tokens[self._next : self._next + length]
            if len(tokens) == length and "".join(tokens) in self._names:
                return length
        return 0

    def _scripts(self, piece: Piece) -> Piece:
        """Return a closing bracket with the index or power that hangs on it, if one does."""
        if piece.html in ")" and self._peek() in ("^", "_"):
            return Piece("math", self._with_scripts("<mo>)</mo>"))
        return piece

    def _is_word(self) -> bool:
        """Tell whether the next letters are a word of a sentence and no sign of mathematics."""
        token, follower = self._peek(), self._peek(1)
        if token in _BELOW and follower.isspace() and self._peek(2) in ("over", "of", "is"):
            return True
        if follower == "_" and min(len(token), len(self._peek(2))) > 2 and token not in _GREEK:
            return not self._named()
        if follower in ("_", "^") or token in _GREEK or token in _FUNCTIONS or token in ("sum", "sqrt"):
            return False
        if token in self._names:
            return False
        if len(token) > 1:
            return follower not in ("(", "@", "+") or token == "in"
        return token == "a" and self._peek(-1).isspace() and follower.isspace() and self._peek(2).isalpha()

    def _term(self) -> str:
        if length := self._named():
            return self._with_scripts(self._setting(length))
        token = self._take()
        if token == "sqrt" and self._peek() == "(":
            return f"<msqrt>{self._group(')')}</msqrt>"
        if token == "]" and self._peek() == "_" and self._peek(1) == "+":
            self._next += 2
            return "<msub><mo>]</mo><mo>+</mo></msub>"
        if not token[0].isalpha():
            content = f"<mn>{token}</mn>" if token[0].isdigit() else f"<mo>{_SIGNS.get(token, token)}</mo>"
            return self._with_scripts(content) if token in ("]", "|", "||") or token[0].isdigit() else content
        return self._with_scripts(*self._name(token))

    def _setting(self, length: int) -> str:
        name = "".join(self._take() for _ in range(length))
        return f'<mi mathvariant="normal">{name}</mi>' if name not in _GREEK else f"<mi>{_GREEK[name]}</mi>"

    def _name(self, token: str) -> tuple[str, bool]:
        """Return a name as MathML, and whether its index stands below it."""
        if token == "sum":
            return "<mo>∑</mo>", True
        if token == "log2":
            return "<msub><mi>log</mi><mn>2</mn></msub>", False
        # A sign glued to a single letter belongs to it: h+, the histogram of the positives.
        if len(token) == 1 and self._peek() in ("+", "-") and not self._peek(1).isalnum():
            return f"<msup><mi>{token}</mi><mo>{_SIGNS.get(sign := self._take(), sign)}</mo></msup>", False
        if token in _GREEK:
            return f"<mi>{_GREEK[token]}</mi>", False
        return (f"<mi>{token}</mi>" if len(token) == 1 else f'<mi mathvariant="normal">{token}</mi>'), token in _BELOW

    def _with_scripts(self, content: str, is_below: bool = False) -> str:
        if self._peek() == "'" and self._peek(1) != "s":
            self._next += 1
            content = f"<msup>{content}<mo>{_PRIME}</mo></msup>"
        if self._peek() == "_" and self._peek(1).strip():
            self._next += 1
            tag = "munder" if is_below else "msub"
            content = f"<{tag}>{content}<mrow>{self._index()}</mrow></{tag}>"
        if self._peek() == "^" and self._peek(1).strip():
            self._next += 1
            content = f"<msup>{content}<mrow>{self._index()}</mrow></msup>"
        return content

    def _index(self) -> str:
        """Return what hangs on a name: a group in brackets, or the letters and digits that follow."""
        if self._peek() in ("{", "("):
            return self._group("}" if self._peek() == "{" else ")")
        if length := self._named():
            return self._setting(length)
        if self._peek() == ".":
            return f"<mo>{self._take()}</mo>" + self._letters(self._take())
        index = self._letters(self._take())
        # d_i,y_i is one index of two, n_i. a sum over the second.
        if self._peek() == "," and self._peek(1).isalpha() and self._peek(2) == "_":
            self._next += 1
            name, _ = self._take(), self._take()
            index += f"<mo>,</mo><msub><mi>{name}</mi><mi>{self._take()}</mi></msub>"
        elif self._peek() == "." and self._peek(1) == ",":
            index += f"<mo>{self._take()}</mo>"
        return index

    @staticmethod
    def _letters(token: str) -> str:
        if token in _GREEK:
            return f"<mi>{_GREEK[token]}</mi>"
        if token.isalpha() and len(token) > 3:
            return f"<mtext>{token}</mtext>"
        return "".join(f"<mi>{one}</mi>" if one.isalpha() else f"<mn>{one}</mn>" for one in token)

    def _group(self, closing: str) -> str:
        """Return what stands up to the closing bracket, without the brackets."""
        opening, depth, content = self._take(), 1, []
        while self._next < len(self._tokens):
            depth += {opening: 1, closing: -1}.get(self._peek(), 0)
            if depth == 0:
                self._next += 1
                break
            if self._peek().isspace():
                self._next += 1
                continue
            if self._peek() == "." and self._peek(1).isalpha():
                self._next += 1
                content.append(f"<mo>{_SIGNS['*']}</mo>")
                continue
            if self._peek().isalpha() and self._is_word():
                content.append(self._word_in_group())
            else:
                content.append(self._term())
        return "".join(content)

    def _word_in_group(self) -> str:
        word = self._take()
        if word == "not" and self._peek(1) == "in":
            self._next += 2
            return "<mo>∉</mo>"
        return "<mo>∈</mo>" if word == "in" else f"<mtext>&#160;{word}&#160;</mtext>"
