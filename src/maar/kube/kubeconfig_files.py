"""Kubeconfig files: read within limits, checked, and merged as kubectl does.

The library that uses what they say could read them too, but it has no limits and checks no types: a
file that is wrong gives an error of Python, or one that quotes a user with its token. So it gets
what is checked.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from maar.core.model.kinds import without_nulls
from maar.parsing.limits import OBJECT
from maar.parsing.yaml_documents import document

_ANOTHER: Final = "name another with --kubeconfig or KUBECONFIG"


class Context(msgspec.Struct, frozen=True, omit_defaults=True):
    """The names of a cluster and of a user, and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Cluster(msgspec.Struct, frozen=True, omit_defaults=True, rename="kebab"):
    """Where an API server is, and how it is verified."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class Variable(msgspec.Struct, frozen=True):
    """An environment variable of a plugin."""

    name: str
    value: str = ""


class Plugin(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A program that gives credentials."""

    command: str
    api_version: str
    args: list[str] = []
    env: list[Variable] = []


class AuthProvider(msgspec.Struct, frozen=True, omit_defaults=True):
    """Credentials of OpenID Connect or of Google."""

    name: str = ""
    config: dict[str, str] = {}


class User(msgspec.Struct, frozen=True, omit_defaults=True, rename="kebab"):
    """What authenticates a client."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: Plugin | None = None
    auth_provider: AuthProvider | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _Kubeconfig(msgspec.Struct, frozen=True, rename="kebab"):
    """What is used of a file; as kubectl does, it refuses values of another type and ignores other fields."""

    current_context: str = ""
    contexts: tuple[_NamedContext, ...] = ()
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()


class ChosenContext(NamedTuple):
    """What a context refers to; paths in a cluster or a user are relative to its file."""

    namespace: str
    cluster: Cluster
    cluster_file: Path
    user: User
    user_file: Path


def choose_context(paths: str, asked_for: str | None) -> ChosenContext:
    """The context that is asked for, or that of the first file that names one, as with kubectl.

    Several files are named as in $KUBECONFIG; of entries with the same name the first counts.
    """
    entries, chosen = _Entries(), asked_for or ""
    for file, found in _kubeconfigs(paths):
        chosen = chosen or found.current_context
        entries.add(file, found)
    if not chosen:
        raise ValueError("it names no current context; write one into it, or choose with --context")
    return entries.of_context(chosen)


@dataclass
class _Entries:
    """All contexts, clusters and users by name, with the file that each cluster and user is in."""

    contexts: dict[str, Context] = field(default_factory=dict)
    clusters: dict[str, tuple[Cluster, Path]] = field(default_factory=dict)
    users: dict[str, tuple[User, Path]] = field(default_factory=dict)

    def add(self, file: Path, found: _Kubeconfig) -> None:
        for context in found.contexts:
            self.contexts.setdefault(context.name, context.context)
        for cluster in found.clusters:
            self.clusters.setdefault(cluster.name, (cluster.cluster, file))
        for user in found.users:
            self.users.setdefault(user.name, (user.user, file))

    def of_context(self, name: str) -> ChosenContext:
        if name not in self.contexts:
            known = ", ".join(self.contexts)
            others = f"choose one of {known} with --context" if known else "name another kubeconfig"
            raise ValueError(f"there is no context {name}; {others}")
        context = self.contexts[name]
        if not context.cluster:
            raise ValueError(f"context {name} names no cluster; write one into it, or choose with --context")
        if context.cluster not in self.clusters:
            raise ValueError(f"context {name} names cluster {context.cluster}, which is not there; add it")
        if not self.clusters[context.cluster][0].server:
            raise ValueError(f"cluster {context.cluster} has no server; write its address into it")
        anonymous = (User(), Path())  # as with kubectl, also where there is no user of the name
        cluster, user = self.clusters[context.cluster], self.users.get(context.user, anonymous)
        return ChosenContext(context.namespace or "default", *cluster, *user)


def _kubeconfigs(paths: str) -> Iterator[tuple[Path, _Kubeconfig]]:
    """The files that have something in them, as they are read."""
    named = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    files = [file for file in named if file.is_file()]
    if not files:
        what = "this is a folder" if any(map(Path.is_dir, named)) else "there is no such file"
        raise ValueError(f"{what}; {_ANOTHER}")
    documents = [(file, document(file.read_bytes(), OBJECT, repeated=lambda _: None)) for file in files]
    if all(one is None for _, one in documents):
        raise ValueError(f"this is no kubeconfig; {_ANOTHER}")
    for file, one in documents:
        if one is not None:
            try:
                yield file, _read(one)
            except ValueError as error:
                # Where there is one file, the message begins with its name already.
                raise ValueError(f"{file}: {error}" if len(files) > 1 else str(error)) from None


def _read(written: object) -> _Kubeconfig:
    if not isinstance(written, dict):
        raise ValueError(f"this is no kubeconfig; {_ANOTHER}")  # noqa: TRY004  # the file is wrong
    try:
        return msgspec.convert(without_nulls(written), _Kubeconfig)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        what = f"{place.removesuffix('`')}: {problem[:1].lower()}{problem[1:]}"
        raise ValueError(f"{what}; correct it, or {_ANOTHER}") from None
