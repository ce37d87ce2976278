"""How the API server merges the fields of built-in kinds, as Kubernetes 1.37.2 has them. Generated; do not edit.

Printed by ``apischema`` (tests/controlplane/schema). Types end with a semicolon; their fields are ``name:shape``, and where there
is no shape it is ``s``:

* ``s n b u`` text, number, boolean, any scalar; ``x`` anything, replaced whole; ``m`` anything, merged; else the name of a type;
* before it ``[]`` an atomic list, ``[=]`` a set, ``[a,b]`` a list of mappings with these keys, ``{}`` a map, ``{!}`` an atomic
  map, ``!`` an atomic struct; after it ``=`` the default, as JSON, of a field that serves as a key.
"""

KINDS = """
apps/v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet;
autoscaling/v2: HorizontalPodAutoscaler;
batch/v1: CronJob Job;
coordination.k8s.io/v1: Lease;
networking.k8s.io/v1: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR;
policy/v1: Eviction PodDisruptionBudget;
rbac.authorization.k8s.io/v1: ClusterRole ClusterRoleBinding Role RoleBinding;
resource.k8s.io/v1: DeviceClass DeviceTaintRule ResourceClaim:v1.ResourceClaim ResourceClaimTemplate ResourceSlice;
scheduling.k8s.io/v1: PriorityClass;
scheduling.k8s.io/v1alpha3: CompositePodGroup PodGroup:v1alpha3.PodGroup Workload:v1alpha3.Workload;
scheduling.k8s.io/v1beta1: PodGroup PriorityClass:v1beta1.PriorityClass Workload;
storage.k8s.io/v1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass;
v1: ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate
ReplicationController ResourceQuota Secret Service ServiceAccount;
"""

TYPES = """
AWSElasticBlockStoreVolumeSource: fsType partition:n readOnly:b volumeID; Affinity: nodeAffinity:NodeAffinity
podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity; AggregationRule: clusterRoleSelectors:[]LabelSelector;
AllocatedDeviceStatus: conditions:[type]Condition data:x device="" driver="" networkData:NetworkDeviceData pool="" shareID;
AllocationResult: allocationTimestamp:u devices:DeviceAllocationResult nodeSelector:NodeSelector; AppArmorProfile:
localhostProfile type; AttachedVolume: devicePath name; AzureDiskVolumeSource: cachingMode diskName diskURI fsType kind
readOnly:b; AzureFilePersistentVolumeSource: readOnly:b secretName secretNamespace shareName; AzureFileVolumeSource: readOnly:b
secretName shareName; CELDeviceSelector: expression; CSIDriver: apiVersion kind metadata:ObjectMeta spec:CSIDriverSpec;
CSIDriverSpec: attachRequired:b fsGroupPolicy nodeAllocatableUpdatePeriodSeconds:n podInfoOnMount:b
preventPodSchedulingIfMissing:b requiresRepublish:b seLinuxMount:b serviceAccountTokenInSecrets:b storageCapacity:b
tokenRequests:[]TokenRequest volumeLifecycleModes:[=]s; CSINode: apiVersion kind metadata:ObjectMeta spec:CSINodeSpec
status:CSINodeStatus; CSINodeDriver: allocatable:VolumeNodeResources name="" nodeID topologyKeys:[]s; CSINodeSpec:
drivers:[name]CSINodeDriver; CSINodeStatus: storageHealth:[name]StorageHealth; CSIPersistentVolumeSource:
controllerExpandSecretRef:SecretReference controllerPublishSecretRef:SecretReference driver fsType
nodeExpandSecretRef:SecretReference nodePublishSecretRef:SecretReference nodeStageSecretRef:SecretReference readOnly:b
volumeAttributes:{}s volumeHandle; CSIStorageCapacity: apiVersion capacity:u kind maximumVolumeSize:u metadata:ObjectMeta
nodeTopology:LabelSelector storageClassName; CSIVolumeSource: driver fsType nodePublishSecretRef:LocalObjectReference readOnly:b
volumeAttributes:{}s; Capabilities: add:[]s drop:[]s; CapacityRequestPolicy: default:u validRange:CapacityRequestPolicyRange
validValues:[]u; CapacityRequestPolicyRange: max:u min:u step:u; CapacityRequirements: requests:{}u; CephFSPersistentVolumeSource:
monitors:[]s path readOnly:b secretFile secretRef:SecretReference user; CephFSVolumeSource: monitors:[]s path readOnly:b
secretFile secretRef:LocalObjectReference user; CinderPersistentVolumeSource: fsType readOnly:b secretRef:SecretReference
volumeID; CinderVolumeSource: fsType readOnly:b secretRef:LocalObjectReference volumeID; ClientIPConfig: timeoutSeconds:n;
ClusterRole: aggregationRule:AggregationRule apiVersion kind metadata:ObjectMeta rules:[]PolicyRule; ClusterRoleBinding:
apiVersion kind metadata:ObjectMeta roleRef:RoleRef subjects:[]Subject; ClusterTrustBundleProjection: labelSelector:LabelSelector
name optional:b path signerName user:n; ComponentCondition: error message status type=""; ComponentStatus: apiVersion
conditions:[type]ComponentCondition kind metadata:ObjectMeta; CompositeDisruptionMode: all:{}u single:{}u;
CompositeGangSchedulingPolicy: minGroupCount:n; CompositePodGroup: apiVersion kind metadata:ObjectMeta spec:CompositePodGroupSpec
status:CompositePodGroupStatus; CompositePodGroupSchedulingConstraints: topology:[]v1beta1.TopologyConstraint;
CompositePodGroupSchedulingPolicy: basic:{}u gang:CompositeGangSchedulingPolicy; CompositePodGroupSpec:
disruptionMode:v1alpha3.CompositeDisruptionMode parentCompositePodGroupName preemptionPolicy priority:n priorityClassName
schedulingConstraints:v1alpha3.CompositePodGroupSchedulingConstraints schedulingPolicy:v1alpha3.CompositePodGroupSchedulingPolicy
workloadRef:v1alpha3.WorkloadReference; CompositePodGroupStatus: conditions:[type]Condition; CompositePodGroupTemplate:
compositePodGroupTemplates:[name]CompositePodGroupTemplate disruptionMode:CompositeDisruptionMode name=""
podGroupTemplates:[name]PodGroupTemplate preemptionPolicy priority:n priorityClassName
schedulingConstraints:CompositePodGroupSchedulingConstraints schedulingPolicy:CompositePodGroupSchedulingPolicy; Condition:
lastTransitionTime:u message observedGeneration:n reason status type=""; ConfigMap: apiVersion binaryData:{}s data:{}s immutable:b
kind metadata:ObjectMeta; ConfigMapEnvSource: name optional:b; ConfigMapKeySelector: ! key name optional:b;
ConfigMapNodeConfigSource: kubeletConfigKey name namespace resourceVersion uid; ConfigMapProjection: items:[]KeyToPath name
optional:b; ConfigMapVolumeSource: defaultMode:n defaultUser:n items:[]KeyToPath name optional:b; Container: args:[]s command:[]s
env:[name]EnvVar envFrom:[]EnvFromSource image imagePullPolicy lifecycle:Lifecycle livenessProbe:Probe name=""
ports:[containerPort,protocol]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy
resources:ResourceRequirements restartPolicy restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext
startupProbe:Probe stdin:b stdinOnce:b terminationMessagePath terminationMessagePolicy tty:b
volumeDevices:[devicePath]VolumeDevice volumeMounts:[mountPath]VolumeMount workingDir; ContainerExtendedResourceRequest:
containerName requestName resourceName; ContainerImage: names:[]s sizeBytes:n; ContainerPort: containerPort:n=0 hostIP hostPort:n
name protocol="TCP"; ContainerResizePolicy: resourceName restartPolicy; ContainerResourceMetricSource: container name
target:MetricTarget; ContainerResourceMetricStatus: container current:MetricValueStatus name; ContainerRestartRule: action
exitCodes:ContainerRestartRuleOnExitCodes; ContainerRestartRuleOnExitCodes: operator values:[=]n; ContainerState:
running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting; ContainerStateRunning:
startedAt:u; ContainerStateTerminated: containerID exitCode:n finishedAt:u message reason signal:n startedAt:u;
ContainerStateWaiting: message reason; ContainerStatus: allocatedResources:{}u allocatedResourcesStatus:[name]ResourceStatus
containerID image imageID lastState:ContainerState name ready:b resources:ResourceRequirements restartCount:n started:b
state:ContainerState stopSignal user:ContainerUser volumeMounts:[mountPath]VolumeMountStatus; ContainerUser:
linux:LinuxContainerUser; ControllerRevision: apiVersion data:x kind metadata:ObjectMeta revision:n; Counter: value:u; CounterSet:
counters:{}Counter name; CronJob: apiVersion kind metadata:ObjectMeta spec:CronJobSpec status:CronJobStatus; CronJobSpec:
concurrencyPolicy failedJobsHistoryLimit:n jobTemplate:JobTemplateSpec schedule startingDeadlineSeconds:n
successfulJobsHistoryLimit:n suspend:b timeZone; CronJobStatus: active:[]ObjectReference lastScheduleTime:u lastSuccessfulTime:u;
CrossVersionObjectReference: apiVersion kind name; DaemonEndpoint: Port:n; DaemonSet: apiVersion kind metadata:ObjectMeta
spec:DaemonSetSpec status:DaemonSetStatus; DaemonSetCondition: lastTransitionTime:u message reason status type=""; DaemonSetSpec:
minReadySeconds:n revisionHistoryLimit:n selector:LabelSelector template:PodTemplateSpec updateStrategy:DaemonSetUpdateStrategy;
DaemonSetStatus: collisionCount:n conditions:[type]DaemonSetCondition currentNumberScheduled:n desiredNumberScheduled:n
numberAvailable:n numberMisscheduled:n numberReady:n numberUnavailable:n observedGeneration:n updatedNumberScheduled:n;
DaemonSetUpdateStrategy: rollingUpdate:RollingUpdateDaemonSet type; DeleteOptions: apiVersion dryRun:[]s gracePeriodSeconds:n
ignoreStoreReadErrorWithClusterBreakingPotential:b kind orphanDependents:b preconditions:Preconditions propagationPolicy;
Deployment: apiVersion kind metadata:ObjectMeta spec:DeploymentSpec status:DeploymentStatus; DeploymentCondition:
lastTransitionTime:u lastUpdateTime:u message reason status type=""; DeploymentSpec: minReadySeconds:n paused:b
progressDeadlineSeconds:n replicas:n revisionHistoryLimit:n selector:LabelSelector strategy:DeploymentStrategy
template:PodTemplateSpec; DeploymentStatus: availableReplicas:n collisionCount:n conditions:[type]DeploymentCondition
observedGeneration:n readyReplicas:n replicas:n terminatingReplicas:n unavailableReplicas:n updatedReplicas:n; DeploymentStrategy:
rollingUpdate:RollingUpdateDeployment type; Device: allNodes:b allowMultipleAllocations:b attributes:{}DeviceAttribute
bindingConditions:[]s bindingFailureConditions:[]s bindsToNode:b capacity:{}DeviceCapacity
consumesCounters:[]DeviceCounterConsumption name nodeAllocatableResources:{}NodeAllocatableResource nodeName
nodeSelector:NodeSelector taints:[]DeviceTaint; DeviceAllocationConfiguration: opaque:OpaqueDeviceConfiguration requests:[]s
source; DeviceAllocationResult: config:[]DeviceAllocationConfiguration results:[]DeviceRequestAllocationResult; DeviceAttribute:
bool:b bools:[]b int:n ints:[]n string strings:[]s version versions:[]s; DeviceCapacity: requestPolicy:CapacityRequestPolicy
value:u; DeviceClaim: config:[]DeviceClaimConfiguration constraints:[]DeviceConstraint requests:[]DeviceRequest;
DeviceClaimConfiguration: opaque:OpaqueDeviceConfiguration requests:[]s; DeviceClass: apiVersion kind metadata:ObjectMeta
spec:DeviceClassSpec; DeviceClassConfiguration: opaque:OpaqueDeviceConfiguration; DeviceClassSpec:
config:[]DeviceClassConfiguration extendedResourceName selectors:[]DeviceSelector; DeviceConstraint: distinctAttribute
matchAttribute requests:[]s; DeviceCounterConsumption: compatibilityGroups:[]s counterSet counters:{}Counter;
DeviceDerivedAttribute: expression name; DeviceRequest: exactly:ExactDeviceRequest firstAvailable:[]DeviceSubRequest name;
DeviceRequestAllocationResult: adminAccess:b bindingConditions:[]s bindingFailureConditions:[]s consumedCapacity:{}u device driver
pool request shareID skipNodeOperations:[=]s tolerations:[]DeviceToleration; DeviceSelector: cel:CELDeviceSelector;
DeviceSubRequest: allocationMode capacity:CapacityRequirements count:n derivedAttributes:[]DeviceDerivedAttribute deviceClassName
name selectors:[]DeviceSelector tolerations:[]DeviceToleration; DeviceTaint: effect key timeAdded:u value; DeviceTaintRule:
apiVersion kind metadata:ObjectMeta spec:DeviceTaintRuleSpec status:DeviceTaintRuleStatus; DeviceTaintRuleSpec:
deviceSelector:DeviceTaintSelector taint:DeviceTaint; DeviceTaintRuleStatus: conditions:[type]Condition; DeviceTaintSelector:
device driver pool; DeviceToleration: effect key operator tolerationSeconds:n value; DisruptionMode: all:{}u single:{}u;
DownwardAPIProjection: items:[]DownwardAPIVolumeFile; DownwardAPIVolumeFile: fieldRef:ObjectFieldSelector mode:n path
resourceFieldRef:ResourceFieldSelector user:n; DownwardAPIVolumeSource: defaultMode:n defaultUser:n items:[]DownwardAPIVolumeFile;
EmptyDirVolumeSource: medium mode:n sizeLimit:u; EndpointAddress: ! hostname ip nodeName targetRef:ObjectReference; EndpointPort:
! appProtocol name port:n protocol; EndpointSubset: addresses:[]EndpointAddress notReadyAddresses:[]EndpointAddress
ports:[]EndpointPort; Endpoints: apiVersion kind metadata:ObjectMeta subsets:[]EndpointSubset; EnvFromSource:
configMapRef:ConfigMapEnvSource prefix secretRef:SecretEnvSource; EnvVar: name="" value valueFrom:EnvVarSource; EnvVarSource:
configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector
resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector; EphemeralContainer: args:[]s command:[]s env:[name]EnvVar
envFrom:[]EnvFromSource image imagePullPolicy lifecycle:Lifecycle livenessProbe:Probe name=""
ports:[containerPort,protocol]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy
resources:ResourceRequirements restartPolicy restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext
startupProbe:Probe stdin:b stdinOnce:b targetContainerName terminationMessagePath terminationMessagePolicy tty:b
volumeDevices:[devicePath]VolumeDevice volumeMounts:[mountPath]VolumeMount workingDir; EphemeralVolumeSource:
volumeClaimTemplate:PersistentVolumeClaimTemplate; Event: action apiVersion count:n eventTime:u firstTimestamp:u
involvedObject:ObjectReference kind lastTimestamp:u message metadata:ObjectMeta reason related:ObjectReference reportingComponent
reportingInstance series:EventSeries source:EventSource type; EventSeries: count:n lastObservedTime:u; EventSource: component
host; Eviction: apiVersion deleteOptions:DeleteOptions kind metadata:ObjectMeta; EvictionResponder: ! name="" priority:n;
ExactDeviceRequest: adminAccess:b allocationMode capacity:CapacityRequirements count:n derivedAttributes:[]DeviceDerivedAttribute
deviceClassName selectors:[]DeviceSelector tolerations:[]DeviceToleration; ExecAction: command:[]s; ExternalMetricSource:
metric:MetricIdentifier target:MetricTarget; ExternalMetricStatus: current:MetricValueStatus metric:MetricIdentifier;
FCVolumeSource: fsType lun:n readOnly:b targetWWNs:[]s wwids:[]s; FileKeySelector: ! key optional:b path volumeName;
FlexPersistentVolumeSource: driver fsType options:{}s readOnly:b secretRef:SecretReference; FlexVolumeSource: driver fsType
options:{}s readOnly:b secretRef:LocalObjectReference; FlockerVolumeSource: datasetName datasetUUID;
GCEPersistentDiskVolumeSource: fsType partition:n pdName readOnly:b; GRPCAction: mode port:n service; GangSchedulingPolicy:
minCount:n; GitRepoVolumeSource: directory repository revision; GlusterfsPersistentVolumeSource: endpoints endpointsNamespace path
readOnly:b; GlusterfsVolumeSource: endpoints path readOnly:b; HPAScalingPolicy: periodSeconds:n type value:n; HPAScalingRules:
policies:[]HPAScalingPolicy selectPolicy stabilizationWindowSeconds:n tolerance:u; HTTPGetAction: host httpHeaders:[]HTTPHeader
path port:u protocol scheme; HTTPHeader: name value; HTTPIngressPath: backend:IngressBackend path pathType; HTTPIngressRuleValue:
paths:[]HTTPIngressPath; HorizontalPodAutoscaler: apiVersion kind metadata:ObjectMeta spec:HorizontalPodAutoscalerSpec
status:HorizontalPodAutoscalerStatus; HorizontalPodAutoscalerBehavior: scaleDown:HPAScalingRules scaleUp:HPAScalingRules;
HorizontalPodAutoscalerCondition: lastTransitionTime:u message observedGeneration:n reason status type="";
HorizontalPodAutoscalerSpec: behavior:HorizontalPodAutoscalerBehavior maxReplicas:n metrics:[]MetricSpec minReplicas:n
scaleTargetRef:CrossVersionObjectReference; HorizontalPodAutoscalerStatus: conditions:[type]HorizontalPodAutoscalerCondition
currentMetrics:[]MetricStatus currentReplicas:n desiredReplicas:n lastScaleTime:u observedGeneration:n; HostAlias: hostnames:[]s
ip=""; HostIP: ip; HostPathVolumeSource: path type; IPAddress: apiVersion kind metadata:ObjectMeta spec:IPAddressSpec;
IPAddressSpec: parentRef:ParentReference; IPBlock: cidr except:[]s; ISCSIPersistentVolumeSource: chapAuthDiscovery:b
chapAuthSession:b fsType initiatorName iqn iscsiInterface lun:n portals:[]s readOnly:b secretRef:SecretReference targetPortal;
ISCSIVolumeSource: chapAuthDiscovery:b chapAuthSession:b fsType initiatorName iqn iscsiInterface lun:n portals:[]s readOnly:b
secretRef:LocalObjectReference targetPortal; ImageVolumeSource: pullPolicy reference; ImageVolumeStatus: imageRef; Ingress:
apiVersion kind metadata:ObjectMeta spec:IngressSpec status:IngressStatus; IngressBackend: resource:TypedLocalObjectReference
service:IngressServiceBackend; IngressClass: apiVersion kind metadata:ObjectMeta spec:IngressClassSpec;
IngressClassParametersReference: apiGroup kind name namespace scope; IngressClassSpec: controller
parameters:IngressClassParametersReference; IngressLoadBalancerIngress: hostname ip ports:[]IngressPortStatus;
IngressLoadBalancerStatus: ingress:[]IngressLoadBalancerIngress; IngressPortStatus: error port:n protocol; IngressRule: host
http:HTTPIngressRuleValue; IngressServiceBackend: name port:ServiceBackendPort; IngressSpec: defaultBackend:IngressBackend
ingressClassName rules:[]IngressRule tls:[]IngressTLS; IngressStatus: loadBalancer:IngressLoadBalancerStatus; IngressTLS:
hosts:[]s secretName; Job: apiVersion kind metadata:ObjectMeta spec:JobSpec status:JobStatus; JobCondition: lastProbeTime:u
lastTransitionTime:u message reason status type; JobSchedulingConfiguration: disruptionMode:WorkloadPodGroupDisruptionMode
resourceClaims:[name]WorkloadPodGroupResourceClaim schedulingConstraints:WorkloadPodGroupSchedulingConstraints
schedulingPolicy:WorkloadPodGroupSchedulingPolicy; JobSpec: activeDeadlineSeconds:n backoffLimit:n backoffLimitPerIndex:n
completionMode completions:n managedBy manualSelector:b maxFailedIndexes:n parallelism:n podFailurePolicy:PodFailurePolicy
podReplacementPolicy scheduling:JobSchedulingConfiguration selector:LabelSelector successPolicy:SuccessPolicy suspend:b
template:PodTemplateSpec ttlSecondsAfterFinished:n; JobStatus: active:n completedIndexes completionTime:u
conditions:[]JobCondition failed:n failedIndexes ready:n startTime:u succeeded:n terminating:n
uncountedTerminatedPods:UncountedTerminatedPods; JobTemplateSpec: metadata:ObjectMeta spec:JobSpec; KeyToPath: key mode:n path
user:n; LabelSelector: ! matchExpressions:[]LabelSelectorRequirement matchLabels:{}s; LabelSelectorRequirement: key operator
values:[]s; Lease: apiVersion kind metadata:ObjectMeta spec:LeaseSpec; LeaseSpec: acquireTime:u holderIdentity
leaseDurationSeconds:n leaseTransitions:n preferredHolder renewTime:u strategy; Lifecycle: postStart:LifecycleHandler
preStop:LifecycleHandler stopSignal; LifecycleHandler: exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction
tcpSocket:TCPSocketAction; LimitRange: apiVersion kind metadata:ObjectMeta spec:LimitRangeSpec; LimitRangeItem: default:{}u
defaultRequest:{}u max:{}u maxLimitRequestRatio:{}u min:{}u type; LimitRangeSpec: limits:[]LimitRangeItem; LinuxContainerUser:
gid:n supplementalGroups:[]n uid:n; LoadBalancerIngress: hostname ip ipMode ports:[]PortStatus; LoadBalancerStatus:
ingress:[]LoadBalancerIngress; LocalObjectReference: ! name=""; LocalVolumeSource: fsType path; ManagedFieldsEntry: apiVersion
fieldsType fieldsV1:{}u manager operation subresource time:u; MetricIdentifier: name selector:LabelSelector; MetricSpec:
containerResource:ContainerResourceMetricSource external:ExternalMetricSource object:ObjectMetricSource pods:PodsMetricSource
resource:ResourceMetricSource type; MetricStatus: containerResource:ContainerResourceMetricStatus external:ExternalMetricStatus
object:ObjectMetricStatus pods:PodsMetricStatus resource:ResourceMetricStatus type; MetricTarget: averageUtilization:n
averageValue:u type value:u; MetricValueStatus: averageUtilization:n averageValue:u value:u; ModifyVolumeStatus: status
targetVolumeAttributesClassName; NFSVolumeSource: path readOnly:b server; Namespace: apiVersion kind metadata:ObjectMeta
spec:NamespaceSpec status:NamespaceStatus; NamespaceCondition: lastTransitionTime:u message reason status type=""; NamespaceSpec:
finalizers:[]s; NamespaceStatus: conditions:[type]NamespaceCondition phase; NetworkDeviceData: hardwareAddress interfaceName
ips:[]s; NetworkPolicy: apiVersion kind metadata:ObjectMeta spec:NetworkPolicySpec; NetworkPolicyEgressRule:
ports:[]NetworkPolicyPort to:[]NetworkPolicyPeer; NetworkPolicyIngressRule: from:[]NetworkPolicyPeer ports:[]NetworkPolicyPort;
NetworkPolicyPeer: ipBlock:IPBlock namespaceSelector:LabelSelector podSelector:LabelSelector; NetworkPolicyPort: endPort:n port:u
protocol; NetworkPolicySpec: egress:[]NetworkPolicyEgressRule ingress:[]NetworkPolicyIngressRule podSelector:LabelSelector
policyTypes:[]s; Node: apiVersion kind metadata:ObjectMeta spec:NodeSpec status:NodeStatus; NodeAddress: address type="";
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
requiredDuringSchedulingIgnoredDuringExecution:NodeSelector; NodeAllocatableMappedResources: name="" quantity:u;
NodeAllocatableMapping: capacityKey capacityMultiplier:u deviceMultiplier:u; NodeAllocatableOverhead: perContainer:u perPod:u;
NodeAllocatableOverheadResources: name="" perContainer:u perPod:u; NodeAllocatableResource: mapping:NodeAllocatableMapping
overhead:NodeAllocatableOverhead; NodeAllocatableResourceClaimStatus: containers:[=]s mapping:[name]NodeAllocatableMappedResources
overhead:[name]NodeAllocatableOverheadResources resourceClaimName=""; NodeCondition: lastHeartbeatTime:u lastTransitionTime:u
message reason status type=""; NodeConfigSource: configMap:ConfigMapNodeConfigSource; NodeConfigStatus: active:NodeConfigSource
assigned:NodeConfigSource error lastKnownGood:NodeConfigSource; NodeDaemonEndpoints: kubeletEndpoint:DaemonEndpoint; NodeFeatures:
supplementalGroupsPolicy:b; NodePodPreemptionPolicy: disableResizePreemption:[=]s; NodeRuntimeHandler:
features:NodeRuntimeHandlerFeatures name; NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts:b userNamespaces:b; NodeSelector: !
nodeSelectorTerms:[]NodeSelectorTerm; NodeSelectorRequirement: key operator values:[]s; NodeSelectorTerm: !
matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement; NodeSpec: configSource:NodeConfigSource
externalID podCIDR podCIDRs:[=]s podPreemptionPolicy:NodePodPreemptionPolicy providerID taints:[]Taint unschedulable:b;
NodeStatus: addresses:[type]NodeAddress allocatable:{}u capacity:{}u conditions:[type]NodeCondition config:NodeConfigStatus
daemonEndpoints:NodeDaemonEndpoints declaredFeatures:[]s features:NodeFeatures images:[]ContainerImage nodeInfo:NodeSystemInfo
phase runtimeHandlers:[]NodeRuntimeHandler volumesAttached:[]AttachedVolume volumesInUse:[]s; NodeSwapStatus: capacity:n;
NodeSystemInfo: architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID
operatingSystem osImage runningInUserNamespace:b swap:NodeSwapStatus systemUUID; ObjectFieldSelector: ! apiVersion fieldPath;
ObjectMeta: annotations:{}s creationTimestamp:u deletionGracePeriodSeconds:n deletionTimestamp:u finalizers:[=]s generateName
generation:n labels:{}s managedFields:[]ManagedFieldsEntry name namespace ownerReferences:[uid]OwnerReference resourceVersion
selfLink uid; ObjectMetricSource: describedObject:CrossVersionObjectReference metric:MetricIdentifier target:MetricTarget;
ObjectMetricStatus: current:MetricValueStatus describedObject:CrossVersionObjectReference metric:MetricIdentifier;
ObjectReference: ! apiVersion fieldPath kind name namespace resourceVersion uid; OpaqueDeviceConfiguration: driver parameters:x;
OwnerReference: ! apiVersion blockOwnerDeletion:b controller:b kind name uid=""; ParentReference: group name namespace resource;
PersistentVolume: apiVersion kind metadata:ObjectMeta spec:PersistentVolumeSpec status:PersistentVolumeStatus;
PersistentVolumeClaim: apiVersion kind metadata:ObjectMeta spec:PersistentVolumeClaimSpec status:PersistentVolumeClaimStatus;
PersistentVolumeClaimCondition: lastProbeTime:u lastTransitionTime:u message reason status type=""; PersistentVolumeClaimSpec:
accessModes:[]s dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference resources:VolumeResourceRequirements
selector:LabelSelector storageClassName volumeAttributesClassName volumeMode volumeName; PersistentVolumeClaimStatus:
accessModes:[]s allocatedResourceStatuses:{}s allocatedResources:{}u capacity:{}u conditions:[type]PersistentVolumeClaimCondition
currentVolumeAttributesClassName healthStatus:VolumeHealthStatus modifyVolumeStatus:ModifyVolumeStatus phase;
PersistentVolumeClaimTemplate: metadata:ObjectMeta spec:PersistentVolumeClaimSpec; PersistentVolumeClaimVolumeSource: claimName
readOnly:b; PersistentVolumeSpec: accessModes:[]s awsElasticBlockStore:AWSElasticBlockStoreVolumeSource
azureDisk:AzureDiskVolumeSource azureFile:AzureFilePersistentVolumeSource capacity:{}u cephfs:CephFSPersistentVolumeSource
cinder:CinderPersistentVolumeSource claimRef:ObjectReference csi:CSIPersistentVolumeSource fc:FCVolumeSource
flexVolume:FlexPersistentVolumeSource flocker:FlockerVolumeSource gcePersistentDisk:GCEPersistentDiskVolumeSource
glusterfs:GlusterfsPersistentVolumeSource hostPath:HostPathVolumeSource iscsi:ISCSIPersistentVolumeSource local:LocalVolumeSource
mountOptions:[]s nfs:NFSVolumeSource nodeAffinity:VolumeNodeAffinity persistentVolumeReclaimPolicy
photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource quobyte:QuobyteVolumeSource
rbd:RBDPersistentVolumeSource scaleIO:ScaleIOPersistentVolumeSource storageClassName storageos:StorageOSPersistentVolumeSource
volumeAttributesClassName volumeMode vsphereVolume:VsphereVirtualDiskVolumeSource; PersistentVolumeStatus:
lastPhaseTransitionTime:u message phase reason; PhotonPersistentDiskVolumeSource: fsType pdID; Pod: apiVersion kind
metadata:ObjectMeta spec:PodSpec status:PodStatus; PodAffinity:
preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm; PodAffinityTerm: labelSelector:LabelSelector matchLabelKeys:[]s
mismatchLabelKeys:[]s namespaceSelector:LabelSelector namespaces:[]s topologyKey; PodAntiAffinity:
preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm; PodCertificateProjection: certificateChainPath
credentialBundlePath keyPath keyType maxExpirationSeconds:n signerName user:n userAnnotations:{}s; PodCondition: lastProbeTime:u
lastTransitionTime:u message observedGeneration:n reason status type=""; PodDNSConfig: nameservers:[]s
options:[]PodDNSConfigOption searches:[]s; PodDNSConfigOption: name value; PodDisruptionBudget: apiVersion kind
metadata:ObjectMeta spec:PodDisruptionBudgetSpec status:PodDisruptionBudgetStatus; PodDisruptionBudgetSpec: maxUnavailable:u
minAvailable:u selector:LabelSelector unhealthyPodEvictionPolicy; PodDisruptionBudgetStatus: conditions:[type]Condition
currentHealthy:n desiredHealthy:n disruptedPods:{}u disruptionsAllowed:n expectedPods:n observedGeneration:n;
PodExtendedResourceClaimStatus: requestMappings:[]ContainerExtendedResourceRequest resourceClaimName; PodFailurePolicy:
rules:[]PodFailurePolicyRule; PodFailurePolicyOnExitCodesRequirement: containerName operator values:[=]n;
PodFailurePolicyOnPodConditionsPattern: status type; PodFailurePolicyRule: action
onExitCodes:PodFailurePolicyOnExitCodesRequirement onPodConditions:[]PodFailurePolicyOnPodConditionsPattern; PodGroup: apiVersion
kind metadata:ObjectMeta spec:PodGroupSpec status:PodGroupStatus; PodGroupResourceClaim: name="" resourceClaimName
resourceClaimTemplateName; PodGroupResourceClaimStatus: name="" resourceClaimName; PodGroupSchedulingConstraints:
topology:[]v1beta1.TopologyConstraint; PodGroupSchedulingPolicy: basic:{}u gang:GangSchedulingPolicy; PodGroupSpec:
disruptionMode:DisruptionMode parentCompositePodGroupName preemptionPolicy priority:n priorityClassName
resourceClaims:[name]PodGroupResourceClaim schedulingConstraints:PodGroupSchedulingConstraints
schedulingPolicy:PodGroupSchedulingPolicy workloadRef:WorkloadReference; PodGroupStatus: conditions:[type]Condition
resourceClaimStatuses:[name]PodGroupResourceClaimStatus; PodGroupTemplate: disruptionMode:DisruptionMode name="" preemptionPolicy
priority:n priorityClassName resourceClaims:[name]PodGroupResourceClaim schedulingConstraints:PodGroupSchedulingConstraints
schedulingPolicy:PodGroupSchedulingPolicy; PodIP: ip=""; PodOS: name; PodReadinessGate: conditionType; PodResourceClaim: name=""
resourceClaimName resourceClaimTemplateName; PodResourceClaimStatus: name="" resourceClaimName; PodSchedulingGate: name="";
PodSchedulingGroup: podGroupName; PodSecurityContext: appArmorProfile:AppArmorProfile fsGroup:n fsGroupChangePolicy runAsGroup:n
runAsNonRoot:b runAsUser:n seLinuxChangePolicy seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile supplementalGroups:[]n
supplementalGroupsPolicy sysctls:[]Sysctl windowsOptions:WindowsSecurityContextOptions; PodSpec: activeDeadlineSeconds:n
affinity:Affinity automountServiceAccountToken:b containers:[name]Container dnsConfig:PodDNSConfig dnsPolicy enableServiceLinks:b
ephemeralContainers:[name]EphemeralContainer evictionResponders:[name]EvictionResponder hostAliases:[ip]HostAlias hostIPC:b
hostNetwork:b hostPID:b hostUsers:b hostname hostnameOverride imagePullSecrets:[name]LocalObjectReference
initContainers:[name]Container nodeName nodeSelector:{!}s os:PodOS overhead:{}u preemptionPolicy priority:n priorityClassName
readinessGates:[]PodReadinessGate resourceClaims:[name]PodResourceClaim resources:ResourceRequirements restartPolicy
runtimeClassName schedulerName schedulingGates:[name]PodSchedulingGate schedulingGroup:PodSchedulingGroup
securityContext:PodSecurityContext serviceAccount serviceAccountName setHostnameAsFQDN:b shareProcessNamespace:b subdomain
terminationGracePeriodSeconds:n tolerations:[]Toleration
topologySpreadConstraints:[topologyKey,whenUnsatisfiable]TopologySpreadConstraint volumes:[name]Volume; PodStatus:
allocatedResources:{}u conditions:[type]PodCondition containerStatuses:[]ContainerStatus
ephemeralContainerStatuses:[]ContainerStatus extendedResourceClaimStatus:PodExtendedResourceClaimStatus hostIP hostIPs:[]HostIP
initContainerStatuses:[]ContainerStatus message
nodeAllocatableResourceClaimStatuses:[resourceClaimName]NodeAllocatableResourceClaimStatus nominatedNodeName observedGeneration:n
phase podIP podIPs:[ip]PodIP qosClass reason resize resourceClaimStatuses:[name]PodResourceClaimStatus
resources:ResourceRequirements startTime:u volumeHealth:[name]PodVolumeHealth; PodTemplate: apiVersion kind metadata:ObjectMeta
template:PodTemplateSpec; PodTemplateSpec: metadata:ObjectMeta spec:PodSpec; PodVolumeHealth:
healthConditions:[status,reason]VolumeHealthCondition lastTransitionTime:u name=""; PodsMetricSource: metric:MetricIdentifier
target:MetricTarget; PodsMetricStatus: current:MetricValueStatus metric:MetricIdentifier; PolicyRule: apiGroups:[]s
nonResourceURLs:[]s resourceNames:[]s resources:[]s verbs:[]s; PortStatus: error port:n protocol; PortworxVolumeSource: fsType
readOnly:b volumeID; Preconditions: resourceVersion uid; PreferredSchedulingTerm: preference:NodeSelectorTerm weight:n;
PriorityClass: apiVersion description globalDefault:b kind metadata:ObjectMeta preemptionPolicy value:n; Probe: exec:ExecAction
failureThreshold:n grpc:GRPCAction httpGet:HTTPGetAction initialDelaySeconds:n periodSeconds:n successThreshold:n
tcpSocket:TCPSocketAction terminationGracePeriodSeconds:n timeoutSeconds:n; ProjectedVolumeSource: defaultMode:n defaultUser:n
sources:[]VolumeProjection; QuobyteVolumeSource: group readOnly:b registry tenant user volume; RBDPersistentVolumeSource: fsType
image keyring monitors:[]s pool readOnly:b secretRef:SecretReference user; RBDVolumeSource: fsType image keyring monitors:[]s pool
readOnly:b secretRef:LocalObjectReference user; ReplicaSet: apiVersion kind metadata:ObjectMeta spec:ReplicaSetSpec
status:ReplicaSetStatus; ReplicaSetCondition: lastTransitionTime:u message reason status type=""; ReplicaSetSpec:
minReadySeconds:n replicas:n selector:LabelSelector template:PodTemplateSpec; ReplicaSetStatus: availableReplicas:n
conditions:[type]ReplicaSetCondition fullyLabeledReplicas:n observedGeneration:n readyReplicas:n replicas:n terminatingReplicas:n;
ReplicationController: apiVersion kind metadata:ObjectMeta spec:ReplicationControllerSpec status:ReplicationControllerStatus;
ReplicationControllerCondition: lastTransitionTime:u message reason status type=""; ReplicationControllerSpec: minReadySeconds:n
replicas:n selector:{!}s template:PodTemplateSpec; ReplicationControllerStatus: availableReplicas:n
conditions:[type]ReplicationControllerCondition fullyLabeledReplicas:n observedGeneration:n readyReplicas:n replicas:n;
ResourceClaim: name="" request; ResourceClaimConsumerReference: apiGroup name resource uid=""; ResourceClaimSpec:
devices:DeviceClaim; ResourceClaimStatus: allocation:AllocationResult devices:[driver,device,pool,shareID]AllocatedDeviceStatus
reservedFor:[uid]ResourceClaimConsumerReference; ResourceClaimTemplate: apiVersion kind metadata:ObjectMeta
spec:ResourceClaimTemplateSpec; ResourceClaimTemplateSpec: metadata:ObjectMeta spec:ResourceClaimSpec; ResourceFieldSelector: !
containerName divisor:u resource; ResourceHealth: health message resourceID=""; ResourceMetricSource: name target:MetricTarget;
ResourceMetricStatus: current:MetricValueStatus name; ResourcePool: generation:n name resourceSliceCount:n; ResourceQuota:
apiVersion kind metadata:ObjectMeta spec:ResourceQuotaSpec status:ResourceQuotaStatus; ResourceQuotaSpec: hard:{}u
scopeSelector:ScopeSelector scopes:[]s; ResourceQuotaStatus: hard:{}u used:{}u; ResourceRequirements: claims:[name]ResourceClaim
limits:{}u requests:{}u; ResourceSlice: apiVersion kind metadata:ObjectMeta spec:ResourceSliceSpec; ResourceSliceSpec: allNodes:b
devices:[]Device driver nodeName nodeSelector:NodeSelector partitionTypeAttribute perDeviceNodeSelection:b pool:ResourcePool
sharedCounters:[]CounterSet skipNodeOperations:[=]s; ResourceStatus: name="" resources:[resourceID]ResourceHealth; Role:
apiVersion kind metadata:ObjectMeta rules:[]PolicyRule; RoleBinding: apiVersion kind metadata:ObjectMeta roleRef:RoleRef
subjects:[]Subject; RoleRef: ! apiGroup kind name; RollingUpdateDaemonSet: maxSurge:u maxUnavailable:u; RollingUpdateDeployment:
maxSurge:u maxUnavailable:u; RollingUpdateStatefulSetStrategy: maxUnavailable:u partition:n; SELinuxOptions: level role type user;
ScaleIOPersistentVolumeSource: fsType gateway protectionDomain readOnly:b secretRef:SecretReference sslEnabled:b storageMode
storagePool system volumeName; ScaleIOVolumeSource: fsType gateway protectionDomain readOnly:b secretRef:LocalObjectReference
sslEnabled:b storageMode storagePool system volumeName; ScopeSelector: ! matchExpressions:[]ScopedResourceSelectorRequirement;
ScopedResourceSelectorRequirement: operator scopeName values:[]s; SeccompProfile: localhostProfile type; Secret: apiVersion
data:{}s immutable:b kind metadata:ObjectMeta stringData:{}s type; SecretEnvSource: name optional:b; SecretKeySelector: ! key name
optional:b; SecretProjection: items:[]KeyToPath name optional:b; SecretReference: ! name namespace; SecretVolumeSource:
defaultMode:n defaultUser:n items:[]KeyToPath optional:b secretName; SecurityContext: allowPrivilegeEscalation:b
appArmorProfile:AppArmorProfile capabilities:Capabilities privileged:b procMount readOnlyRootFilesystem:b runAsGroup:n
runAsNonRoot:b runAsUser:n seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile
windowsOptions:WindowsSecurityContextOptions; Service: apiVersion kind metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus;
ServiceAccount: apiVersion automountServiceAccountToken:b imagePullSecrets:[]LocalObjectReference kind metadata:ObjectMeta
secrets:[name]ObjectReference; ServiceAccountTokenProjection: audience expirationSeconds:n path user:n; ServiceBackendPort: ! name
number:n; ServiceCIDR: apiVersion kind metadata:ObjectMeta spec:ServiceCIDRSpec status:ServiceCIDRStatus; ServiceCIDRSpec:
cidrs:[]s; ServiceCIDRStatus: conditions:[type]Condition; ServicePort: appProtocol name nodePort:n port:n=0 protocol="TCP"
targetPort:u; ServiceSpec: allocateLoadBalancerNodePorts:b clusterIP clusterIPs:[]s externalIPs:[]s externalName
externalTrafficPolicy healthCheckNodePort:n internalTrafficPolicy ipFamilies:[]s ipFamilyPolicy loadBalancerClass loadBalancerIP
loadBalancerSourceRanges:[]s ports:[port,protocol]ServicePort publishNotReadyAddresses:b selector:{!}s sessionAffinity
sessionAffinityConfig:SessionAffinityConfig trafficDistribution type; ServiceStatus: conditions:[type]Condition
loadBalancer:LoadBalancerStatus; SessionAffinityConfig: clientIP:ClientIPConfig; SleepAction: seconds:n; StatefulSet: apiVersion
kind metadata:ObjectMeta spec:StatefulSetSpec status:StatefulSetStatus; StatefulSetCondition: lastTransitionTime:u message reason
status type=""; StatefulSetOrdinals: start:n; StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled;
StatefulSetSpec: minReadySeconds:n ordinals:StatefulSetOrdinals
persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy podManagementPolicy replicas:n
revisionHistoryLimit:n selector:LabelSelector serviceName template:PodTemplateSpec updateStrategy:StatefulSetUpdateStrategy
volumeClaimTemplates:[]PersistentVolumeClaim; StatefulSetStatus: availableReplicas:n collisionCount:n
conditions:[type]StatefulSetCondition currentReplicas:n currentRevision observedGeneration:n readyReplicas:n replicas:n
updateRevision updatedReplicas:n; StatefulSetUpdateStrategy: rollingUpdate:RollingUpdateStatefulSetStrategy type; StorageClass:
allowVolumeExpansion:b allowedTopologies:[]TopologySelectorTerm apiVersion kind metadata:ObjectMeta mountOptions:[]s
parameters:{}s provisioner reclaimPolicy volumeBindingMode; StorageHealth: healthConditions:[]StorageHealthCondition name="";
StorageHealthCondition: accessMode lastTransitionTime:u message reason status volumeMode; StorageOSPersistentVolumeSource: fsType
readOnly:b secretRef:ObjectReference volumeName volumeNamespace; StorageOSVolumeSource: fsType readOnly:b
secretRef:LocalObjectReference volumeName volumeNamespace; Subject: ! apiGroup kind name namespace; SuccessPolicy:
rules:[]SuccessPolicyRule; SuccessPolicyRule: succeededCount:n succeededIndexes; Sysctl: name value; TCPSocketAction: host port:u;
Taint: effect key timeAdded:u value; TokenRequest: audience expirationSeconds:n; Toleration: effect key operator
tolerationSeconds:n value; TopologyConstraint: key; TopologySelectorLabelRequirement: key values:[]s; TopologySelectorTerm: !
matchLabelExpressions:[]TopologySelectorLabelRequirement; TopologySpreadConstraint: labelSelector:LabelSelector matchLabelKeys:[]s
maxSkew:n minDomains:n nodeAffinityPolicy nodeTaintsPolicy topologyKey="" whenUnsatisfiable=""; TypedLocalObjectReference: !
apiGroup kind name; TypedObjectReference: apiGroup kind name namespace; UncountedTerminatedPods: failed:[=]s succeeded:[=]s;
Volume: awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource azureFile:AzureFileVolumeSource
cephfs:CephFSVolumeSource cinder:CinderVolumeSource configMap:ConfigMapVolumeSource csi:CSIVolumeSource
downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource ephemeral:EphemeralVolumeSource fc:FCVolumeSource
flexVolume:FlexVolumeSource flocker:FlockerVolumeSource gcePersistentDisk:GCEPersistentDiskVolumeSource
gitRepo:GitRepoVolumeSource glusterfs:GlusterfsVolumeSource hostPath:HostPathVolumeSource image:ImageVolumeSource
iscsi:ISCSIVolumeSource name="" nfs:NFSVolumeSource persistentVolumeClaim:PersistentVolumeClaimVolumeSource
photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource projected:ProjectedVolumeSource
quobyte:QuobyteVolumeSource rbd:RBDVolumeSource scaleIO:ScaleIOVolumeSource secret:SecretVolumeSource
storageos:StorageOSVolumeSource vsphereVolume:VsphereVirtualDiskVolumeSource; VolumeAttachment: apiVersion kind
metadata:ObjectMeta spec:VolumeAttachmentSpec status:VolumeAttachmentStatus; VolumeAttachmentSource:
inlineVolumeSpec:PersistentVolumeSpec persistentVolumeName; VolumeAttachmentSpec: attacher nodeName source:VolumeAttachmentSource;
VolumeAttachmentStatus: attachError:VolumeError attached:b attachmentMetadata:{}s detachError:VolumeError; VolumeAttributesClass:
apiVersion driverName kind metadata:ObjectMeta parameters:{}s; VolumeDevice: devicePath="" name; VolumeError: errorCode:n message
time:u; VolumeHealthCondition: message reason="" status=""; VolumeHealthStatus:
healthConditions:[status,reason]VolumeHealthCondition lastTransitionTime:u; VolumeMount: bindMountOptions:[=]s mountPath=""
mountPropagation name readOnly:b recursiveReadOnly subPath subPathExpr; VolumeMountStatus: mountPath="" name readOnly:b
recursiveReadOnly volumeStatus:VolumeStatus; VolumeNodeAffinity: required:NodeSelector; VolumeNodeResources: count:n;
VolumeProjection: clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection downwardAPI:DownwardAPIProjection
podCertificate:PodCertificateProjection secret:SecretProjection serviceAccountToken:ServiceAccountTokenProjection;
VolumeResourceRequirements: limits:{}u requests:{}u; VolumeStatus: image:ImageVolumeStatus; VsphereVirtualDiskVolumeSource: fsType
storagePolicyID storagePolicyName volumePath; WeightedPodAffinityTerm: podAffinityTerm:PodAffinityTerm weight:n;
WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName hostProcess:b runAsUserName; Workload: apiVersion kind
metadata:ObjectMeta spec:WorkloadSpec; WorkloadPodGroupDisruptionMode: all:{}u single:{}u; WorkloadPodGroupGangSchedulingPolicy:
minCount:n; WorkloadPodGroupResourceClaim: name="" resourceClaimName resourceClaimTemplateName;
WorkloadPodGroupSchedulingConstraints: topology:[]TopologyConstraint; WorkloadPodGroupSchedulingPolicy: basic:{}u
gang:WorkloadPodGroupGangSchedulingPolicy; WorkloadReference: templateName workloadName; WorkloadSpec:
compositePodGroupTemplates:[name]CompositePodGroupTemplate controllerRef:v1beta1.TypedLocalObjectReference
podGroupTemplates:[name]PodGroupTemplate; v1.ResourceClaim: apiVersion kind metadata:ObjectMeta spec:ResourceClaimSpec
status:ResourceClaimStatus; v1alpha3.CompositeDisruptionMode: all:{}u single:{}u; v1alpha3.CompositeGangSchedulingPolicy:
minGroupCount:n; v1alpha3.CompositePodGroupSchedulingConstraints: topology:[]TopologyConstraint;
v1alpha3.CompositePodGroupSchedulingPolicy: basic:{}u gang:v1alpha3.CompositeGangSchedulingPolicy;
v1alpha3.CompositePodGroupTemplate: compositePodGroupTemplates:[name]v1alpha3.CompositePodGroupTemplate
disruptionMode:v1alpha3.CompositeDisruptionMode name="" podGroupTemplates:[name]v1alpha3.PodGroupTemplate preemptionPolicy
priority:n priorityClassName schedulingConstraints:v1alpha3.CompositePodGroupSchedulingConstraints
schedulingPolicy:v1alpha3.CompositePodGroupSchedulingPolicy; v1alpha3.DisruptionMode: all:{}u single:{}u;
v1alpha3.GangSchedulingPolicy: minCount:n; v1alpha3.PodGroup: apiVersion kind metadata:ObjectMeta spec:v1alpha3.PodGroupSpec
status:v1alpha3.PodGroupStatus; v1alpha3.PodGroupResourceClaim: name="" resourceClaimName resourceClaimTemplateName;
v1alpha3.PodGroupResourceClaimStatus: name="" resourceClaimName; v1alpha3.PodGroupSchedulingConstraints:
topology:[]TopologyConstraint; v1alpha3.PodGroupSchedulingPolicy: basic:{}u gang:v1alpha3.GangSchedulingPolicy;
v1alpha3.PodGroupSpec: disruptionMode:v1alpha3.DisruptionMode parentCompositePodGroupName preemptionPolicy priority:n
priorityClassName resourceClaims:[name]v1alpha3.PodGroupResourceClaim schedulingConstraints:v1alpha3.PodGroupSchedulingConstraints
schedulingPolicy:v1alpha3.PodGroupSchedulingPolicy workloadRef:v1alpha3.WorkloadReference; v1alpha3.PodGroupStatus:
conditions:[type]Condition resourceClaimStatuses:[name]v1alpha3.PodGroupResourceClaimStatus; v1alpha3.PodGroupTemplate:
disruptionMode:v1alpha3.DisruptionMode name="" preemptionPolicy priority:n priorityClassName
resourceClaims:[name]v1alpha3.PodGroupResourceClaim schedulingConstraints:v1alpha3.PodGroupSchedulingConstraints
schedulingPolicy:v1alpha3.PodGroupSchedulingPolicy; v1alpha3.TypedLocalObjectReference: apiGroup kind name; v1alpha3.Workload:
apiVersion kind metadata:ObjectMeta spec:v1alpha3.WorkloadSpec; v1alpha3.WorkloadReference: templateName workloadName;
v1alpha3.WorkloadSpec: compositePodGroupTemplates:[name]v1alpha3.CompositePodGroupTemplate
controllerRef:v1alpha3.TypedLocalObjectReference podGroupTemplates:[name]v1alpha3.PodGroupTemplate; v1beta1.PriorityClass:
apiVersion description globalDefault:b kind metadata:ObjectMeta preemptionPolicy value:n; v1beta1.TopologyConstraint: key;
v1beta1.TypedLocalObjectReference: apiGroup kind name;
"""
