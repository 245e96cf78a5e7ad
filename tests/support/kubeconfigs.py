"""Kubeconfigs, new ones and some that differ a little from another."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


def written(
    file: Path,
    server: str,
    user: Mapping[str, object] | None = None,
    cluster: Mapping[str, object] | None = None,
) -> Path:
    """Write a kubeconfig with one context, named as the file is."""
    name = file.stem
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": name, "user": dict(user) if user else {"token": f"token-of-{name}"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file


def changed(kubeconfig: Path, into: Path, change: Callable[[Json], None]) -> Path:
    """Write a copy of a kubeconfig with something changed in it."""
    document = read(kubeconfig)
    change(document)
    into.write_text(yaml.safe_dump(document), encoding="utf-8")
    return into


def read(kubeconfig: Path) -> Json:
    """The content of a kubeconfig."""
    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def server_of(kubeconfig: Path) -> str:
    """The address of the only cluster in a kubeconfig."""
    return str(read(kubeconfig)["clusters"][0]["cluster"]["server"])


def with_server(address: str) -> Callable[[Json], None]:
    """Let the cluster be somewhere else, without a certificate."""

    def change(document: Json) -> None:
        document["clusters"][0]["cluster"] = {"server": address}

    return change


def with_token(token: str) -> Callable[[Json], None]:
    """Let the user have another token."""

    def change(document: Json) -> None:
        document["users"][0]["user"] = {"token": token}

    return change
