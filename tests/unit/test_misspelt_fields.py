"""Misspelt fields in people's files: named with their path; fields of Kubernetes and Volcano never are."""

import re
from collections.abc import Iterator
from copy import deepcopy

import msgspec
import pytest
import yaml

from maar.core.model.job import Job
from maar.core.model.kinds import KINDS, kind_of
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.queue import Queue
from maar.core.model.unread import UNREAD, unknown_fields

MANIFESTS = """
apiVersion: v1
kind: Pod
metadata:
  {name: a, generateName: a-, namespace: ml, uid: u, resourceVersion: "1", generation: 1, selfLink: /a,
   creationTimestamp: null, deletionTimestamp: null, deletionGracePeriodSeconds: 30, labels: {any-key: b},
   annotations: {any/key: b}, finalizers: [a/b], managedFields: [{manager: kubelet,
   fieldsV1: {"f:spec": {}}}],
   ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: true, blockOwnerDeletion: true}]}
spec:
  {activeDeadlineSeconds: 60, automountServiceAccountToken: false, dnsPolicy: Default,
  dnsConfig: {options: []},
   enableServiceLinks: true, ephemeralContainers: [{name: debug, targetContainerName: main}], hostAliases: [],
   hostIPC: false, hostNetwork: true, hostPID: false, hostUsers: true, hostname: a, hostnameOverride: b,
   imagePullSecrets: [{name: a}], nodeName: n1, nodeSelector: {any-key: b}, os: {name: linux},
   preemptionPolicy: Never, priority: 1, priorityClassName: a, readinessGates: [{conditionType: a/b}],
   restartPolicy: Never, runtimeClassName: kata, schedulerName: maar, schedulingGates: [{name: a}],
   schedulingGroup: {podGroupName: a}, securityContext: {runAsUser: 1}, serviceAccount: a,
   serviceAccountName: a,
   setHostnameAsFQDN: false, shareProcessNamespace: false, subdomain: a, terminationGracePeriodSeconds: 30,
   overhead: {cpu: 50m}, resources: {requests: {cpu: 1}, limits: {memory: 1Gi}, claims: [{name: a}]},
   resourceClaims: [{name: a, resourceClaimName: a}, {name: b, resourceClaimTemplateName: b}],
   tolerations: [{key: a, operator: Exists, value: "", effect: NoExecute, tolerationSeconds: 300}],
   topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 2,
     labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]},
     nodeAffinityPolicy: Honor, nodeTaintsPolicy: Honor, matchLabelKeys: [a]}],
   initContainers: [{name: mesh, restartPolicy: Always, restartPolicyRules: [{action: Restart}]}],
   containers: [{name: main, image: a, imagePullPolicy: Always, command: [a], args: [a], workingDir: /,
     env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
     envFrom: [{configMapRef: {name: a}}],
     lifecycle: {preStop: {exec: {command: [a]}}}, livenessProbe: {httpGet: {port: 80}, periodSeconds: 1},
     readinessProbe: {tcpSocket: {port: 1}}, startupProbe: {grpc: {port: 1}},
     resizePolicy: [{resourceName: cpu}],
     resources: {requests: {cpu: 1, nvidia.com/gpu: 1}, limits: {memory: 1Gi}, claims: [{name: a,
     request: b}]},
     ports: [{containerPort: 80, hostPort: 80, hostIP: 10.0.0.1, name: http, protocol: TCP}],
     securityContext: {privileged: true}, stdin: true, stdinOnce: true, terminationMessagePath: /a,
     terminationMessagePolicy: File, tty: true, volumeDevices: [{devicePath: /a}],
     volumeMounts: [{mountPath: /a}]}],
   volumes: [{name: a, persistentVolumeClaim: {claimName: a, readOnly: true}}, {name: b,
   emptyDir: {medium: Memory}},
     {name: c, configMap: {name: a}}, {name: d, secret: {secretName: a}}, {name: e, projected: {sources: []}},
     {name: f, ephemeral: {volumeClaimTemplate: {}}}, {name: g, hostPath: {path: /}}, {name: h,
     nfs: {path: /}},
     {name: i, csi: {driver: a}}, {name: j, downwardAPI: {items: []}}, {name: k, image: {reference: a}}],
   affinity:
    {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
       {matchExpressions: [{key: a, operator: In, values: [b]}], matchFields: [{key: a, operator: In}]}]},
       preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: []}}]},
     podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1,
     podAffinityTerm: {topologyKey: a}}]},
     podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, namespaces: [a],
       labelSelector: {}, namespaceSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [a]}]}}}
status:
  {phase: Running, conditions: [{type: Ready, status: "True", reason: a, message: b, lastProbeTime: null,
     lastTransitionTime: null, observedGeneration: 1}], nominatedNodeName: n1, message: a, reason: b,
     hostIP: a,
   hostIPs: [{ip: a}], podIP: a, podIPs: [{ip: a}], startTime: null, qosClass: Burstable, resize: "",
   containerStatuses: [], initContainerStatuses: [], ephemeralContainerStatuses: [], observedGeneration: 1,
   resourceClaimStatuses: [], extendedResourceClaimStatus: {}, allocatedResources: {cpu: 1}, resources: {},
   nodeAllocatableResourceClaimStatuses: []}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
spec:
  {podCIDR: 10.0.0.0/24, podCIDRs: [], providerID: a, unschedulable: true, externalID: a, configSource: {},
   taints: [{key: a, value: b, effect: NoSchedule, timeAdded: null}]}
status:
  {capacity: {cpu: 8}, allocatable: {cpu: 8, nvidia.com/gpu: 1}, phase: Running,
  addresses: [{type: Hostname}],
   conditions: [{type: Ready, status: "True", reason: a, message: a, lastHeartbeatTime: null}],
   daemonEndpoints: {kubeletEndpoint: {Port: 1}}, nodeInfo: {kernelVersion: a}, images: [{names: [a]}],
   volumesInUse: [a], volumesAttached: [{name: a}], config: {}, runtimeHandlers: [], features: {},
   declaredFeatures: [a]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: a}
spec:
  {parent: root, weight: 1, priority: 1, reclaimable: true, capability: {cpu: 1}, deserved: {cpu: 1}, type: a,
   guarantee: {resource: {cpu: 1}, percentage: {memory: 10}}, request: {cpu: 1}, state: Open,
   dequeueStrategy: fifo,
   namespaceSelector: {matchLabels: {a: b}}, affinity: {}, extendClusters: [{name: a}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: a}
spec:
  {minMember: 1, minTaskMember: {any-task: 1}, queue: a, priorityClassName: a, minResources: {cpu: 1},
   networkTopology: {mode: hard}, subGroupPolicy: []}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: a}
spec:
  {schedulerName: maar, minAvailable: 1, queue: a, maxRetry: 1, ttlSecondsAfterFinished: 1,
  priorityClassName: a,
   minSuccess: 1, plugins: {any-plugin: [--a]}, runningEstimate: 1h, networkTopology: {mode: soft},
   policies: [{event: PodEvicted, events: [PodFailed], action: RestartJob, exitCode: 1, timeout: 1m}],
   volumes: [{mountPath: /a, volumeClaimName: a, volumeClaim: {storageClassName: a}}],
   tasks: [{name: a, replicas: 1, minAvailable: 1, maxRetry: 1, policies: [{action: A}], topologyPolicy: none,
     dependsOn: {name: [b], iteration: any}, partitionPolicy: {}, template: {spec: {containers: []}}}]}
---
{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {name: a}, action: A, reason: a, message: a,
 target: {apiVersion: v1, kind: A, name: a, uid: a, controller: true, blockOwnerDeletion: true}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: a}
spec:
  {schedule: "@daily", timeZone: UTC, startingDeadlineSeconds: 1, concurrencyPolicy: Allow, suspend: true,
   successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1,
   jobTemplate: {metadata: {labels: {a: b}, annotations: {a: b}, creationTimestamp: null}, spec: {queue: a}}}
status:
  {active: [{apiVersion: v1, kind: Job, namespace: a, name: a, uid: a, resourceVersion: a, fieldPath: a}],
   lastScheduleTime: null, lastSuccessfulTime: null}
---
{apiVersion: flow.volcano.sh/v1alpha1, kind: JobTemplate, metadata: {name: a},
 status: {jobDependsOnList: [a]}, spec: {queue: a, tasks: [{name: a, template: {spec: {containers: []}}}]}}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: a}
spec:
  jobRetainPolicy: retain
  flows:
    - {name: a, patch: {spec: {queue: a}}, dependsOn: {targets: [b], probe: {
       taskStatusList: [{taskName: a, phase: Running}], tcpSocketList: [{taskName: a, port: 1}],
       httpGetList: [{taskName: a, path: /, port: 1, httpHeader: {name: a, value: b}}]}}}
status: {state: {phase: Running}, pendingJobs: [a]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: {}, status: {}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}, status: {},
 spec: {hard: {requests.cpu: 1, count/pods: 2}, scopes: [BestEffort], scopeSelector: {matchExpressions: []}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 1, globalDefault: true,
 description: a, preemptionPolicy: Never}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {minAvailable: 1,
 maxUnavailable: 10%,
 selector: {matchLabels: {a: b}}, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {disruptionsAllowed: 1,
 currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1, disruptedPods: {},
 conditions: []}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [a], volumeName: a,
 storageClassName: a, volumeMode: Block, resources: {requests: {storage: 1}, limits: {storage: 1}},
 selector: {},
 dataSource: {}, dataSourceRef: {}, volumeAttributesClassName: a}, status: {phase: Bound, accessModes: [a],
 capacity: {storage: 1}, conditions: [], allocatedResources: {}, allocatedResourceStatuses: {},
 currentVolumeAttributesClassName: a, modifyVolumeStatus: {}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, status: {phase: Bound, message: a, reason: b,
 lastPhaseTransitionTime: null}, spec: {capacity: {storage: 1}, accessModes: [a], storageClassName: a,
 claimRef: {kind: A, apiVersion: v1, namespace: a, name: a, uid: a, resourceVersion: a, fieldPath: a},
 nodeAffinity: {required: {nodeSelectorTerms: []}}, mountOptions: [a], persistentVolumeReclaimPolicy: Retain,
 volumeMode: Block, volumeAttributesClassName: a, csi: {driver: a}, local: {path: /}, nfs: {path: /}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, provisioner: a, parameters: {},
 reclaimPolicy: Delete, mountOptions: [a], allowVolumeExpansion: true, allowedTopologies: [],
 volumeBindingMode: Immediate}
"""
DOCUMENTS = {document["kind"]: document for document in yaml.safe_load_all(MANIFESTS)}

MAPS = {
    "labels", "annotations", "nodeSelector", "matchLabels", "requests", "limits", "overhead", "allocatable",
    "capability", "capacity", "deserved", "resource", "percentage", "request", "hard", "minTaskMember",
    "minResources", "plugins", "template", "volumeClaim", "ephemeral",
}  # fmt: skip
NAMES = {field.encode_name for record in UNREAD for field in msgspec.structs.fields(record)}
FREE = MAPS | {name for names in UNREAD.values() for name in names.split() if name not in NAMES}


def warnings(document: dict[str, object]) -> list[str]:
    kind = kind_of(str(document["apiVersion"]), str(document["kind"]))
    assert kind is not None
    return unknown_fields(kind, document)


def misspelt(document: object, path: str = "") -> Iterator[tuple[object, str, str]]:
    """Give a document again and again, each time with one more field whose name has its last letter twice."""
    if isinstance(document, dict):
        for name, value in document.items():
            here = f"{path}.{name}".lstrip(".")
            yield {**document, f"{name}{name[-1]}": value}, f"{here}{name[-1]}", name
            for inner, where, meant in misspelt(value, here):
                yield {**document, name: inner}, where, meant
    elif isinstance(document, list):
        for index, value in enumerate(document):
            for inner, where, meant in misspelt(value, f"{path}[{index}]"):
                yield [*document[:index], inner, *document[index + 1 :]], where, meant


def test_the_manifests_are_of_every_kind() -> None:
    assert [kind.__name__ for kind in KINDS if kind.__name__ not in DOCUMENTS] == []


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_no_field_that_kubernetes_or_volcano_has_is_named(kind: str) -> None:
    assert warnings(DOCUMENTS[kind]) == []


def test_a_misspelt_weight_is_named_with_its_path_and_what_is_meant() -> None:
    assert unknown_fields(Queue, {"spec": {"wieght": 3}}) == ["spec.wieght (did you mean weight?)"]


def test_a_field_like_no_other_is_named_alone() -> None:
    assert unknown_fields(Queue, {"xyzzy": 1, "spec": {"plugh": {"weight": 1}}}) == ["xyzzy", "spec.plugh"]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"containers": [{}, {"resources": {"request": {}}}]},
         "spec.containers[1].resources.request (did you mean requests?)"),
        ({"containers": [{"ports": [{"hostport": 80}]}]},
         "spec.containers[0].ports[0].hostport (did you mean hostPort?)"),
        ({"nodeselector": {}}, "spec.nodeselector (did you mean nodeSelector?)"),
        ({"volumes": [{"name": "a", "emptydir": {}}]}, "spec.volumes[0].emptydir (did you mean emptyDir?)"),
        ({"tolerations": [{"keys": "a"}]}, "spec.tolerations[0].keys (did you mean key?)"),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"keys": "a"}]}}},
         "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].keys"),
    ],
)  # fmt: skip
def test_fields_are_named_at_any_depth(spec: dict[str, object], named: str) -> None:
    assert unknown_fields(Pod, {"spec": spec}) == [named]


def test_every_misspelt_field_of_a_document_is_named_in_the_order_of_the_document() -> None:
    read = {"metdata": {}, "spec": {"tasks": [{"replica": 1}, {"nmae": "a"}], "quue": "a"}}
    assert unknown_fields(Job, read) == [
        "metdata (did you mean metadata?)",
        "spec.tasks[0].replica (did you mean replicas?)",
        "spec.tasks[1].nmae (did you mean name?)",
        "spec.quue (did you mean queue?)",
    ]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_whichever_field_is_misspelt_it_is_the_only_one_named(kind: str) -> None:
    """The keys of maps are free, and so is what is below a field that Maar does not read."""
    envelope = {name: DOCUMENTS[kind][name] for name in ("apiVersion", "kind")}
    fields = {name: part for name, part in DOCUMENTS[kind].items() if name not in envelope}
    for document, path, meant in misspelt(fields):
        assert isinstance(document, dict)
        found = warnings({**envelope, **document})
        if found or FREE.isdisjoint(re.findall(r"\w+", path)[:-1]):
            assert len(found) == 1, path
            assert found[0].startswith(f"{path} (did you mean {meant}")


def test_a_misspelt_field_in_the_template_of_a_task_is_named() -> None:
    read = {"spec": {"tasks": [{"template": {"spec": {"contianers": [{"name": "a"}]}}}]}}
    assert unknown_fields(Job, read) == ["spec.tasks[0].template.spec.contianers (did you mean containers?)"]


def test_keys_of_maps_are_free_and_so_is_what_maar_does_not_read() -> None:
    read = {
        "metadata": {"labels": {"wieght": "a"}, "managedFields": [{"wieght": 1}]},
        "spec": {"nodeSelector": {"wieght": "a"}, "containers": [{"livenessProbe": {"wieght": 1}}]},
    }
    assert unknown_fields(Pod, read) == []


@pytest.mark.parametrize("document", [None, [], "text", 5, {}, {"spec": None}, {"spec": 5}, {"spec": [1]}])
def test_what_is_not_where_fields_are_is_left_to_the_reader(document: object) -> None:
    assert unknown_fields(Node, document) == []


def test_a_key_that_is_no_text_is_named_too() -> None:
    assert unknown_fields(Node, {1: 2, "spec": {None: 3}}) == ["1", "spec.None"]


def test_what_is_listed_as_unread_is_not_read() -> None:
    for record, names in UNREAD.items():
        read = {field.encode_name for field in msgspec.structs.fields(record)}
        assert read.isdisjoint(names.split()), record
        assert sorted(set(names.split())) == sorted(names.split()), record


def test_looking_changes_nothing() -> None:
    before = deepcopy(DOCUMENTS)
    for document in DOCUMENTS.values():
        warnings(document)
    assert before == DOCUMENTS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_metadata_that_a_server_writes_is_known_of_every_kind(kind: type[Object]) -> None:
    owner = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields = [{**owner, "time": "2026-01-01T00:00:00Z", "subresource": "status", "fieldsV1": {"f:a": {}}}]
    metadata = {"name": "a", "generation": 1, "finalizers": [], "selfLink": "", "managedFields": fields}
    assert unknown_fields(kind, {"metadata": metadata}) == []
