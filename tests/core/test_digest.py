"""Digests that go past OpenSSL are those of the standard library: ids and names in every clone depend on it."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import sys

import pytest

from instinct_git.core import digest

DATA = (b"", b"a", b"seq:test->fix->test", "中文".encode(), bytes(range(256)) * 9)
KEYS = (b"", b"k", b"0123456789abcdef" * 4, bytes(65), bytes(range(256)))


@pytest.mark.parametrize("missing", [(), ("_sha2",), ("_sha256",), ("_sha2", "_sha256")], ids=str)
def test_digests_are_those_of_the_standard_library_whatever_parts_python_has(
    missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        importlib.reload(digest)
        for data in DATA:
            assert digest.sha256_hex(data) == hashlib.sha256(data).hexdigest()
            for key in KEYS:
                assert digest.hmac_hex(key, data) == hmac.new(key, data, "sha256").hexdigest()
    finally:
        monkeypatch.undo()
        importlib.reload(digest)
