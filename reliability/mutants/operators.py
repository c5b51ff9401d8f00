"""Small faults that can be put into a module: one changed node of its syntax tree each.

Left alone is what decides nothing: texts, annotations, decorators, imports, the insides of `raise`,
`repr`, and `strict=` of `zip`, which is an assertion; and large numbers that a module names in
capitals, such as ``BLOCK = 1 << 20``: they say how much is done, and others near do as well.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Mutant", "mutants_of", "mutated_tree"]

_AROUND = 40
"""Characters shown before and after what was changed."""

_LARGE = 64
"""Numbers named in capitals from which on they are left alone."""

_UNSPOKEN = {"__repr__", "__str__", "_repr_html_", "__rich_repr__"}
_LEFT_ALONE = (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr, ast.Global, ast.Nonlocal)
_PLAIN = (ast.Constant, ast.JoinedStr)
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "type_comment"}
_SKIPPED_KEYWORDS = {"strict", "repr", "stacklevel"}

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMBINED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = [
    ("min", "max"),
    ("any", "all"),
    ("floor", "ceil"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("logical_and", "logical_or"),
    ("issubset", "issuperset"),
]
_CALLED = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_EMPTY: dict[type[ast.AST], str] = {
    ast.List: "[]",
    ast.ListComp: "[]",
    ast.Tuple: "()",
    ast.Dict: "{}",
    ast.DictComp: "{}",
    ast.Set: "set()",
    ast.SetComp: "set()",
    ast.GeneratorExp: "iter(())",
}


@dataclass(frozen=True)
class Mutant:
    """One fault: the number of a change among all changes of a module, and how it reads."""

    module: str
    number: int
    function: str | None
    """The outermost function that holds it, with its class; None where code runs on import."""
    first: int
    last: int
    """Lines of the statement, without the statements that it holds."""
    change: str
    nth: int = 1
    """Which one it is of those that read the same in the same function."""

    @property
    def key(self) -> str:
        """What tells it from the others, wherever its lines may move."""
        nth = "" if self.nth == 1 else f" #{self.nth}"
        return f"{self.module}:{self.function or '(module)'}: {self.change}{nth}"


@dataclass(frozen=True)
class _Change:
    """A node in its place, and what would stand there instead."""

    parent: ast.AST
    field: str
    index: int | None
    instead: ast.AST
    statement: ast.stmt
    function: str | None

    def apply(self) -> ast.AST:
        """Put it in its place; returns what stood there."""
        place = getattr(self.parent, self.field)
        stood: ast.AST = place if self.index is None else place[self.index]
        self._put(ast.fix_missing_locations(ast.copy_location(self.instead, stood)))
        return stood

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    def shown(self) -> str:
        """How it reads within its statement: ``a {< => <=} b``."""
        old = ast.unparse(self.statement)
        stood = self.apply()
        whole = isinstance(stood, ast.stmt)
        new = ast.unparse(self.instead if whole else self.statement)
        self._put(stood)
        return _difference(old, new)


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every fault that can be put into a module, in the order of its lines."""
    found: list[Mutant] = []
    alike: Counter[tuple[str | None, str]] = Counter()
    for number, one in enumerate(_changes(ast.parse(source))):
        change = one.shown()
        alike[one.function, change] += 1
        where = one.function, *_header(one.statement)
        found.append(Mutant(module, number, *where, change, alike[one.function, change]))
    return found


def mutated_tree(source: str, number: int | None) -> ast.Module:
    """The module with one of its faults in it, or with none."""
    tree = ast.parse(source)
    if number is not None:
        _changes(tree)[number].apply()
    return tree


def _changes(tree: ast.Module) -> list[_Change]:
    return list(_walk(tree, None, None, frozenset()))


def _header(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _difference(old: str, new: str) -> str:
    """Where two texts differ, in whole words, with what stands around on the same line."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    while start and _is_one_word(old[start - 1], (old[start:] or " ")[0], (new[start:] or " ")[0]):
        start -= 1
    end = 0
    most = min(len(old), len(new)) - start
    while end < most and old[-1 - end] == new[-1 - end]:
        end += 1
    while end and _is_one_word(old[-end], old[: len(old) - end][-1:], new[: len(new) - end][-1:]):
        end -= 1
    before = old[:start].rsplit("\n", 1)[-1].lstrip()[-_AROUND:]
    after = old[len(old) - end :].split("\n", 1)[0][:_AROUND]
    was, now = old[start : len(old) - end], new[start : len(new) - end]
    return f"{before}{{{_line(was)} => {_line(now)}}}{after}"


def _is_one_word(inside: str, *beside: str) -> bool:
    """Whether a character belongs to one word or operator with a neighbour."""
    for kind in (lambda one: one.isalnum() or one == "_", lambda one: one in set("<>=!*/")):
        if kind(inside) and any(map(kind, beside)):
            return True
    return False


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 3 * _AROUND else line[: 3 * _AROUND - 3] + "..."


def _walk(
    node: ast.AST, statement: ast.stmt | None, function: str | None, bound: frozenset[str]
) -> Iterator[_Change]:
    """Changes below a node; `bound` are the names that have a value where it begins."""
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS:
            continue
        inner, names = function, bound
        if isinstance(node, ast.FunctionDef) and field == "body":
            inner = function or _named(node)
            names = bound | {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        several = isinstance(value, list)
        for index, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST) or _is_left_alone(node, field, index, child):
                continue
            if isinstance(node, ast.ClassDef) and isinstance(child, ast.FunctionDef | ast.ClassDef):
                child.qualified = f"{_named(node)}.{child.name}"  # type: ignore[union-attr]
            inside = child if isinstance(child, ast.stmt) else statement
            for instead in _instead(child, names):
                assert inside is not None
                yield _Change(node, field, index if several else None, instead, inside, inner)
            if not isinstance(child, ast.Raise):
                yield from _walk(child, inside, inner, names)
            names = names | _stored(child)


def _stored(node: ast.AST) -> frozenset[str]:
    """Names that a statement gives a value to."""
    if not isinstance(node, ast.stmt):
        return frozenset()
    return frozenset(
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    )


def _named(node: ast.FunctionDef | ast.ClassDef) -> str:
    return str(getattr(node, "qualified", node.name))


def _is_left_alone(node: ast.AST, field: str, index: int, child: ast.AST) -> bool:
    if isinstance(child, _LEFT_ALONE):
        return True
    if isinstance(child, ast.FunctionDef):
        return child.name in _UNSPOKEN or any("overload" in _text(d) for d in child.decorator_list)
    if isinstance(child, ast.Expr):
        return isinstance(child.value, ast.Constant) or "warn(" in _text(child.value)
    if isinstance(child, ast.If):
        return _text(child.test) == "TYPE_CHECKING"
    if isinstance(child, ast.Assign):
        target = child.targets[0]
        dunder = isinstance(target, ast.Name) and target.id.startswith("__")
        return dunder or (
            isinstance(node, ast.Module) and _text(target).isupper() and _is_large(child.value)
        )
    if isinstance(child, ast.keyword):
        return child.arg in _SKIPPED_KEYWORDS
    if isinstance(node, ast.Call) and field == "args":
        name = _text(node.func)
        return (name in ("isinstance", "issubclass") and index == 1) or (
            name in ("cast", "TypeVar") and index == 0
        )
    return False


def _is_large(value: ast.expr) -> bool:
    """Whether it is a large number, or several, written with nothing but numbers."""
    plain = (ast.Tuple, ast.BinOp, ast.operator, ast.Constant, ast.expr_context)
    if not all(isinstance(one, plain) for one in ast.walk(value)):
        return False
    found = eval(compile(ast.Expression(value), "settings", "eval"))  # numbers alone
    numbers = found if isinstance(found, tuple) else (found,)
    return all(isinstance(one, int | float) and one >= _LARGE for one in numbers)


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


def _instead(node: ast.AST, bound: frozenset[str]) -> Iterator[ast.AST]:
    """What could stand in the place of a node."""
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield ast.BoolOp(other, node.values)
        case ast.UnaryOp():
            yield from _unary(node)
        case ast.BinOp() if not _is_joining(node):
            yield from _combined(node)
        case ast.AugAssign():
            if type(node.op) in _COMBINED:
                yield ast.AugAssign(node.target, _COMBINED[type(node.op)](), node.value)
            yield ast.Pass()
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(number)):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _CALLED:
            other_way = ast.Attribute(of, _CALLED[name], ast.Load())
            yield ast.Call(other_way, node.args, node.keywords)
        case ast.Slice():
            yield from _sliced(node)
        case ast.If() | ast.IfExp():
            if not isinstance(node.test, ast.Compare) and not _is_not(node.test):
                test = ast.UnaryOp(ast.Not(), node.test)
                yield type(node)(test, node.body, node.orelse)  # type: ignore[arg-type]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, _PLAIN):
            yield ast.Return(ast.parse(_EMPTY.get(type(value), "None"), mode="eval").body)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Raise() | ast.Delete() | ast.Expr():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)]) if name in bound:
            yield ast.Pass()


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        for other in _COMPARED[type(operator)]:
            operators: list[Any] = list(node.ops)
            operators[index] = other()
            yield ast.Compare(node.left, operators, node.comparators)


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.BinOp):
        divided = node.operand
        left = divided.left
        if isinstance(divided.op, ast.FloorDiv) and isinstance(left, ast.UnaryOp):
            yield ast.BinOp(left.operand, ast.FloorDiv(), divided.right)
    if not isinstance(node.op, ast.UAdd):
        yield node.operand


def _combined(node: ast.BinOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.FloorDiv):
        less = ast.UnaryOp(ast.USub(), node.left)
        yield ast.UnaryOp(ast.USub(), ast.BinOp(less, ast.FloorDiv(), node.right))
    elif type(node.op) in _COMBINED:
        yield ast.BinOp(node.left, _COMBINED[type(node.op)](), node.right)


def _is_joining(node: ast.BinOp) -> bool:
    """Texts and lists that are put together, and kinds of values (`int | None`)."""
    parts = (node.left, node.right)
    if isinstance(node.op, ast.BitOr) and any(
        isinstance(one, ast.Constant) and one.value is None for one in parts
    ):
        return True
    return any(
        isinstance(one, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in parts
    )


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _sliced(node: ast.Slice) -> Iterator[ast.AST]:
    """One element less at an end that is named, or at the open end beside it."""
    if node.lower is None and node.upper is None:
        return
    lower, upper, one = node.lower, node.upper, ast.Constant(1)
    if not isinstance(lower, ast.Constant):
        more = one if lower is None else ast.BinOp(lower, ast.Add(), one)
        yield ast.Slice(more, upper, node.step)
    if not isinstance(upper, ast.Constant):
        less = ast.UnaryOp(ast.USub(), one) if upper is None else ast.BinOp(upper, ast.Sub(), one)
        yield ast.Slice(lower, less, node.step)
