"""Parts of requests that nobody should send: names, queries, headers, pointers, directives, tokens."""

from typing import Final

NAMES: Final = ("t0", "t1", "t2")
BAD_NAMES: Final = (
    "%2F", "..", "%2e%2e", "%00", "a%0ab", "T0", "\u00fc".encode().hex(), "%ff", "x" * 5_000, "-",
    "%20", "a b",
    "~", "%25", "t0/status/x", "t0//", ":", "a;b", "%C3%BC", "%ed%a0%80",
)  # fmt: skip
QUERY: Final = (
    "limit=-1", "limit=99999999999999999999999", "limit=x", "limit=1", "limit=%D9%A3", "continue=x",
    "continue=%ff",
    "continue=WzEsIngiLCJ5Il0=", "continue=W10=", "continue=WzksOSw5XQ==", "continue=////",
    "continue=eyJhIjoxfQ==",
    "resourceVersion=x", "resourceVersion=-1", "resourceVersion=99999999999999999999",
    "resourceVersion=%C2%B2",
    "resourceVersionMatch=Exact", "labelSelector=%00", "labelSelector=a%20in%20(",
    "labelSelector=a%3E" + "9" * 5_000,
    "labelSelector=" + "a," * 3_000, "labelSelector=a%20in%20(" + "b," * 2_000 + ")",
    "labelSelector=%C3%BC%3Da",
    "labelSelector=" + "a" * 9_000, "labelSelector=a%3D%3D", "labelSelector=a%3E%C2%B2",
    "fieldSelector=metadata.name",
    "fieldSelector=metadata.name%3Dt0", "fieldSelector=%5C%5C%5C", "fieldSelector=spec.x%3D1",
    "fieldSelector=a%3D%00",
    "fieldSelector=metadata.name%3D" + "%5C" * 4_000, "fieldManager=" + "m" * 5_000, "fieldManager=%00",
    "fieldManager=%ff%fe", "fieldManager=", "timeoutSeconds=-1", "timeoutSeconds=x", "timeoutSeconds=0",
    "dryRun=x",
    "dryRun=All", "fieldValidation=x", "fieldValidation=Strict", "fieldValidation=Ignore", "force=true",
    "force=x",
    "pretty=true", "gracePeriodSeconds=-1", "gracePeriodSeconds=999999999999999999999",
    "gracePeriodSeconds=%C2%B2",
    "propagationPolicy=x", "propagationPolicy=Foreground", "includeObject=x", "%ff=%ff", "=", "&&&",
    "a" * 9_000,
    "watch=true&timeoutSeconds=0", "watch=true&timeoutSeconds=0&resourceVersion=%D9%A3",
    "watch=true&timeoutSeconds=0&resourceVersion=99999999999999999999999",
    "watch=1&timeoutSeconds=0&resourceVersion=1",
    "watch=true&timeoutSeconds=0&sendInitialEvents=true&allowWatchBookmarks=true", "tailLines=-1",
    "container=%00",
    "sinceSeconds=99999999999999999999", "limitBytes=x", "sinceTime=x", "follow=x",
)  # fmt: skip
ACCEPT: Final = (
    b"*/*", b"", b"garbage", b"\xff", b"application/json;as=Table;g=meta.k8s.io;v=v1", b"a/b;" * 500,
    b"application/vnd.kubernetes.protobuf", b"application/yaml",
)  # fmt: skip
OPS: Final = ("add", "remove", "replace", "move", "copy", "test", "destroy", "", None, 1)
POINTERS: Final[tuple[object, ...]] = (
    "", "/", "/metadata", "/metadata/name", "/metadata/labels", "/metadata/labels/app",
    "/metadata/annotations/a~1b",
    "/spec", "/spec/containers/0", "/spec/containers/-", "/spec/containers/-1",
    "/spec/containers/99999999999999999999",
    "/spec/containers/\u00b2", "/spec/containers/0/resources", "/status", "/metadata/managedFields",
    "/metadata/uid",
    "/metadata/resourceVersion", "/metadata/finalizers", "/metadata/ownerReferences",
    "/metadata/deletionTimestamp",
    "/kind", "/data", "/data/a", "/spec/tasks/0/template", "/a" * 3_000, "~", "/~2", "/\x00",
    "x" * 3_000, None, 7, [],
)  # fmt: skip
DIRECTIVES: Final[tuple[dict[str, object], ...]] = (
    {"$patch": "delete"}, {"$patch": "replace"}, {"$patch": "merge"}, {"$patch": "x"}, {"$patch": 1},
    {"$patch": None},
    {"$retainKeys": ["a"]}, {"$retainKeys": "a"}, {"$retainKeys": [1, {}]},
    {"$setElementOrder/containers": [{"name": "c"}]},
    {"$setElementOrder/containers": "x"}, {"$setElementOrder/containers": [1]}, {"$setElementOrder/": []},
    {"$setElementOrder/finalizers": ["a", 1]}, {"$deleteFromPrimitiveList/finalizers": ["a"]},
    {"$deleteFromPrimitiveList/finalizers": {}}, {"$deleteFromPrimitiveList/": [1]}, {"$x": 1}, {"$": []},
    {"containers": [{"$patch": "delete", "name": "c"}]}, {"containers": [{"$patch": "replace"}]},
    {"containers": [{"$patch": "delete"}]}, {"containers": {"$patch": "delete"}},
    {"containers": [None, 1, []]},
    {"containers": [{"name": {}}]}, {"containers": [{"name": "c"}, {"name": "c"}]},
)  # fmt: skip
MANAGED: Final[tuple[object, ...]] = (
    [], {}, [None], [{}], [{"manager": 1}], [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:": 1}}],
    [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1",
      "fieldsV1": {"f:spec": {"k:{": {}, "v:x": {}}}}],
    [{"manager": "m", "operation": "x", "apiVersion": "v9", "fieldsV1": []}],
    [{"fieldsV1": {"i:x": {}, ".": 1}}] * 50,
    [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "x",
      "fieldsV1": {"f:metadata": {"f:labels": {"k:[1]": {}, "v:{": {}, "i:99999999999999999999": {}}}}}],
)  # fmt: skip
TOKENS: Final = (
    b"{", b"}", b"[", b"]", b":", b",",
    b'"', b"\\", b"\n", b"\0", b"\xff", b"- ", b"? ", b"&a ", b"*a ", b"!!x ", b"<<: ",
    b"|\n", b">\n", b"#", b"%", b"---\n", b"...", b"null", b"\\ud800", b"\xed\xa0\x80", b"1e999", b"\t",
    b"'", b"@", b"`",
)  # fmt: skip
