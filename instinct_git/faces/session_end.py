"""`instinct session-end AGENT [SESSION] [--swarm]`: what the hook starts, detached, when a session or a shared task ends.

Nobody reads what it prints: it prints nothing and always exits 0. What it did stands in `instinct stats --session last`.
"""

from __future__ import annotations


def run(arguments: list[str]) -> int:
    """Learn from the session's new part, and run what the user's config allows; return 0 whatever happens."""
    from instinct_git.memory import Memory

    try:
        agent, session = (*[one for one in arguments if not one.startswith("--")], "", "")[:2]
        memory = Memory()
        if "--swarm" in arguments:
            memory.end_shared_task(session)
        else:
            memory.end_session(session, agent=agent)
    except BaseException:  # nobody is there to be told
        return 0
    return 0
