"""Whether plain values, as JSON gives them, keep within limits."""

from maar.parsing.limits import DocumentLimits


def excess(value: object, limits: DocumentLimits) -> str:
    """Say how a value exceeds limits, nothing where it does not; level by level, without recursion."""
    level, nodes = [value], 0
    for _ in range(limits.depth + 1):
        nodes += len(level)
        if nodes > limits.nodes:
            return f"more than {limits.nodes} values; split it"
        lists = [one for one in level if isinstance(one, dict | list)]
        if not lists:
            return ""
        level = [below for one in lists for below in (one.values() if isinstance(one, dict) else one)]
    return f"nested more than {limits.depth} levels deep; make it flatter"


def may_exceed(data: bytes, limits: DocumentLimits) -> bool:
    """Whether JSON could exceed limits; counts bytes only, and so is quick to say no."""
    lists = data.count(b"[") + data.count(b"{")
    return lists > limits.depth or lists + data.count(b",") >= limits.nodes
