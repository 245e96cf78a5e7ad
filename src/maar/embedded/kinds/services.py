"""Services: each gets an address of its own, though nothing listens there."""

from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Final
from uuid import UUID

import msgspec

from maar.embedded.calls import Call, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Cause, Json, invalid
from maar.embedded.kinds.parts import part, words
from maar.embedded.kinds.quotas import Counted, Ledger
from maar.embedded.store import Change

_ADDRESSES: Final = IPv4Network("10.96.0.0/12")
_HEADLESS: Final = "None"


class Services(Counted):
    """A service keeps the address it was given for as long as it is there."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, "services", {"loadBalancer": {}})
        self._taken: set[str] | None = None

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Give it an address, the one it asks for where that is free."""
        super().before_create(cluster, value, call)
        self._place(cluster, value)

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Let it keep its address."""
        del subresource, call
        before, spec = part(old, "spec"), section(value, "spec")
        given, asked = _address(before), _address(spec)
        if given and asked not in ("", given) and text(spec, "type") != "ExternalName":
            raise _invalid(value, "spec.clusterIPs[0]", asked, "may not change once set")
        if given and text(spec, "type") != "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if spec.get(field) is None and field in before:
                    spec[field] = before[field]
        elif not given:
            self._place(cluster, value)

    def _place(self, cluster: Cluster, value: Json) -> None:
        spec = section(value, "spec")
        if text(spec, "type") == "ExternalName":
            return
        if not (address := _address(spec)):
            address = self._free(cluster, UUID(text(metadata(value), "uid")).int)
        elif address != _HEADLESS:
            self._check_free(cluster, value, address)
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def _free(self, cluster: Cluster, start: int) -> str:
        """The first free address from a random one on."""
        taken, most = self._known(cluster), _ADDRESSES.num_addresses - 2  # neither the first nor the last
        return next(
            address
            for step in range(most)
            if (address := str(_ADDRESSES[1 + (start + step) % most])) not in taken
        )

    def _check_free(self, cluster: Cluster, value: Json, address: str) -> None:
        why = ""
        try:
            if IPv4Address(address) not in _ADDRESSES:
                why = "the provided network does not match the current range"
        except AddressValueError:
            why = "not a valid IPv4 address"
        if not why and address in self._known(cluster):
            why = "provided IP is already allocated"
        if why:
            raise _invalid(value, "spec.clusterIPs", address, f"failed to allocate IP {address}: {why}")

    def _known(self, cluster: Cluster) -> set[str]:
        if self._taken is None:
            self._taken = {_address(part(value, "spec")) for value in cluster.all("services")}
            cluster.store.listen(self._hear)
        return self._taken

    def _hear(self, change: Change) -> None:
        if change.key.resource == "services" and self._taken is not None:
            if change.before is not None:
                self._taken.discard(_address(part(msgspec.json.decode(change.before), "spec")))
            if change.type != "DELETED":
                self._taken.add(_address(part(msgspec.json.decode(change.body), "spec")))


def _address(spec: Json) -> str:
    return text(spec, "clusterIP") or next(iter(words(spec, "clusterIPs")), "")


def _invalid(value: Json, field: str, address: str, problem: str) -> ApiError:
    cause = Cause(field, "FieldValueInvalid", f'Invalid value: ["{address}"]: {problem}')
    return invalid("Service", "", text(metadata(value), "name"), [cause])
