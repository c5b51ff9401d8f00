"""Values that programs stumble over."""

from __future__ import annotations

from random import Random

__all__ = ["character", "number", "text"]

NUMBERS = (
    "0", "-0", "-1", "1", "2", "3.5", "-0.5", "1e3", "1e400", "1e-400", "1E+5", "nan", "NaN",
    "inf", "-inf", "Infinity", "1/3", "1/0", "0/0", "-1/2", "1_000", "1,000", "0x10", "0b1", "0o7",
    "007", "+5", " 5", "5 ", "5%", "½", "٣", "５", "1e1000000000", "1e-1000000000",
    "2147483647", "2147483648", "4294967296", "9007199254740993", "4611686018427387904",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    "-9223372036854775809", "1" + "0" * 30, "9" * 400, "0." + "0" * 400 + "1", "<5", ">=3", "3-7",
    "7-3", "<", "-", ".", "e5", "true", "null", "''",
)  # fmt: skip

TEXTS = (
    "", " ", "\t", "\n", "a\nb", "a\r\nb", "\r", ",", ";", '"', '""', "'", "=1+1", "@SUM(A1)", "-x",
    "--", "--help", "|", "[", "]", "[]", "{}", "{", "}", "#", "%s", "%", "$HOME", "~", "*", "?",
    "\\",
    "\\x00", "../up", "..", ".", "/dev/zero", "/dev/null", "a/b", "count", "N", "nan", "None",
    "null",
    "true", "0", "-1", "1e9", "\u202eevil", "\u2066x\u2069", "e\u0301", "\u0301", "\ufeff",
    "\u200b",
    "\u2028", "\x1b[31mred\x1b[0m", "\x07", "\x7f", "\x85", "\udc80\udcff", "\U0001f600", "ｘ", "ß",
    "İ", "x" * 300, "x" * 5000, "é" * 2000, "<script>alert(1)</script>", "2020-99-99", "!!int foo",
    "&a [*a]", "${x}", "{{7*7}}", "http://127.0.0.1:1/x", "tcp://127.0.0.1:1", "😀" * 100,
)  # fmt: skip


def number(rng: Random) -> str:
    """A number that is too long, too large, or none at all."""
    if rng.random() < 0.3:
        digits = str(rng.randrange(1, 10)) * rng.choice([30, 60, 310, 700, 4300, 4301, 5000])
        return rng.choice(["", "", "-", "0.", "1e"]) + digits
    return rng.choice(NUMBERS)


def text(rng: Random) -> str:
    """A text that is too long, empty, or holds what texts seldom hold."""
    if rng.random() < 0.1:
        return "".join(character(rng) for _ in range(rng.randrange(1, 20)))
    return rng.choice(TEXTS)


def character(rng: Random) -> str:
    """A character from anywhere."""
    wide = rng.choice([0x20, 0x80, 0x250, 0x3000, 0xD800, 0x11000])
    return chr(rng.randrange(1, wide))
