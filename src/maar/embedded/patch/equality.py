"""When two JSON values are the same."""


def same(left: object, right: object) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1, which Python thinks."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def without_nulls(value: object) -> object:
    """The value without the fields that are null, which mean the same as fields that are not there."""
    if isinstance(value, dict):
        return {key: without_nulls(below) for key, below in value.items() if below is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
