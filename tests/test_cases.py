"""The table of the named cases stays true."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_case_names_a_test_that_exists() -> None:
    rows = re.findall(
        r"^\| \d+[abc]? \| `\w+` \| `(\w+)` \| (\S+) \|$", (HERE / "CASES.md").read_text(encoding="utf-8"), re.M
    )
    assert len(rows) > 88
    for name, file in rows:
        assert f"def {name}(" in (HERE.parent / file).read_text(encoding="utf-8"), name
