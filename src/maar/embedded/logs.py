"""The log of a pod, as `kubectl logs` asks for it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

LogReader = Callable[[str, str, Mapping[str, str]], Awaitable[AsyncIterator[bytes]]]
