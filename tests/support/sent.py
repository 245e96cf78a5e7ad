"""Objects as an API server sends them, one of every kind, with a value in every field that Maar reads."""

from maar.core.model.cron_job import CronJob
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.job import Command, Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass

MANAGED = rb"""[{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:09Z",
"fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{}}}}}}]"""

SENT: dict[type[Object], bytes] = {
    Pod: b"""{"apiVersion":"v1","kind":"Pod","metadata":{"name":"train-worker-0","namespace":"ml","uid":
"a1","resourceVersion":"4711","creationTimestamp":"2026-03-01T10:00:00Z","deletionTimestamp":
"2026-03-01T11:00:00Z","deletionGracePeriodSeconds":30,"generation":2,"finalizers":["maar.sh/job-pod"],
"labels":{"app":"train"},"annotations":{"scheduling.k8s.io/group-name":"train"},
"ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"train","uid":"j1",
"controller":true,"blockOwnerDeletion":true}],"managedFields":MANAGED},"spec":{"volumes":[{"name":"data",
"persistentVolumeClaim":{"claimName":"data","readOnly":true}},{"name":"scratch","ephemeral":{
"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"]}}}},{"name":"token","projected":{"sources":[
{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}]}}],"initContainers":[{"name":"mesh",
"image":"mesh:1","restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}}],"containers":[{"name":
"main","image":"train:7","args":["train.py"],"ports":[{"containerPort":80,"hostPort":8080,"hostIP":
"10.0.0.1","protocol":"UDP"}],"resources":{"limits":{"nvidia.com/gpu":"1"},"requests":{"cpu":"1500m",
"memory":"2Gi"}}}],"restartPolicy":"OnFailure","activeDeadlineSeconds":3600,"nodeName":"n1","schedulerName":"maar","priority":1000,
"priorityClassName":"high","preemptionPolicy":"Never","nodeSelector":{"disk":"ssd"},"affinity":{
"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":
[{"key":"zone","operator":"In","values":["a","b"]}],"matchFields":[{"key":"metadata.name","operator":
"NotIn","values":["n9"]}]}]},"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":{
"matchExpressions":[{"key":"gpu","operator":"Exists"}]}}]},"podAffinity":{
"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,"podAffinityTerm":{"topologyKey":"zone",
"labelSelector":{"matchLabels":{"app":"cache"}},"namespaceSelector":{}}}]},"podAntiAffinity":{
"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{
"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]},"namespaces":["ml"],"matchLabelKeys":[
"hash"],"mismatchLabelKeys":["tenant"]}]}},"tolerations":[{"key":"gpu","value":"yes","effect":
"NoSchedule"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
"tolerationSeconds":300}],"topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone",
"whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"train"}},"minDomains":3,
"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["hash"]}],"overhead":{"cpu":
"50m"},"resources":{"requests":{"memory":"3Gi"}},"schedulingGates":[{"name":"quota"}],"resourceClaims":[{
"name":"gpu","resourceClaimTemplateName":"gpu"}]},"status":{"phase":"Running","conditions":[{"type":
"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T10:00:09Z",
"observedGeneration":1}],"nominatedNodeName":"n1","startTime":"2026-03-01T10:00:05Z","qosClass":"Burstable","podIP":"10.1.0.7",
"initContainerStatuses":[{"name":"mesh","ready":true,"restartCount":1,"state":{"running":{}}}],
"containerStatuses":[{"name":"main","ready":true,"restartCount":2,"state":{"terminated":{"exitCode":3,
"finishedAt":"2026-03-01T10:30:00Z","reason":"Error"}}}]}}""",
    Node: b"""{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","creationTimestamp":
"2026-01-01T00:00:00Z","labels":{"zone":"a"},"managedFields":MANAGED},"spec":{"podCIDRs":["10.1.0.0/24"],
"providerID":"kind://n1","unschedulable":true,"taints":[{"key":"gpu","value":"a100","effect":"NoSchedule",
"timeAdded":"2026-03-01T10:00:00Z"}]},"status":{"capacity":{"cpu":"8","memory":"32Gi","pods":"110"},
"allocatable":{"cpu":"7500m","ephemeral-storage":"95551679124","hugepages-1Gi":"0","memory":"30Gi","pods":
"110","nvidia.com/gpu":"8"},"conditions":[{"type":"MemoryPressure","status":"False","lastHeartbeatTime":
"2026-03-01T10:00:00Z"},{"type":"Ready","status":"True","reason":"KubeletReady","message":
"kubelet is ready","lastTransitionTime":"2026-03-01T10:00:00Z"}],"nodeInfo":{"kubeletVersion":"v1.36.3",
"architecture":"amd64"}}}""",
    Namespace: b"""{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ml","labels":{
"kubernetes.io/metadata.name":"ml"},"annotations":{"scheduling.volcano.sh/queue-name":"research"},
"managedFields":MANAGED},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}""",
    ResourceQuota: b"""{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"weight","namespace":
"ml"},"spec":{"hard":{"requests.cpu":"10","count/jobs.batch":"4","volcano.sh/namespace.weight":"3"},
"scopes":["NotTerminating"],"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}},
"status":{"hard":{"requests.cpu":"10"},"used":{"requests.cpu":"0"}}}""",
    PriorityClass: b"""{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":
"high"},"value":1000000,"globalDefault":true,"description":"for the brave","preemptionPolicy":"Never"}""",
    PodDisruptionBudget: b"""{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":
"train","namespace":"ml","generation":1,"managedFields":MANAGED},"spec":{"minAvailable":"50%",
"maxUnavailable":2,"selector":{"matchLabels":{"app":"train"}},"unhealthyPodEvictionPolicy":"AlwaysAllow"},
"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":4,"desiredHealthy":3,
"expectedPods":5,"conditions":[{"type":"DisruptionAllowed","status":"True","reason":"SufficientPods"}]}}""",
    PersistentVolumeClaim: b"""{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data",
"namespace":"ml","annotations":{"volume.kubernetes.io/selected-node":"n1"},"managedFields":MANAGED},"spec":
{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"8Gi"}},"volumeName":"pv-1",
"storageClassName":"","volumeMode":"Block","selector":{"matchLabels":{"disk":"fast"}}},"status":{"phase":
"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"8Gi"}}}""",
    PersistentVolume: b"""{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-1",
"managedFields":MANAGED},"spec":{"capacity":{"storage":"8Gi"},"accessModes":["ReadWriteOnce"],
"storageClassName":"local","local":{"path":"/d"},"claimRef":{"kind":"PersistentVolumeClaim","namespace":
"ml","name":"data","uid":"c1","apiVersion":"v1"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{
"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}},"volumeMode":
"Block"},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-03-01T10:00:00Z"}}""",
    Queue: b"""{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"research",
"namespace":"x","uid":"q1","resourceVersion":"12","creationTimestamp":"2026-03-01T10:00:00Z",
"deletionTimestamp":"2026-03-01T11:00:00Z","labels":{"a":"b"},"annotations":{"volcano.sh/hierarchy":"root/a"},
"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"u","controller":true}],
"generation":3,"managedFields":MANAGED},"spec":{"preemptMinRuntime":"10m","reclaimMinRuntime":"1h","parent":"company","weight":4,"priority":7,"reclaimable":
false,"capability":{"cpu":"100"},"guarantee":{"resource":{"cpu":"10"},"percentage":{"memory":"12.5"}},
"request":{"cpu":"50"},"deserved":{"cpu":"60"},"state":"Closed","dequeueStrategy":"fifo",
"namespaceSelector":{"matchLabels":{"team":"ml"}},"preemptMinRuntime":"10m","reclaimMinRuntime":"1h","type":"x","affinity":{"nodeGroupAffinity":{}}},"status":
{"state":"Closing","deserved":{"cpu":"40"},"realCapability":{"cpu":"90"},"allocated":{"cpu":"30"},"used":{
"cpu":"35"},"preempting":{"cpu":"10"},"share":"0.88","weightFactor":"0.84","history":{"time":"2026-03-01T10:00:00Z",
"halfLife":"24h","strength":"1","used":{"cpu":"12.5","memory":"48.25Gi"},"namespaces":{"ml":{"cpu":"12.5"}}},"summary":{"deserved":"cpu=40","used":"cpu=35"},
"pending":1,"inqueue":2,"running":3,"unknown":4,"completed":5,"conditions":[{"type":"Overused","status":"False","reason":"BelowShare"}]}}""",
    PodGroup: b"""{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":
"train","namespace":"ml","managedFields":MANAGED},"spec":{"minMember":3,"minTaskMember":{"worker":2},
"queue":"research","priorityClassName":"high","minResources":{"cpu":"4500m"},
"networkTopology":{"mode":"soft","highestTierAllowed":1,"highestTierName":"room"}},"status":{"phase":"Inqueue",
"conditions":[{"type":"Unschedulable","status":"True","reason":"NotEnoughResources","message":"3/0 tasks",
"lastTransitionTime":"2026-03-01T10:00:00Z","transitionID":"c-1"}],"running":1,"succeeded":2,"failed":3,
"plannedStart":{"time":"2026-03-01T11:00:00Z","certainty":"bound","because":"It depends on 1 pod."}}}""",
    Job: b"""{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"train","namespace":
"ml","creationTimestamp":null,"managedFields":MANAGED},"spec":{"schedulerName":"maar","minAvailable":3,
"queue":"research","maxRetry":5,"ttlSecondsAfterFinished":60,"priorityClassName":"high","runningEstimate":"1h","minSuccess":1,
"plugins":{"env":[],"svc":["--publish-not-ready-addresses"]},"policies":[{"event":"PodEvicted","action":
"RestartJob","timeout":"10m0s"},{"exitCode":3,"action":"AbortJob"}],"volumes":[{"mountPath":"/data",
"volumeClaimName":"data"},{"mountPath":"/x","volumeClaim":{"storageClassName":"s"}}],"networkTopology":{
"mode":"hard","highestTierAllowed":2,"highestTierName":"rack"},"tasks":[{"name":
"worker","replicas":4,"minAvailable":2,"maxRetry":1,"policies":[{"events":["PodFailed"]}],"dependsOn":{
"name":["ps"],"iteration":"any"},"topologyPolicy":"none","partitionPolicy":{"totalPartitions":2,
"partitionSize":2,"minPartitions":1},"template":{"metadata":{"labels":{"app":"train"}},"spec":{"containers":[{
"name":"main","image":"train:7"}]}}}]},"status":{"state":{"phase":"Running","reason":"r","message":"m",
"lastTransitionTime":"2026-03-01T10:00:00Z"},"minAvailable":3,"pending":1,"running":2,"succeeded":3,
"failed":4,"terminating":5,"unknown":6,"version":7,"retryCount":8,"taskStatusCount":{"worker":{"phase":{
"Running":2}}},"runningDuration":"1m0s","controlledResources":{"plugin-svc":"svc"},"conditions":[{"status":
"Running","lastTransitionTime":"2026-03-01T10:00:00Z"}],"restarts":9,"restart":{"action":"RestartPod","targets":[
{"task":"worker","index":1,"partition":1}]},"completedIndexes":{"worker":"0-2"},"delayedActions":[{"event":
"PodEvicted","task":"worker","index":3,"since":"2026-03-01T10:00:00Z"}],"lastCommand":"c1",
"pluginsGeneration":2}}""",
    Command: b"""{"apiVersion":"bus.volcano.sh/v1alpha1","kind":"Command","metadata":{"name":"c",
"namespace":"ml"},"action":"CloseQueue","target":{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":
"Queue","name":"research","uid":"q1","controller":true,"blockOwnerDeletion":true},"reason":"r","message":
"m"}""",
    CronJob: b"""{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"CronJob","metadata":{"name":"nightly",
"namespace":"ml","managedFields":MANAGED},"spec":{"schedule":"0 3 * * *","timeZone":"Europe/Paris",
"startingDeadlineSeconds":60,"concurrencyPolicy":"Forbid","suspend":true,"jobTemplate":{"metadata":{"labels":{
"a":"b"},"annotations":{"c":"d"}},"spec":{"queue":"research"}},"successfulJobsHistoryLimit":5,
"failedJobsHistoryLimit":2},"status":{"active":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job",
"namespace":"ml","name":"nightly-29543220","uid":"j1"}],"lastScheduleTime":"2026-03-04T03:00:00Z",
"lastSuccessfulTime":"2026-03-03T04:00:00Z"}}""",
    JobTemplate: b"""{"apiVersion":"flow.volcano.sh/v1alpha1","kind":"JobTemplate","metadata":{"name":"a",
"namespace":"ml","managedFields":MANAGED},"spec":{"queue":"research","tasks":[{"name":"t","replicas":1}]},
"status":{"jobDependsOnList":["f-a"]}}""",
    JobFlow: b"""{"apiVersion":"flow.volcano.sh/v1alpha1","kind":"JobFlow","metadata":{"name":"f",
"namespace":"ml","managedFields":MANAGED},"spec":{"jobRetainPolicy":"delete","flows":[{"name":"a","dependsOn":{
"targets":["b"],"probe":{"httpGetList":[{"taskName":"t","path":"/","port":80,"httpHeader":{"name":"n","value":
"v"}}],"tcpSocketList":[{"taskName":"t","port":81}],"taskStatusList":[{"taskName":"t","phase":"Running"}]}},
"patch":{"spec":{"queue":"other"}}}]},"status":{"pendingJobs":["f-a"],"runningJobs":["f-b"],"failedJobs":[
"f-c"],"completedJobs":["f-d"],"terminatedJobs":["f-e"],"unKnowJobs":["f-f"],"jobStatusList":[{"name":"f-a",
"state":"Pending","startTimestamp":"2026-03-01T10:00:00Z","endTimestamp":"2026-03-01T11:00:00Z",
"restartCount":2,"runningHistories":[{"state":"Pending","startTimestamp":"2026-03-01T10:00:00Z",
"endTimestamp":"2026-03-01T11:00:00Z"}]}],"conditions":{"f-a":{"phase":"Pending","createTime":
"2026-03-01T10:00:00Z","runningDuration":"1h0m0s","taskStatusCount":{"t":{"phase":{"Running":1}}}}},"state":{
"phase":"Running"}}}""",
    StorageClass: b"""{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"late",
"managedFields":MANAGED},"provisioner":"example.com/disks","volumeBindingMode":"WaitForFirstConsumer"}""",
}
