"""The webhooks over HTTP: reviews on Volcano's paths, liveness and readiness."""

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast

from prometheus_client import CollectorRegistry

from maar.apps.webhooks.metrics import WebhookMetrics
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.reviews import PATHS, BadReviewError, answer_of, read_review
from maar.serving.client_certificates import client_name
from maar.serving.http import PLAIN_TEXT, BodyError, Message, Receive, Send, answer, read_body

NOT_READY: Final = "not ready: queues, jobs and nodes of the cluster are still being read; try again soon"
LARGEST_BODY: Final = 8 << 20  # bytes: an object of Kubernetes has at most 3 MB, and there may be two
_BODY_WITHIN_S: Final = 5.0
HEALTH: Final = frozenset(("/healthz", "/readyz"))


class _RefusedError(Exception):
    """A request that gets no review, with its HTTP status."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Clients:
    """Who may ask for reviews."""

    need_certificate: bool = False
    names: frozenset[str] = frozenset()  # that may stand in it; any where there are none

    def check(self, scope: Message) -> None:
        """Refuse a request before any of its body is read."""
        if not self.need_certificate:
            return
        name = client_name(scope)
        if name is None:
            raise _RefusedError(
                HTTPStatus.UNAUTHORIZED,
                "reviews are for clients with a certificate that --client-ca has signed, and this one showed "
                "none; name one in the admission configuration of the API server",
            )
        if self.names and name not in self.names:
            raise _RefusedError(
                HTTPStatus.FORBIDDEN,
                f"reviews are not for {name[:100]!r}; its certificate needs a name that --client-name lists",
            )


EVERYBODY: Final = Clients()


class WebhookServer:
    """The ASGI application."""

    def __init__(
        self,
        reviewer: AdmissionReviewer,
        metrics: WebhookMetrics | None = None,
        clients: Clients = EVERYBODY,
    ) -> None:
        self._reviewer, self._metrics = reviewer, metrics or WebhookMetrics(CollectorRegistry())
        self._clients = clients

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request; what is no review is refused in a sentence."""
        if scope["type"] != "http":
            raise NotImplementedError(f"the webhooks speak HTTP only, not {scope['type']}")
        path = cast(str, scope["path"])
        try:
            if path in HEALTH:
                self._check(path)
                await answer(send, b"ok\n", headers=[PLAIN_TEXT])
            else:
                self._clients.check(scope)
                await answer(send, await self._review(cast(str, scope["method"]), path, receive))
        except _RefusedError as error:
            if path not in HEALTH:
                self._metrics.turned_away(error.status)
            await answer(send, f"{error}\n".encode(), error.status, headers=[PLAIN_TEXT])
        except Exception:
            self._metrics.turned_away(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise  # the server answers so, and logs it

    async def _review(self, method: str, path: str, receive: Receive) -> bytes:
        if path not in PATHS:
            known = ", ".join([*PATHS, *sorted(HEALTH)])
            raise _RefusedError(
                HTTPStatus.NOT_FOUND, f"{path[:100]!r} is not a path of this server; use one of {known}"
            )
        if method != "POST":
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes a POST of an AdmissionReview")
        self._check(path)
        began, (resource, verb) = time.monotonic(), PATHS[path]
        try:
            question = read_review(await _body(receive), resource)
        except BadReviewError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
        verdict = await self._reviewer.review(verb, question.request)
        self._metrics.reviewed(verb, question.request, verdict, time.monotonic() - began)
        return answer_of(question.uid, verdict)

    def _check(self, path: str) -> None:
        if path != "/healthz" and not self._reviewer.warm.is_set():
            raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY)


async def _body(receive: Receive) -> bytes:
    try:
        return await read_body(receive, LARGEST_BODY, _BODY_WITHIN_S)
    except BodyError as error:
        raise _RefusedError(error.status, _bad_body(error.status)) from None


def _bad_body(status: HTTPStatus) -> str:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return f"the review has more than {LARGEST_BODY} bytes; no object of Kubernetes is so large"
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return f"the review did not come within {_BODY_WITHIN_S:.0f} s; send it in one go"
    return "the client left before the whole review came"
