"""Choices one after another, all of them in order, each made only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

__all__ = ["Options", "adding_to", "odometer"]

Choice = TypeVar("Choice")

Options = range | tuple[int, ...]


def odometer(
    levels: int, opened: Callable[[Sequence[Choice]], Iterator[Choice]]
) -> Iterator[list[Choice]]:
    """All sequences of choices, in order; `opened` gives those that follow what was chosen before.

    The list that is yielded changes when the next one is asked for.

    Examples
    --------
    >>> [tuple(found) for found in odometer(2, lambda chosen: iter("ab"[len(chosen) :]))]
    [('a', 'b'), ('b', 'b')]
    """
    chosen: list[Choice] = []
    if levels == 0:
        yield chosen
        return
    waiting = [opened(chosen)]
    while waiting:
        for choice in waiting[-1]:
            chosen.append(choice)
            break
        else:
            waiting.pop()
            if chosen:
                chosen.pop()
            continue
        if len(chosen) == levels:
            yield chosen
            chosen.pop()
        else:
            waiting.append(opened(chosen))


def adding_to(options: Sequence[Options], total: int) -> Iterator[list[int]]:
    """All choices of one option each that add to the total, in order.

    Examples
    --------
    >>> [tuple(found) for found in adding_to([range(3), (0, 2)], 2)]
    [(0, 2), (2, 0)]
    """
    after = _sums_after(options, total)

    def opened(chosen: Sequence[int]) -> Iterator[int]:
        place, left = len(chosen), total - sum(chosen)
        rest, here = after[place + 1], options[place]
        if isinstance(rest, range) and isinstance(here, range):
            # What follows makes every sum from its least to its most.
            yield from range(
                max(here.start, left - rest.stop + 1), min(here.stop, left - rest.start + 1)
            )
            return
        for value in here:
            if left - value in rest:
                yield value

    return odometer(len(options), opened)


def _sums_after(options: Sequence[Options], total: int) -> list[range | frozenset[int]]:
    """The sums that all options from each place on can make, up to a total."""
    after: list[range | frozenset[int]] = [range(1)]
    for here in reversed(options):
        rest = after[-1]
        if isinstance(here, range) and isinstance(rest, range) and here and rest:
            after.append(range(here.start + rest.start, here.stop + rest.stop - 1))
        else:
            bits = 0
            for value in rest:
                bits |= 1 << value
            made = 0
            for value in here:
                made |= bits << value
            made &= (1 << (total + 1)) - 1
            after.append(frozenset(n for n in range(made.bit_length()) if made >> n & 1))
    return after[::-1]
