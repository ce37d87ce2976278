"""Of which CEL types fields are where the table of schemas does not tell, as Kubernetes 1.37.2 has them. Generated; do not edit.

Printed by ``apischema types`` (tests/controlplane/schema). To the checker of policies, which writes ``status.typeChecking``,
text is a string, a number an int, and other fields are as listed here: ``*`` dyn, ``d`` double, ``t`` timestamp, ``y`` bytes,
``i s b`` int, string, bool, ``o`` a struct without any field, ``-`` not there at all.
"""

FIELDS = """
AllocatedDeviceStatus: data:o; AllocationResult: allocationTimestamp:t; CSIStorageCapacity: capacity:- maximumVolumeSize:-;
CapacityRequestPolicy: default:- validValues:-; CapacityRequestPolicyRange: max:- min:- step:-; CapacityRequirements: requests:-;
CompositeDisruptionMode: all:o single:o; CompositePodGroupSchedulingPolicy: basic:o; Condition: lastTransitionTime:t; ConfigMap:
binaryData:y; ContainerStateRunning: startedAt:t; ContainerStateTerminated: finishedAt:t startedAt:t; ContainerStatus:
allocatedResources:-; ControllerRevision: data:o; Counter: value:-; CronJobStatus: lastScheduleTime:t lastSuccessfulTime:t;
DaemonSetCondition: lastTransitionTime:t; DeploymentCondition: lastTransitionTime:t lastUpdateTime:t; DeviceCapacity: value:-;
DeviceRequestAllocationResult: consumedCapacity:-; DeviceTaint: timeAdded:t; DisruptionMode: all:o single:o; EmptyDirVolumeSource:
sizeLimit:-; Event: eventTime:t firstTimestamp:t lastTimestamp:t; EventSeries: lastObservedTime:t; HPAScalingRules: tolerance:-;
HTTPGetAction: port:*; HorizontalPodAutoscalerCondition: lastTransitionTime:t; HorizontalPodAutoscalerStatus: lastScaleTime:t;
JobCondition: lastProbeTime:t lastTransitionTime:t; JobStatus: completionTime:t startTime:t; LeaseSpec: acquireTime:t renewTime:t;
LimitRangeItem: default:- defaultRequest:- max:- maxLimitRequestRatio:- min:-; ManagedFieldsEntry: fieldsV1:o time:t;
MetricTarget: averageValue:- value:-; MetricValueStatus: averageValue:- value:-; NamespaceCondition: lastTransitionTime:t;
NetworkPolicyPort: port:*; NodeAllocatableMappedResources: quantity:-; NodeAllocatableMapping: capacityMultiplier:-
deviceMultiplier:-; NodeAllocatableOverhead: perContainer:- perPod:-; NodeAllocatableOverheadResources: perContainer:- perPod:-;
NodeCondition: lastHeartbeatTime:t lastTransitionTime:t; NodeStatus: allocatable:- capacity:-; ObjectMeta: creationTimestamp:t
deletionTimestamp:t; OpaqueDeviceConfiguration: parameters:o; PersistentVolumeClaimCondition: lastProbeTime:t
lastTransitionTime:t; PersistentVolumeClaimStatus: allocatedResources:- capacity:-; PersistentVolumeSpec: capacity:-;
PersistentVolumeStatus: lastPhaseTransitionTime:t; PodCondition: lastProbeTime:t lastTransitionTime:t; PodDisruptionBudgetSpec:
maxUnavailable:* minAvailable:*; PodDisruptionBudgetStatus: disruptedPods:t; PodGroupSchedulingPolicy: basic:o; PodSpec:
overhead:-; PodStatus: allocatedResources:- startTime:t; PodVolumeHealth: lastTransitionTime:t; ReplicaSetCondition:
lastTransitionTime:t; ReplicationControllerCondition: lastTransitionTime:t; ResourceFieldSelector: divisor:-; ResourceQuotaSpec:
hard:-; ResourceQuotaStatus: hard:- used:-; ResourceRequirements: limits:- requests:-; RollingUpdateDaemonSet: maxSurge:*
maxUnavailable:*; RollingUpdateDeployment: maxSurge:* maxUnavailable:*; RollingUpdateStatefulSetStrategy: maxUnavailable:*;
Secret: data:y; ServicePort: targetPort:*; StatefulSetCondition: lastTransitionTime:t; StorageHealthCondition:
lastTransitionTime:t; TCPSocketAction: port:*; Taint: timeAdded:t; VolumeError: time:t; VolumeHealthStatus: lastTransitionTime:t;
VolumeResourceRequirements: limits:- requests:-; WorkloadPodGroupDisruptionMode: all:o single:o; WorkloadPodGroupSchedulingPolicy:
basic:o; v1alpha3.CompositeDisruptionMode: all:o single:o; v1alpha3.CompositePodGroupSchedulingPolicy: basic:o;
v1alpha3.DisruptionMode: all:o single:o; v1alpha3.PodGroupSchedulingPolicy: basic:o;
"""
