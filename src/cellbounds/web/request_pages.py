"""Decide: what was asked for, with its audit against everything that is out."""

ROUTES: list[object] = []


async def judge_waiting(site: object) -> None:
    """Nothing yet."""
