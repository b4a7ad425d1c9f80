"""SHA-256 without OpenSSL: loading that library takes a tenth of an `observe`."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs 3 ms
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

_BLOCK = 64


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of some bytes as 64 hex digits."""
    return sha256(data).hexdigest()


def hmac_hex(key: bytes, data: bytes) -> str:
    """Return the HMAC-SHA-256 (RFC 2104) of some bytes under a key as 64 hex digits."""
    block = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block) + data).digest()
    return sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()


def session_code(agent: str, session: str) -> str:
    """Return the 12 hex digits of a transcript's session. Unlike a session that a person or tool names, it must be the
    same in every clone, or one piece of evidence learned twice would have two payloads."""
    return sha256_hex(f"session\0{agent}\0{session}".encode("utf-8", "surrogatepass"))[:12]
