"""What a token may list: everywhere, or in which namespaces; the API server is asked, nothing is guessed."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import msgspec

from maar.core.model.job import Job
from maar.core.model.metadata import Object, Record
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError
from maar.kube.listing import objects
from maar.kube.paths import resource_path_of

WATCHED: Final[tuple[type[Object], ...]] = (Queue, PriorityClass, PodGroup, Job, Node, Pod)
MOST_NAMESPACES: Final = 100  # each has a watch for every kind
_AT_A_TIME: Final = 16
_ACCOUNT: Final = "system:serviceaccount:"
_VERBS: Final = ("list", "watch")
_USER: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_ACCESS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NO_REVIEW: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@dataclass(frozen=True)
class Rights:
    """The kinds that may be listed everywhere, and the namespaces in which others may be."""

    kinds: frozenset[str] = frozenset()
    inside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by kind
    left_out: int = 0  # namespaces beyond the most that are watched

    def everywhere(self, kind: type[Object]) -> bool:
        """Whether all objects of a kind may be listed."""
        return kind.kind_name() in self.kinds

    def scopes(self, kind: type[Object]) -> tuple[str, ...]:
        """The namespaces to list a kind in; the empty name stands for all."""
        return ("",) if self.everywhere(kind) else self.inside.get(kind.kind_name(), ())

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces in which some kind may be listed that may not be listed everywhere."""
        return tuple(sorted({name for names in self.inside.values() for name in names}))


async def find_user(api: ApiServer) -> str:
    """The name of the user that a token belongs to; empty where the server is too old to say."""
    body = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    try:
        answer = await api.request("POST", _USER, body=body)
    except ApiError as error:
        if error.code in _NO_REVIEW:
            return ""
        raise
    return _USER_REVIEW.decode(answer).status.user_info.username


async def find_rights(api: ApiServer, user: str, named: Sequence[str]) -> Rights:
    """Ask what may be listed: everywhere, else in the named namespaces, else in those there are."""
    turns = asyncio.Semaphore(_AT_A_TIME)
    everywhere = dict(
        zip(WATCHED, await _all(_may_read(api, turns, kind, "") for kind in WATCHED), strict=True)
    )
    kinds = frozenset(kind.kind_name() for kind, may in everywhere.items() if may)
    lacking = [kind for kind in WATCHED if kind.namespaced and not everywhere[kind]]
    if not lacking:
        return Rights(kinds)
    names = list(dict.fromkeys(named)) or await _namespaces(api, user, turns)
    asked = [(kind, name) for name in names for kind in lacking]
    allowed = await _all(_may_read(api, turns, kind, name) for kind, name in asked)
    found = [pair for pair, may in zip(asked, allowed, strict=True) if may]
    readable = list(dict.fromkeys(name for _, name in found))
    kept = set(readable[:MOST_NAMESPACES])
    inside = {
        kind.kind_name(): tuple(name for one, name in found if one is kind and name in kept)
        for kind in lacking
    }
    return Rights(kinds, inside, len(readable) - len(kept))


async def _namespaces(api: ApiServer, user: str, turns: asyncio.Semaphore) -> list[str]:
    """All namespaces where they may be listed, else those of the service account and of the credentials."""
    if not await _may(api, turns, Namespace, "", "list"):
        account = user.removeprefix(_ACCOUNT).partition(":")[0] if user.startswith(_ACCOUNT) else ""
        return list(dict.fromkeys(name for name in (account, api.credentials.proofs.namespace) if name))
    return [one.metadata.name for one in await objects(api, Namespace, bad=lambda _: None)]


async def _may_read(api: ApiServer, turns: asyncio.Semaphore, kind: type[Object], namespace: str) -> bool:
    return all(await _all(_may(api, turns, kind, namespace, verb) for verb in _VERBS))


async def _may(
    api: ApiServer, turns: asyncio.Semaphore, kind: type[Object], namespace: str, verb: str
) -> bool:
    group = kind.api_version.rpartition("/")[0]
    attributes = {"group": group, "resource": kind.plural, "verb": verb, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    async with turns:
        try:
            answer = await api.request("POST", _ACCESS, body=msgspec.json.encode(review))
        except ApiError as error:
            if error.code not in _NO_REVIEW:
                raise
            return await _can_list(api, kind, namespace)
    return _ACCESS_REVIEW.decode(answer).status.allowed


async def _can_list(api: ApiServer, kind: type[Object], namespace: str) -> bool:
    """Try it, where the server does not say."""
    try:
        await api.request("GET", resource_path_of(kind).all(namespace), {"limit": "1"})
    except ApiError as error:
        if error.code in _NO_REVIEW:
            return False
        raise
    return True


async def _all(questions: Iterable[Coroutine[None, None, bool]]) -> list[bool]:
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(question) for question in questions]
    return [one.result() for one in asked]


class _User(Record, frozen=True):
    username: str = ""


class _UserStatus(Record, frozen=True):
    user_info: _User = _User()


class _UserReview(Record, frozen=True):
    status: _UserStatus = _UserStatus()


class _AccessStatus(Record, frozen=True):
    allowed: bool = False


class _AccessReview(Record, frozen=True):
    status: _AccessStatus = _AccessStatus()


_USER_REVIEW: Final = msgspec.json.Decoder(_UserReview)
_ACCESS_REVIEW: Final = msgspec.json.Decoder(_AccessReview)
