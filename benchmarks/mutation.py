"""Files as a hostile or unlucky hand would change them: bytes, text and JSON, each changed where it hurts."""

import json
import random
from typing import Any

#: values that a reader may not have thought of
_STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 2**31, 2**63, -(2**63), 10**30, 1e308, -0.0, 1e-300, "", "x", "none", "../../etc",
    "a\0b", "\x1b[2J", "\ud800", "x" * 5000, [], [[]], [None], {}, {"": {}}, {"name": "x"}, [1] * 50,
    "subprocess:Popen",
)  # fmt: skip
_LINES = (b"", b",", b'"', b"\0", b"\xff\xfe", b"\r", b"[" * 3000, b"a = {" * 900, b"=", b"\xef\xbb\xbf", b"x" * 4000)


def mutated_bytes(data: bytes, draw: random.Random) -> bytes:
    """Return the bytes with one to three changes: flipped, overwritten, cut, repeated, inserted."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(7)
        if kind == 0 and changed:
            changed[min(place, len(changed) - 1)] ^= 1 << draw.randrange(8)
        elif kind == 1 and changed:
            changed[min(place, len(changed) - 1)] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        elif kind == 2:
            del changed[place:]
        elif kind == 3:
            end = min(len(changed), place + draw.randint(1, 64))
            changed[place:place] = changed[place:end]
        elif kind == 4:
            del changed[place : place + draw.randint(1, 64)]
        elif kind == 5:
            changed[place:place] = draw.choice(_LINES)
        else:
            changed[place : place + 8] = draw.choice((2**64 - 1, 2**63, 2**40, 0, 2**32 - 1)).to_bytes(8, "little")
    return bytes(changed)


def mutated_json(data: bytes, draw: random.Random) -> bytes:
    """Return a JSON text with one to three of its nodes changed; now and then with its bytes changed instead."""
    if draw.random() < 0.2:
        return mutated_bytes(data, draw)
    tree = json.loads(data)
    for _ in range(draw.randint(1, 3)):
        tree = _changed(tree, draw)
    return json.dumps(tree).encode()


def _changed(tree: Any, draw: random.Random) -> Any:
    """Walk to a random node and change it: another value, a key gone, renamed or new."""
    if isinstance(tree, dict) and tree and draw.random() < 0.85:
        key = draw.choice(sorted(tree))
        kind = draw.randrange(8)
        if kind == 0:
            return {name: value for name, value in tree.items() if name != key}
        if kind == 1:
            return {**{name: value for name, value in tree.items() if name != key}, key + "s": tree[key]}
        if kind == 2:
            return {**tree, draw.choice(("new", "", "__class__", "name")): draw.choice(_STRANGE)}
        return {**tree, key: _changed(tree[key], draw)}
    if isinstance(tree, list) and tree and draw.random() < 0.8:
        place = draw.randrange(len(tree))
        kind = draw.randrange(6)
        if kind == 0:
            return tree[:place]
        if kind == 1:
            return tree * 3
        return [*tree[:place], _changed(tree[place], draw), *tree[place + 1 :]]
    return draw.choice(_STRANGE)
