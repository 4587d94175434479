"""The order of some updates: which of them cannot persist before which.

One update comes before another if the other needs it, directly or through any others, or if it was guaranteed when the
other was issued. That is a partial order: what an update needs is guaranteed with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from powercut.states.timeline import Timeline

MOST_VISITED = 100_000  # updates through which needs are followed; beyond, they are taken as leading nowhere


def order_of(timeline: Timeline, updates: Sequence[int]) -> list[int]:
    """For each of some updates, which stand in order, a mask of those that come before it."""
    masks = _needed(timeline, updates)
    issued, guaranteed = timeline.updates.event, timeline.updates.guaranteed
    by_guarantee = sorted(range(len(updates)), key=lambda i: guaranteed[updates[i]])
    sure, done = 0, 0
    for index, update in enumerate(updates):
        while done < len(updates) and guaranteed[updates[by_guarantee[done]]] <= 2 * issued[update]:
            sure |= 1 << by_guarantee[done]
            done += 1
        masks[index] = (masks[index] | sure) & ~(1 << index)
    return masks


def _needed(timeline: Timeline, updates: Sequence[int]) -> list[int]:
    """For each of some updates a mask of those that it needs, through whatever others, with itself."""
    if not updates:
        return []
    member = {update: index for index, update in enumerate(updates)}
    lowest = updates[0]
    reach: dict[int, int] = {}
    for update in updates:
        waiting = [update]
        while waiting:
            current = waiting[-1]
            needs = [need for need in timeline.needs(current) if need >= lowest]
            missing = [need for need in needs if need not in reach]
            if missing and len(reach) < MOST_VISITED:
                waiting.extend(missing)
                continue
            waiting.pop()
            mask = 1 << member[current] if current in member else 0
            for need in needs:
                mask |= reach.get(need, 0)
            reach[current] = mask
    return [reach[update] for update in updates]
