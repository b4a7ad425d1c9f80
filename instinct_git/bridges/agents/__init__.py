"""Coding agents' settings: what is written where (`table`), and editors that change nothing but what is ours."""
