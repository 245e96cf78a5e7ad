"""What Maar's service accounts may do, verb by verb and resource by resource, as the manifests say."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import yaml

from support.helm import CHART

Json = dict[str, Any]

ROLES: Final = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/maar-system/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/maar-system/rolebindings",
    "ServiceAccount": "/api/v1/namespaces/maar-system/serviceaccounts",
}


class Permission(NamedTuple):
    """One verb on one resource, in the role that has it."""

    role: str  # the kind of it
    group: str
    resource: str
    verb: str
    is_in_maar_system: bool

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


def objects(component: str) -> list[Json]:
    """The service account of a program, its roles and their bindings."""
    folder = CHART / "objects"
    file = folder / "rbac" / f"{component}.yaml"
    if not file.exists():  # of what can be switched off, all is in one folder
        file = folder / component / "rbac.yaml"
    found = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    plugin = file.with_name(f"{component}-ssh.yaml")
    if plugin.exists():  # a role beside that of the program; here they are one
        role = next(one for one in found if one["kind"] == "ClusterRole")
        role["rules"] += next(yaml.safe_load_all(plugin.read_text(encoding="utf-8")))["rules"]
    return found


def permissions(component: str) -> list[Permission]:
    """Everything that the service account of a program may do."""
    found = [
        Permission(one["kind"], group, resource, verb, one["kind"] == "Role")
        for one in objects(component)
        for rule in one.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert len(found) == len(set(found)), f"the roles of {component} allow something twice"
    return found


def without(documents: Iterable[Json], taken: Permission | None, name: str = "") -> list[Json]:
    """The same with one permission taken away and, where one is given, with another name for all of it."""
    return [_renamed(_reduced(one, taken), name) for one in documents]


def _reduced(document: Json, taken: Permission | None) -> Json:
    if taken is None or document["kind"] != taken.role:
        return document
    rules = [
        {**rule, "resources": [resource], "verbs": verbs}
        for rule in document["rules"]
        for resource in rule["resources"]
        if (verbs := [verb for verb in rule["verbs"] if not _is(taken, rule, resource, verb)])
    ]
    return {**document, "rules": rules}


def _is(taken: Permission, rule: Json, resource: str, verb: str) -> bool:
    return (taken.group, taken.resource, taken.verb) == (rule["apiGroups"][0], resource, verb)


def _renamed(document: Json, name: str) -> Json:
    if not name:
        return document
    renamed = {**document, "metadata": {**document["metadata"], "name": name}}
    if "roleRef" in renamed:
        renamed["roleRef"] = {**renamed["roleRef"], "name": name}
        renamed["subjects"] = [{**one, "name": name} for one in renamed["subjects"]]
    return renamed
