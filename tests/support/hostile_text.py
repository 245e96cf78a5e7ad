"""Texts that harm whoever reads YAML or JSON without limits."""


def laughs(levels: int) -> str:
    """Lists of aliases of lists of aliases: ten times as many values in each line."""
    first = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
    return first + "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, levels))


def merges(levels: int) -> str:
    """The same with merge keys."""
    first = "l0: &l0 {x: 1}\n"
    return first + "".join(
        f"l{n}: &l{n} {{<<: [{', '.join([f'*l{n - 1}'] * 4)}], k{n}: {{<<: *l{n - 1}}}}}\n"
        for n in range(1, levels)
    )


# Small ones, which are refused at once or cost little.
SHORT_YAML: dict[str, str] = {
    "open lists": "[" * 10_000,
    "open mappings": "{a: " * 10_000,
    "lists in lists": "- " * 10_000,
    "keys in keys": "? " * 10_000,
    "aliases of aliases": laughs(10),
    "merges of merges": merges(40),
    "depth by aliases": "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [[[*a{n - 1}]]]\n" for n in range(1, 100)),
    "directives": "".join(f"%TAG !a{n}! tag:b\n" for n in range(100)) + "--- a",
    "itself": "a: &a [*a]",
    "itself merged": "&a {<<: *a}",
    "an alias of nothing": "*a",
    "a key that is a list": "[a]: b",
    "a key that is nothing": ": b",
    "python": "!!python/object/apply:os.system [ls]",
    "binary": "!!binary aGk=",
    "a set": "!!set {a}",
    "pairs": "!!omap [a: b]",
    "another tag": "!mine {a: b}",
    "not a number": "a: .nan",
    "infinite": "a: -.INF",
    "merged scalar": "<<: 1",
    "NUL": "a: \0",
    "half a pair": '"\\ud800"',
    "two documents": "a\n---\nb",
    "a bracket": "a: [",
}
LONG_YAML: dict[str, str] = {
    "many open lists": "[" * 100_000,
    "many open mappings": "{a: " * 100_000,
    "many lists in lists": "- " * 100_000,
    "many keys in keys": "? " * 100_000,
    "many mappings in mappings": "\n".join(" " * n + "a:" for n in range(1_500)),
    "a million lists": "[" + "[]," * 900_000 + "]",
    "a million documents": "---\n" * 700_000,
    "a long text many times": "a: &a " + "x" * 50_000 + "\nb: [" + "*a, " * 20_000 + "]",
    "many directives": "".join(f"%TAG !a{n}! tag:b\n" for n in range(100_000)) + "--- a",
    "half a pair in Python": "\ud800",
    "too long": "#" * (3 * 2**20 + 1),
}
JSON: tuple[bytes, ...] = (
    b"[" * 10_000,
    b'{"a":' * 10_000,
    b"[" * 5_000 + b"]" * 5_000,
    b'{"a":' * 400 + b"1" + b"}" * 400,
    b"9" * 5_000,
    b"1e400",
    b"NaN",
    b"-",
    b"",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\0}\0",
    b'{"a":1,"a":2}',
    b'{"metadata":null}',
    b'{"metadata":[]}',
    b'{"kind":1,"apiVersion":[]}',
    b'{"metadata":{"name":1e9,"namespace":{},"labels":[],"annotations":"x","ownerReferences":{}}}',
    b'{"\\u0000":"\\u0000"}',
    b"{} {}",
)
