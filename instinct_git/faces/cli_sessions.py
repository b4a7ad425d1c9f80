"""`stats --session`: one session in sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from instinct_git.faces import render

if TYPE_CHECKING:
    from instinct_git.core.session import Change, Summary

SHOWN = 5
"""Keys of a kind that are named one by one."""


def summary_lines(one: Summary) -> list[str]:
    """Return what a session recorded, what rose, what was suggested to it, and what waits."""
    head = f"session {one.session}" + (f"  {one.agent}" if one.agent else "")
    times = [f"began {one.began}"] if one.began else []
    times += [f"ended {one.ended}"] if one.ended else []
    lines = ["  ".join((head, *times))]
    counted = ", ".join(f"{number} {kind}" for kind, number in one.recorded.items())
    lines.append(f"recorded   {counted or 'nothing'}")
    lines += render.table([_row(change) for change in one.changes[:SHOWN]])
    lines += _more(len(one.changes) - SHOWN)
    rose = ", ".join(f"{change.key} ({change.level_before} -> {change.level_after})" for change in one.risen[:SHOWN])
    lines.append(f"risen      {render.clean(rose) or 'nothing'}")
    lines += _more(len(one.risen) - SHOWN)
    told = ", ".join(one.told[:SHOWN])
    size = f"  ({len(one.told)}, about {one.tokens} tokens)" if one.told else ""
    lines.append(f"suggested  {render.clean(told) or 'nothing'}{size}")
    lines.append(f"waiting    {one.waiting or 'nothing'}" + (f": {one.next_step}" if one.next_step else ""))
    if one.candidates:
        lines.append(f"to decide  {render.clean(', '.join(one.candidates[:SHOWN]))}  (`instinct candidates --ready`)")
    return lines + [f"at its end {render.clean(line)}" for line in one.end]


def _row(one: Change) -> tuple[str, str, str, str]:
    level = one.level_after if one.level_after == one.level_before else f"{one.level_before} -> {one.level_after}"
    return f"  {render.clean(one.key)}", f"{one.before} -> {one.after}", level, render.clean(one.title)


def _more(number: int) -> list[str]:
    return [f"  ... and {number} more (`--json` has all)"] if number > 0 else []
