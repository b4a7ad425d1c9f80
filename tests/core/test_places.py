"""What ties a text to one place is seen, in texts of any length."""

from __future__ import annotations

import pytest

from instinct_git.core.entry import names_places

PATH, HOST = "it names an absolute path", "it names a host"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("look at /home/dev/clients first", PATH),
        ("look at ~/clients", PATH),
        (r"look at C:\clients", PATH),
        ("ask ops@corp.example.com", HOST),
        ("open https://wiki/page", HOST),
        ("open https://localhost/page", ""),
        ("ping 10.0.0.4", HOST),
        ("ping db.prod.acme.internal", HOST),
        ("ping DB.ACME.COM now", HOST),
        ("copy /srv/app/x to db.acme.io", "it names an absolute path and a host"),
        ("run the tests, then commit", ""),
        ("edit src/app/main.py", ""),
        ("use left-pad 1.2.3.", ""),
        ("a price of 3.community", ""),
        (".com is a domain", ""),
    ],
)
def test_paths_and_hosts_are_seen(text: str, named: str) -> None:
    assert names_places(text) == named


@pytest.mark.parametrize("part", ["a", "a.", "a-", "/a@", "a@a", "1.", "-.@", "x /", "a.b@"])
def test_a_long_line_is_read_in_one_go(part: str) -> None:
    """With a square of the length in steps these would take hours."""
    assert names_places(part * 100_000) in ("", HOST, PATH)
    assert HOST[9:] in names_places(part * 100_000 + " db.acme.com")
