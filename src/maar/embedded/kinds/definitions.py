"""CustomResourceDefinitions: those that come with Maar are served, and can be looked at."""

from typing import Final

from maar.embedded.behaviour import Behaviour
from maar.embedded.calls import SYSTEM, Call, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json, forbidden

PLURAL: Final = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions(Behaviour):
    """Definitions that only the server itself writes."""

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Serve what comes with Maar, and nothing else."""
        if call.caller is not SYSTEM:
            raise _refusal(value)
        names = section(section(value, "spec"), "names")
        value["status"] = {
            "acceptedNames": names,
            "storedVersions": [text(one, "name") for one in _versions(value) if one.get("storage")],
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": cluster.now(),
                }
                for kind, reason, message in (
                    ("NamesAccepted", "NoConflicts", "no conflicts found"),
                    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
                )
            ],
        }

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Keep the definition as Maar has it; labels and annotations may change."""
        del cluster, subresource
        if call.caller is not SYSTEM and (value["spec"], value["status"]) != (old["spec"], old["status"]):
            raise _refusal(value)

    def before_delete(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Keep what is served."""
        del cluster, call
        raise _refusal(value)


def _versions(value: Json) -> list[Json]:
    found = section(value, "spec").get("versions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _refusal(value: Json) -> ApiError:
    return forbidden(
        PLURAL,
        text(metadata(value), "name"),
        "the embedded server serves the definitions that come with Maar, as they are; for others use a"
        " cluster of Kubernetes",
    )
