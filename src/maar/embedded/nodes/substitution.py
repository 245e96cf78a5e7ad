"""What a container's words and variables mean on this machine: mount paths are folders, host names addresses.

Without root nothing can be mounted, and no name can be given to the resolver. So paths that the
container's volume mounts name, and host names of its job, are replaced in its command, arguments
and variables, and host names also in files of ConfigMaps. What a program has inside itself cannot
be reached: it finds folders in MAAR_VOLUME_<NAME>.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from maar.embedded.nodes.local_pod import LocalContainer, LocalPod
from maar.embedded.nodes.pod_addresses import address_of

Substitution = Callable[[str], str]

_BEFORE_PATH: Final = r"(?<![\w./~-])"
_AFTER_PATH: Final = r"(?![\w.~-])"


def substitution(pod: LocalPod, container: LocalContainer, folders: Mapping[str, str]) -> Substitution:
    """What takes the place of paths and host names in a word; `folders` are those of the volumes."""
    paths = {
        mount.mount_path.rstrip("/"): folders[mount.name]
        for mount in container.volume_mounts
        if mount.name in folders and mount.mount_path.strip("/")
    }
    hosts = host_substitution(pod)
    if not paths:
        return hosts
    longest_first = sorted(map(re.escape, paths), key=len, reverse=True)
    pattern = re.compile(f"{_BEFORE_PATH}({'|'.join(longest_first)}){_AFTER_PATH}")
    return lambda word: hosts(pattern.sub(lambda match: paths[match[1]], word))


def host_substitution(pod: LocalPod) -> Substitution:
    """What takes the place of the host names of a pod's job: `train-worker-0.train` and its longer forms."""
    domain, namespace = pod.spec.subdomain, pod.metadata.namespace
    if not domain:
        return lambda word: word
    service = re.escape(domain)
    longer = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.[a-z0-9.-]*[a-z0-9])?)?)?"
    pattern = re.compile(rf"(?<![\w.-])({service}-[a-z0-9-]*[0-9])\.{service}{longer}(?![\w-]|\.[\w])")
    return lambda word: pattern.sub(lambda match: address_of(namespace, match[1], domain), word)
