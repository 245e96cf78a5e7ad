"""Addresses of pods on this machine: each pod has one of the loopback network, computed from its name.

Host names of a job, `<job>-<task>-<index>.<job>`, cannot be given to the resolver of this machine
without root. But a pod may listen on any address 127.x.y.z, so the address is a function of the
name, and a container gets addresses where its manifest has such names (`substitution`). The pods of
a task have consecutive addresses, so that they differ; those of different tasks differ but for a
chance of one in thousands. A pod that listens on all addresses takes its port from all others, as
there is but one machine.
"""

import hashlib
import re
import sys
from ipaddress import IPv4Address
from typing import Final

from maar.embedded.nodes.local_pod import LocalPod

LOOPBACK: Final = "127.0.0.1"  # the one that every machine has

_FIRST: Final = int(IPv4Address("127.1.0.0"))
_NUMBER: Final = 0xFD_0000  # up to 127.253.255.255
_INDEXED: Final = re.compile(r"(.*?)-([0-9]{1,7})")
_HAS_MANY: Final = sys.platform == "linux"  # elsewhere only 127.0.0.1 is there


def pod_address(pod: LocalPod) -> str:
    """The address of a pod."""
    name = pod.spec.hostname or pod.metadata.name
    return address_of(pod.metadata.namespace, name, pod.spec.subdomain)


def address_of(namespace: str, host: str, subdomain: str = "") -> str:
    """The address of the pod with a host name, whether it exists yet or not."""
    if not _HAS_MANY:
        return LOOPBACK
    match = _INDEXED.fullmatch(host)
    stem, index = (match[1], int(match[2])) if match else (host, 0)
    digest = hashlib.sha256(f"{namespace}/{subdomain}/{stem}".encode()).digest()
    start = int.from_bytes(digest[:4], "big")
    return str(IPv4Address(_FIRST + (start + index) % _NUMBER))
