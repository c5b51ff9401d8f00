"""What is done to a valid invocation."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from reliability.fuzz import weird
from reliability.fuzz.case import Case, File
from reliability.fuzz.documents import Raw, rendered
from reliability.fuzz.scenes import packed, sheet_xml, workbook
from reliability.fuzz.vocabulary import option_with_value

__all__ = ["ABSOLUTE", "is_harmless", "mutate", "settle"]

DEVICES = ("/dev/zero", "/dev/null", "/dev/full", "/dev/urandom", "/dev/stdin", "/dev/tty", "/proc")
PLACES = ("/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr", "/proc", "/proc/x", "/dev/null/x")
ABSOLUTE = {*DEVICES, *PLACES, "/proc/self/mem", "/dev/fd/0", "/dev"}
"""Nothing else outside the working folder is ever named: what runs here may write."""

MILLION = 1_000_000


def mutate(rng: Random, case: Case) -> None:
    """Do one thing to a case, somewhere."""
    kinds: list[tuple[int, Callable[[Random, Case], str]]] = [
        (10, _change_word),
        (5, _change_option),
        (5, _change_surroundings),
    ]
    if case.files:
        kinds += [(24, _change_content), (6, _change_place)]
    weights = [weight for weight, _ in kinds]
    done = rng.choices([change for _, change in kinds], weights)[0](rng, case)
    case.mutations.append(done)


def settle(case: Case) -> None:
    """Render what is still plain values, and keep the case from naming places of others."""
    for file in case.files:
        _render(file)
    case.words = [word if is_harmless(word) else "x" for word in case.words]


def is_harmless(word: str) -> bool:
    """Whether a word can stand on a command line and leads to no place of others."""
    value = word.partition("=")[2] if word.startswith("-") and "=" in word else word
    if "\x00" in word or len(word) > 100_000:
        return False
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    if value.startswith(("/", "~")) or word.startswith("-o/"):
        return value in ABSOLUTE
    climbs = re.split(r"[/\\]", value).count("..")
    return climbs == 0 or (climbs == 1 and value.startswith("../up")) or value == ".."


# Words


def _change_word(rng: Random, case: Case) -> str:
    begin = len(case.command.split())
    if len(case.words) <= begin:
        case.words.append(weird.text(rng))
        return "a word added"
    where = rng.randrange(begin, len(case.words))
    word = case.words[where]
    kind = rng.choice(["number", "text", "drop", "twice", "swap", "character", "cut", "inside"])
    if kind == "number":
        numbers = [i for i in range(begin, len(case.words)) if re.search(r"\d", case.words[i])]
        where = rng.choice(numbers or [where])
        made = re.sub(r"\d+(\.\d+)?", lambda _: weird.number(rng), case.words[where], count=1)
        case.words[where] = made
    elif kind == "text":
        case.words[where] = weird.text(rng)
    elif kind == "drop":
        del case.words[where]
    elif kind == "twice":
        case.words.insert(where, word)
    elif kind == "swap":
        other = rng.randrange(begin, len(case.words))
        case.words[where], case.words[other] = case.words[other], word
    elif kind == "cut":
        case.words[where] = word[: rng.randrange(len(word) + 1)]
    else:
        at = rng.randrange(len(word) + 1)
        new = weird.character(rng) if kind == "character" else weird.text(rng)
        case.words[where] = word[:at] + new + word[at + (kind == "character") :]
    return f"word {where}: {kind}"


def _change_option(rng: Random, case: Case) -> str:
    """An option of the command that may not fit, or an output that may not be written."""
    if rng.random() < 0.3:
        outputs = ("-o", "--output", "--report", "--certificate", "--state", "--plot", "--write")
        places = (
            *PLACES,
            ".",
            "missing/out.json",
            "table.csv",
            "",
            "x" * 300 + ".json",
            "\udcff.csv",
        )
        words = [rng.choice(outputs), rng.choice(places)]
    else:
        words = option_with_value(rng, case.command)
    case.words += words
    return f"option {words[0] if words else ''} added"


# Surroundings


def _change_surroundings(rng: Random, case: Case) -> str:
    kind = rng.choice(["stdout", "stdout", "stderr", "variable", "variable", "interrupt", "stdin"])
    if kind == "stdin":
        case.stdin = rng.choice([b"", b"\x00" * 1000, b"county,count\na,1\n"])
        swapped = rng.randrange(len(case.words) or 1)
        if case.words:
            case.words[swapped] = rng.choice(["/dev/stdin", "-", "/dev/fd/0"])
        return "standard input as a file"
    if kind == "interrupt":
        case.interrupt = rng.choice([0.0, 0.01, 0.05, 0.2, 0.5, 1.0]) * rng.random()
        return "interrupted"
    if kind in ("stdout", "stderr"):
        how = rng.choice(["full", "closed", "broken"])
        setattr(case, kind, how)
        return f"{kind} {how}"
    name, value = rng.choice(
        [
            (
                "PYTHONIOENCODING",
                rng.choice(["latin-1", "ascii", "cp1252", "utf-16", "ascii:strict"]),
            ),
            ("COLUMNS", rng.choice(["0", "1", "-5", "x", "99999999"])),
            ("TMPDIR", "/dev/null/none"),
            ("HOME", "/dev/null/none"),
            ("TZ", "Nowhere/At-All"),
            ("USER", _in_environments(weird.text(rng))),
            ("TERM", "dumb"),
            ("SOURCE_DATE_EPOCH", weird.number(rng)),
        ]
    )
    case.environment[name] = value
    return f"{name}={value[:20]!r}"


def _in_environments(text: str) -> str:
    """What an environment can hold of a text: no NUL, and of lone surrogates their bytes."""
    return (
        text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape").replace("\0", "")
    )


# Where a file stands


def _change_place(rng: Random, case: Case) -> str:
    file = rng.choice(case.files)
    kind = rng.choice(
        ["missing", "folder", "pipe", "endless", "device", "link", "loop", "sparse", "name", "mode"]
    )
    old = file.name
    if kind == "missing":
        case.files.remove(file)
    elif kind == "device":
        _rename(case, old, rng.choice(DEVICES))
    elif kind == "link":
        file.kind, file.target = "link", rng.choice(DEVICES)
    elif kind == "loop":
        file.kind, file.target = "link", file.name
    elif kind == "sparse":
        file.kind, file.length = "sparse", rng.choice([MILLION, 300 * MILLION, 3000 * MILLION])
    elif kind == "mode":
        file.mode = rng.choice([0, 0o200, 0o444])
    elif kind == "name":
        stem, dot, ending = file.name.partition(".")
        names = [
            "a\nb",
            "\u202ecsv",
            "\udcff\udc80",
            "-x",
            "x" * 240,
            " ",
            "é",
            "[a]",
            "*",
            "\x1b[2J",
        ]
        file.name = f"{rng.choice(names)}{dot}{ending}"
        _rename(case, old, file.name)
        del stem
    else:
        _render(file)
        file.kind = kind
    return f"{old}: {kind}"


def _rename(case: Case, old: str, new: str) -> None:
    case.words = [new if word == old else word for word in case.words]


# What a file holds


def _change_content(rng: Random, case: Case) -> str:
    file = rng.choice(case.files)
    changes: list[Callable[[Random, File], str]] = [_change_bytes]
    if file.style == "json" and file.tree is None:
        with suppress(ValueError, RecursionError):  # changed beyond recognition before
            file.tree = json.loads(file.content)
    if file.tree is not None:
        changes = [_change_tree, _change_tree, _change_tree, _change_bytes]
    elif file.name.endswith(".xlsx"):
        changes = [_change_workbook, _change_bytes]
    elif file.name.endswith(".ledger"):
        changes = [_change_ledger, _change_ledger, _change_bytes]
    elif file.name.endswith((".csv", ".tsv")):
        changes = [_change_lines, _change_lines, _change_bytes]
    elif file.name.endswith(".gz"):
        changes = [_change_packed, _change_bytes]
    return f"{file.name}: {rng.choice(changes)(rng, file)}"


def _render(file: File) -> None:
    if file.tree is not None:
        file.content, file.tree = rendered(file.tree, file.style), None


def _change_bytes(rng: Random, file: File) -> str:
    _render(file)
    raw = bytearray(file.content)
    where = rng.randrange(len(raw) + 1)
    length = rng.choice([1, 1, 4, 50, 1000])
    kind = rng.choice(
        [
            "flip",
            "cut",
            "end",
            "repeat",
            "insert",
            "many",
            "mark",
            "utf-16",
            "empty",
            "nul",
            "break",
        ]
    )
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 3, 20])):
            if raw:
                raw[rng.randrange(len(raw))] = rng.randrange(256)
    elif kind == "cut":
        del raw[where : where + length]
    elif kind == "end":
        del raw[where:]
    elif kind == "repeat":
        raw[where:where] = raw[where : where + length] * rng.choice([1, 2, 1000])
    elif kind == "insert":
        raw[where:where] = weird.text(rng).encode("utf-8", "surrogatepass")
    elif kind == "many":
        raw[where:where] = (
            rng.choice([b"[", b"{", b"a.", b"(", b"-", b"9", b"x", b",", b"\n"]) * 50_000
        )
    elif kind == "mark":
        raw[0:0] = rng.choice(
            [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK\x03\x04"]
        )
    elif kind == "utf-16":
        raw = bytearray(bytes(raw).decode("utf-8", "replace").encode("utf-16"))
    elif kind == "empty":
        raw = bytearray()
    elif kind == "nul":
        raw[where:where] = b"\x00"
    else:
        raw = bytearray(bytes(raw).replace(b"\n", rng.choice([b"\r", b"\r\n", b"", b"\n\n"])))
    file.content = bytes(raw)
    return kind


def _change_lines(rng: Random, file: File) -> str:
    """A table as text: one cell, one line or the whole of it."""
    lines = file.content.decode("utf-8", "surrogateescape").split("\n")
    where = rng.randrange(len(lines))
    kind = rng.choice(
        [
            "number",
            "text",
            "header",
            "twice",
            "drop",
            "swap",
            "delimiter",
            "quote",
            "column",
            "long",
        ]
    )
    if kind in ("number", "text"):
        cells = lines[where].split(",")
        at = rng.randrange(len(cells)) if kind == "text" else len(cells) - 1
        cells[at] = weird.number(rng) if kind == "number" else weird.text(rng)
        lines[where] = ",".join(cells)
    elif kind == "header":
        lines[0] = rng.choice(["", lines[0].replace("count", "Count"), ",,", "count", "a,a,count"])
    elif kind == "twice":
        lines.insert(where, lines[where])
    elif kind == "drop":
        del lines[where]
    elif kind == "swap":
        other = rng.randrange(len(lines))
        lines[where], lines[other] = lines[other], lines[where]
    elif kind == "delimiter":
        mark = rng.choice([";", "\t", "|", " ", "\x00", ",,"])
        lines = [line.replace(",", mark) for line in lines]
    elif kind == "quote":
        lines[where] += rng.choice(['"', "'", '""', '"a'])
    elif kind == "column":
        lines = [f"{line},{rng.choice(['x', '1', ''])}" for line in lines]
    else:
        lines[1:1] = [f"{weird.text(rng)},{i},{i % 7}" for i in range(rng.choice([5, 3000]))]
    file.content = "\n".join(lines).encode(
        "utf-8", "surrogatepass" if kind == "text" else "replace"
    )
    return f"lines {kind}"


def _change_packed(rng: Random, file: File) -> str:
    """Packed repetitions: little to store, much to read."""
    line = rng.choice([b"\x00", b"a,b,1\n", b"x", b"\n", b"9"])
    piece = packed(line * (MILLION // len(line)))
    times = rng.choice([1, 100, 2000])
    file.content = file.content + piece * times
    return f"packed {times} times a million bytes"


def _change_workbook(rng: Random, file: File) -> str:
    parts = ["[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"]
    chosen = rng.choices(parts, [1, 1, 4])[0]
    kind = rng.choice(["cut", "text", "number", "bomb", "tags"])

    def changed(name: str, part: str) -> str:
        if name != chosen:
            return part
        where = rng.randrange(len(part))
        if kind == "cut":
            return part[:where] + part[where + rng.choice([1, 10, 100]) :]
        if kind == "number":
            return re.sub(r">\d+<", lambda _: f">{weird.number(rng)}<", part, count=1)
        if kind == "bomb":
            return part[:where] + " " * 100 * MILLION + part[where:]
        if kind == "tags":
            return part.replace("<row>", "<row>" * 5000, 1)
        return part[:where] + weird.text(rng) + part[where:]

    rows: list[list[object]] = [
        ["county", "sex", "count"],
        ["Alpha", "m", 3],
        ["Alpha", "f", 5],
        ["Beta", "m", 2],
    ]
    file.content = workbook(sheet_xml(rows), changed)
    return f"workbook {chosen} {kind}"


def _change_tree(rng: Random, file: File) -> str:
    """One value, key or section of a structured file."""
    file.tree, kind = _changed_tree(rng, file.tree)
    return f"value {kind}"


def _changed_tree(rng: Random, tree: Any) -> tuple[Any, str]:
    tree = json.loads(json.dumps(tree), parse_float=Raw) if not _has_raw(tree) else _copied(tree)
    places = list(_places(tree))
    if not places:
        return Raw(weird.number(rng)), "whole"
    holder, key = rng.choice(places)
    kind = rng.choice(
        ["number", "text", "drop", "type", "nest", "twice", "key", "dots", "odd", "swap"]
    )
    if kind == "number":
        numbers = [(h, k) for h, k in places if isinstance(h[k], int) or _is_number(h[k])]
        holder, key = rng.choice(numbers or [(holder, key)])
        made = weird.number(rng)
        holder[key] = rng.choice([Raw(made), made])
    elif kind == "text":
        holder[key] = weird.text(rng)
    elif kind == "drop":
        del holder[key]
    elif kind == "type":
        holder[key] = rng.choice([[], {}, [[]], "", 0, -1, True, Raw("null"), Raw("1.5"), {"a": 1}])
    elif kind == "nest":
        depth = rng.choice([50, 500, 5000])
        holder[key] = Raw(
            rng.choice(["[" * depth + "]" * depth, "{a=" * depth + "1" + "}" * depth])
        )
    elif kind == "twice" and isinstance(holder, list):
        holder += [holder[key]] * rng.choice([1, 2, 1000])
    elif kind == "dots":
        holder_of_keys = tree if isinstance(tree, dict) else {}
        holder_of_keys[Raw(".".join(["a"] * rng.choice([5, 500, 20_000])))] = 1
    elif kind == "odd":
        holder[key] = Raw(rng.choice(ODD))
    elif kind == "swap":
        other, name = rng.choice(places)
        holder[key], other[name] = other[name], holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice([weird.text(rng), "unknown", str(key).upper()])] = holder.pop(key)
    return tree, kind


ODD = (
    "2020-99-99", "2020-01-01", "2020-01-01T00:00:00Z", "!!int foo", "!!float x", "!!binary x",
    "!!python/object:os.system x", "&a [*a]", "*missing", "<<", "? x", "- x", "|", ">", "yes",
    "0o9", "12:30:45", "1e5", "+inf", "-nan", "~", "'", '"', "''''",
    '"\\ud800"', '"\\u0000"', '"a\\u0000b"',
    '"\\q"', "{a: 1, a: 2}", "[1, [2, [3]]]", "{}", "0.1.2", "1__0", "{<<: {a: 1}}", "!!set {a}",
    '"/dev/zero"', '"/dev/stdin"', '"../up.csv"', '"."', '"missing.csv"', '"published.toml"',
)  # fmt: skip


def _has_raw(value: Any) -> bool:
    if isinstance(value, dict):
        return any(isinstance(k, Raw) or _has_raw(v) for k, v in value.items())
    return any(map(_has_raw, value)) if isinstance(value, list) else isinstance(value, Raw)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[\d./<>=-]+", value))


def _places(value: Any) -> Any:
    """Every holder and key in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _change_ledger(rng: Random, file: File) -> str:
    """Entries with other contents under a chain that holds."""
    book = sqlite3.connect(":memory:")
    try:
        book.deserialize(file.content)
        triggers = book.execute("select name from sqlite_master where type = 'trigger'").fetchall()
        for (name,) in triggers:
            book.execute(f'drop trigger "{name}"')
        kind = _changed_rows(rng, book)
        book.commit()
        file.content = bytes(book.serialize())
    except (sqlite3.Error, ValueError, TypeError, MemoryError):
        # Changed beyond recognition before; of no bytes at all SQLite says that memory is wanting.
        return _change_bytes(rng, file)
    finally:
        book.close()
    return f"ledger {kind}"


def _changed_rows(rng: Random, book: sqlite3.Connection) -> str:
    kind = rng.choice(["body", "body", "body", "hash", "head", "kept", "version", "table", "type"])
    rows = book.execute("select number, body from entries order by number").fetchall()
    if kind == "body" and rows:
        chosen, previous = rng.randrange(len(rows)), ""
        for place, (number, body) in enumerate(rows):
            tree = json.loads(body)
            if place == chosen:
                tree, kind = _changed_tree(rng, tree)
            if isinstance(tree, dict) and "previous" in tree and place:
                tree["previous"] = previous
            text = rendered(tree, "json").decode("utf-8", "replace").strip()
            previous = hashlib.sha256(text.encode()).hexdigest()
            book.execute(
                "update entries set body = ?, hash = ? where number = ?", (text, previous, number)
            )
        book.execute("update ledgers set head = ?", (previous,))
    elif kind == "hash":
        book.execute("update entries set hash = ?", (weird.text(rng).encode("utf-8", "replace"),))
    elif kind == "head":
        book.execute("update ledgers set entries = ?", (rng.choice([0, -1, 2**40, 2**62]),))
    elif kind == "kept":
        book.execute(
            "update kept_tables set body = ?", (rng.choice(["", "{}", "[]", "null", "x"]),)
        )
    elif kind == "version":
        book.execute("update alembic_version set version_num = ?", (weird.number(rng)[:30],))
    elif kind == "table":
        book.execute(f"drop table {rng.choice(['entries', 'ledgers', 'kept_tables'])}")
    else:
        book.execute("update entries set body = ?", (rng.choice([b"\xff\x00", 5, 1.5, "null"]),))
    return kind
