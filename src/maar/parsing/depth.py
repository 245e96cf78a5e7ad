"""How deep plain values are nested."""


def is_deeper(value: object, depth: int) -> bool:
    """Whether lists and mappings are nested more than `depth` levels; level by level, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        if not level:
            return False
        level = [
            below
            for one in level
            for below in (one.values() if isinstance(one, dict) else one)
            if isinstance(below, dict | list)
        ]
    return bool(level)
