"""The fields of the kinds that offline commands complete, as Kubernetes 1.37.2 has them. Generated; do not edit.

Printed by ``apidefaults table`` (tests/controlplane/defaults). One type a line, its fields as ``name:shape``:

* ``x`` as given; ``s i b`` text, number, boolean, absent when empty, 0 or false; ``q`` a quantity; else the name of a type;
* before it ``*`` a pointer, absent when null; ``[]`` a list and ``{}`` a map, absent when empty;
* after it ``!`` written even so, ``?`` a struct absent when empty, ``=`` the default as JSON.
"""

ROOTS = {
    "batch/v1 Job": "Job",
    "batch/v1 CronJob": "CronJob",
    "v1 Pod": "Pod",
    "v1 PodTemplate": "PodTemplate",
    "scheduling.k8s.io/v1beta1 Workload": "v1beta1.Workload",
    "scheduling.k8s.io/v1beta1 PodGroup": "v1beta1.PodGroup",
}

TYPES = """
AWSElasticBlockStoreVolumeSource: volumeID:s! fsType:s partition:i readOnly:b
Affinity: nodeAffinity:*NodeAffinity podAffinity:*PodAffinity podAntiAffinity:*PodAntiAffinity
AppArmorProfile: type:s! localhostProfile:x
AzureDiskVolumeSource: diskName:s! diskURI:s! cachingMode:x="ReadWrite" fsType:x="ext4" readOnly:x=false kind:x="Shared"
AzureFileVolumeSource: secretName:s! shareName:s! readOnly:b
CSIVolumeSource: driver:s! readOnly:x fsType:x volumeAttributes:{}s nodePublishSecretRef:*LocalObjectReference
Capabilities: add:[]s drop:[]s
CephFSVolumeSource: monitors:[]s! path:s user:s secretFile:s secretRef:*LocalObjectReference readOnly:b
CinderVolumeSource: volumeID:s! fsType:s readOnly:b secretRef:*LocalObjectReference
ClusterTrustBundleProjection: name:x signerName:x labelSelector:*LabelSelector optional:x path:s! user:x
ConfigMapEnvSource: name:s optional:x
ConfigMapKeySelector: name:s key:s! optional:x
ConfigMapProjection: name:s items:[]KeyToPath optional:x
ConfigMapVolumeSource: name:s items:[]KeyToPath defaultMode:x=420 optional:x defaultUser:x
Container: name:s! image:s command:[]s args:[]s workingDir:s ports:[]ContainerPort envFrom:[]EnvFromSource env:[]EnvVar
  resources:ResourceRequirements resizePolicy:[]ContainerResizePolicy restartPolicy:x
  restartPolicyRules:[]ContainerRestartRule volumeMounts:[]VolumeMount volumeDevices:[]VolumeDevice livenessProbe:*Probe
  readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath:s="/dev/termination-log"
  terminationMessagePolicy:s="File" imagePullPolicy:s securityContext:*SecurityContext stdin:b stdinOnce:b tty:b
ContainerPort: name:s hostPort:i containerPort:i! protocol:s="TCP" hostIP:s
ContainerResizePolicy: resourceName:s! restartPolicy:s!
ContainerRestartRule: action:s exitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator:s values:[]i
CronJob: kind:s apiVersion:s metadata:ObjectMeta spec:CronJobSpec status:x={}
CronJobSpec: schedule:s! timeZone:x startingDeadlineSeconds:x concurrencyPolicy:s="Allow" suspend:x=false
  jobTemplate:JobTemplateSpec successfulJobsHistoryLimit:x=3 failedJobsHistoryLimit:x=1
DownwardAPIProjection: items:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile: path:s! fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector mode:x user:x
DownwardAPIVolumeSource: items:[]DownwardAPIVolumeFile defaultMode:x=420 defaultUser:x
EmptyDirVolumeSource: medium:s sizeLimit:*q mode:x
EnvFromSource: prefix:s configMapRef:*ConfigMapEnvSource secretRef:*SecretEnvSource
EnvVar: name:s! value:s valueFrom:*EnvVarSource
EnvVarSource: fieldRef:*ObjectFieldSelector resourceFieldRef:*ResourceFieldSelector configMapKeyRef:*ConfigMapKeySelector
  secretKeyRef:*SecretKeySelector fileKeyRef:*FileKeySelector
EphemeralContainer: name:s! image:s command:[]s args:[]s workingDir:s ports:[]ContainerPort envFrom:[]EnvFromSource
  env:[]EnvVar resources:ResourceRequirements resizePolicy:[]ContainerResizePolicy restartPolicy:x
  restartPolicyRules:[]ContainerRestartRule volumeMounts:[]VolumeMount volumeDevices:[]VolumeDevice livenessProbe:*Probe
  readinessProbe:*Probe startupProbe:*Probe lifecycle:*Lifecycle terminationMessagePath:s="/dev/termination-log"
  terminationMessagePolicy:s="File" imagePullPolicy:s securityContext:*SecurityContext stdin:b stdinOnce:b tty:b
  targetContainerName:s
EphemeralVolumeSource: volumeClaimTemplate:*PersistentVolumeClaimTemplate
EvictionResponder: name:s! priority:x!
ExecAction: command:[]s
FCVolumeSource: targetWWNs:[]s lun:x fsType:s readOnly:b wwids:[]s
FileKeySelector: volumeName:s! path:s! key:s! optional:x=false
FlexVolumeSource: driver:s! fsType:s secretRef:*LocalObjectReference readOnly:b options:{}s
FlockerVolumeSource: datasetName:s datasetUUID:s
GCEPersistentDiskVolumeSource: pdName:s! fsType:s partition:i readOnly:b
GRPCAction: port:i! service:x!="" mode:x
GitRepoVolumeSource: repository:s! revision:s directory:s
GlusterfsVolumeSource: endpoints:s! path:s! readOnly:b
HTTPGetAction: path:s="/" port:i! host:s scheme:s="HTTP" httpHeaders:[]HTTPHeader protocol:x
HTTPHeader: name:s! value:s!
HostAlias: ip:s! hostnames:[]s
HostPathVolumeSource: path:s! type:x=""
ISCSIVolumeSource: targetPortal:s! iqn:s! lun:i! iscsiInterface:s="default" fsType:s readOnly:b portals:[]s
  chapAuthDiscovery:b chapAuthSession:b secretRef:*LocalObjectReference initiatorName:x
ImageVolumeSource: reference:s pullPolicy:s
Job: kind:s apiVersion:s metadata:ObjectMeta spec:JobSpec status:x={}
JobSchedulingConfiguration: schedulingPolicy:*v1alpha3.WorkloadPodGroupSchedulingPolicy
  schedulingConstraints:*v1alpha3.WorkloadPodGroupSchedulingConstraints
  disruptionMode:*v1alpha3.WorkloadPodGroupDisruptionMode resourceClaims:[]v1alpha3.WorkloadPodGroupResourceClaim
JobSpec: parallelism:x completions:x activeDeadlineSeconds:x podFailurePolicy:*PodFailurePolicy successPolicy:*SuccessPolicy
  backoffLimit:x backoffLimitPerIndex:x maxFailedIndexes:x selector:*LabelSelector manualSelector:x template:PodTemplateSpec
  ttlSecondsAfterFinished:x completionMode:x suspend:x podReplacementPolicy:x managedBy:x
  scheduling:*JobSchedulingConfiguration
JobTemplateSpec: metadata:ObjectMeta spec:JobSpec
KeyToPath: key:s! path:s! mode:x user:x
LabelSelector: matchLabels:{}s matchExpressions:[]LabelSelectorRequirement
LabelSelectorRequirement: key:s! operator:s! values:[]s
Lifecycle: postStart:*LifecycleHandler preStop:*LifecycleHandler stopSignal:x
LifecycleHandler: exec:*ExecAction httpGet:*HTTPGetAction tcpSocket:*TCPSocketAction sleep:*SleepAction
LocalObjectReference: name:s
NFSVolumeSource: server:s! path:s! readOnly:b
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector: nodeSelectorTerms:[]NodeSelectorTerm!
NodeSelectorRequirement: key:s! operator:s! values:[]s
NodeSelectorTerm: matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement
ObjectFieldSelector: apiVersion:s="v1" fieldPath:s!
ObjectMeta: name:s generateName:s namespace:s selfLink:s uid:s resourceVersion:s generation:i creationTimestamp:x?
  deletionTimestamp:x deletionGracePeriodSeconds:x labels:{}s annotations:{}s ownerReferences:[]OwnerReference finalizers:[]s
  managedFields:x
OwnerReference: apiVersion:s! kind:s! name:s! uid:s! controller:x blockOwnerDeletion:x
PersistentVolumeClaimSpec: accessModes:[]s selector:*LabelSelector resources:VolumeResourceRequirements volumeName:s
  storageClassName:x volumeMode:x="Filesystem" dataSource:*TypedLocalObjectReference dataSourceRef:*TypedObjectReference
  volumeAttributesClassName:x
PersistentVolumeClaimTemplate: metadata:ObjectMeta spec:PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: claimName:s! readOnly:b
PhotonPersistentDiskVolumeSource: pdID:s! fsType:s
Pod: kind:s apiVersion:s metadata:ObjectMeta spec:PodSpec status:x={}
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm: labelSelector:*LabelSelector namespaces:[]s topologyKey:s! namespaceSelector:*LabelSelector
  matchLabelKeys:[]s mismatchLabelKeys:[]s
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodCertificateProjection: signerName:s keyType:s maxExpirationSeconds:x credentialBundlePath:s keyPath:s
  certificateChainPath:s userAnnotations:{}s user:x
PodDNSConfig: nameservers:[]s searches:[]s options:[]PodDNSConfigOption
PodDNSConfigOption: name:s value:x
PodFailurePolicy: rules:[]PodFailurePolicyRule!
PodFailurePolicyOnExitCodesRequirement: containerName:x operator:s! values:[]i!
PodFailurePolicyOnPodConditionsPattern: type:s! status:s!="True"
PodFailurePolicyRule: action:s! onExitCodes:*PodFailurePolicyOnExitCodesRequirement
  onPodConditions:[]PodFailurePolicyOnPodConditionsPattern
PodOS: name:s!
PodReadinessGate: conditionType:s!
PodResourceClaim: name:s! resourceClaimName:x resourceClaimTemplateName:x
PodSchedulingGate: name:s!
PodSchedulingGroup: podGroupName:x
PodSecurityContext: seLinuxOptions:*SELinuxOptions windowsOptions:*WindowsSecurityContextOptions runAsUser:x runAsGroup:x
  runAsNonRoot:x supplementalGroups:[]i supplementalGroupsPolicy:x fsGroup:x sysctls:[]Sysctl fsGroupChangePolicy:x
  seccompProfile:*SeccompProfile appArmorProfile:*AppArmorProfile seLinuxChangePolicy:x
PodSpec: volumes:[]Volume initContainers:[]Container containers:[]Container! ephemeralContainers:[]EphemeralContainer
  restartPolicy:s="Always" terminationGracePeriodSeconds:x=30 activeDeadlineSeconds:x dnsPolicy:s="ClusterFirst"
  nodeSelector:{}s serviceAccountName:s serviceAccount:s automountServiceAccountToken:x nodeName:s hostNetwork:b hostPID:b
  hostIPC:b shareProcessNamespace:x securityContext:*PodSecurityContext={} imagePullSecrets:[]LocalObjectReference hostname:s
  subdomain:s affinity:*Affinity schedulerName:s="default-scheduler" tolerations:[]Toleration hostAliases:[]HostAlias
  priorityClassName:s priority:x dnsConfig:*PodDNSConfig readinessGates:[]PodReadinessGate runtimeClassName:x
  enableServiceLinks:x preemptionPolicy:x overhead:{}q topologySpreadConstraints:[]TopologySpreadConstraint
  setHostnameAsFQDN:x os:*PodOS hostUsers:x schedulingGates:[]PodSchedulingGate resourceClaims:[]PodResourceClaim
  resources:*ResourceRequirements hostnameOverride:x schedulingGroup:*PodSchedulingGroup
  evictionResponders:[]EvictionResponder
PodTemplate: kind:s apiVersion:s metadata:ObjectMeta template:PodTemplateSpec
PodTemplateSpec: metadata:ObjectMeta spec:PodSpec
PortworxVolumeSource: volumeID:s! fsType:s readOnly:b
PreferredSchedulingTerm: weight:i! preference:NodeSelectorTerm
Probe: exec:*ExecAction httpGet:*HTTPGetAction tcpSocket:*TCPSocketAction grpc:*GRPCAction initialDelaySeconds:i
  timeoutSeconds:i=1 periodSeconds:i=10 successThreshold:i=1 failureThreshold:i=3 terminationGracePeriodSeconds:x
ProjectedVolumeSource: sources:[]VolumeProjection! defaultMode:x=420 defaultUser:x
QuobyteVolumeSource: registry:s! volume:s! readOnly:b user:s group:s tenant:s
RBDVolumeSource: monitors:[]s! image:s! fsType:s pool:s="rbd" user:s="admin" keyring:s="/etc/ceph/keyring"
  secretRef:*LocalObjectReference readOnly:b
ResourceClaim: name:s! request:s
ResourceFieldSelector: containerName:s resource:s! divisor:q
ResourceRequirements: limits:{}q requests:{}q claims:[]ResourceClaim
SELinuxOptions: user:s role:s type:s level:s
ScaleIOVolumeSource: gateway:s! system:s! secretRef:*LocalObjectReference! sslEnabled:b protectionDomain:s storagePool:s
  storageMode:s="ThinProvisioned" volumeName:s fsType:s="xfs" readOnly:b
SeccompProfile: type:s! localhostProfile:x
SecretEnvSource: name:s optional:x
SecretKeySelector: name:s key:s! optional:x
SecretProjection: name:s items:[]KeyToPath optional:x
SecretVolumeSource: secretName:s items:[]KeyToPath defaultMode:x=420 optional:x defaultUser:x
SecurityContext: capabilities:*Capabilities privileged:x seLinuxOptions:*SELinuxOptions
  windowsOptions:*WindowsSecurityContextOptions runAsUser:x runAsGroup:x runAsNonRoot:x readOnlyRootFilesystem:x
  allowPrivilegeEscalation:x procMount:x seccompProfile:*SeccompProfile appArmorProfile:*AppArmorProfile
ServiceAccountTokenProjection: audience:s expirationSeconds:x=3600 path:s! user:x
SleepAction: seconds:i!
StorageOSVolumeSource: volumeName:s volumeNamespace:s fsType:s readOnly:b secretRef:*LocalObjectReference
SuccessPolicy: rules:[]SuccessPolicyRule!
SuccessPolicyRule: succeededIndexes:x succeededCount:x
Sysctl: name:s! value:s!
TCPSocketAction: port:i! host:s
Toleration: key:s operator:s value:s effect:s tolerationSeconds:x
TopologySpreadConstraint: maxSkew:i! topologyKey:s! whenUnsatisfiable:s! labelSelector:*LabelSelector minDomains:x
  nodeAffinityPolicy:x nodeTaintsPolicy:x matchLabelKeys:[]s
TypedLocalObjectReference: apiGroup:x! kind:s! name:s!
TypedObjectReference: apiGroup:x! kind:s! name:s! namespace:x
Volume: name:s! hostPath:*HostPathVolumeSource emptyDir:*EmptyDirVolumeSource gcePersistentDisk:*GCEPersistentDiskVolumeSource
  awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource gitRepo:*GitRepoVolumeSource secret:*SecretVolumeSource
  nfs:*NFSVolumeSource iscsi:*ISCSIVolumeSource glusterfs:*GlusterfsVolumeSource
  persistentVolumeClaim:*PersistentVolumeClaimVolumeSource rbd:*RBDVolumeSource flexVolume:*FlexVolumeSource
  cinder:*CinderVolumeSource cephfs:*CephFSVolumeSource flocker:*FlockerVolumeSource downwardAPI:*DownwardAPIVolumeSource
  fc:*FCVolumeSource azureFile:*AzureFileVolumeSource configMap:*ConfigMapVolumeSource
  vsphereVolume:*VsphereVirtualDiskVolumeSource quobyte:*QuobyteVolumeSource azureDisk:*AzureDiskVolumeSource
  photonPersistentDisk:*PhotonPersistentDiskVolumeSource projected:*ProjectedVolumeSource portworxVolume:*PortworxVolumeSource
  scaleIO:*ScaleIOVolumeSource storageos:*StorageOSVolumeSource csi:*CSIVolumeSource ephemeral:*EphemeralVolumeSource
  image:*ImageVolumeSource
VolumeDevice: name:s! devicePath:s!
VolumeMount: name:s! readOnly:b recursiveReadOnly:x mountPath:s! subPath:s mountPropagation:x subPathExpr:s
  bindMountOptions:[]s
VolumeProjection: secret:*SecretProjection downwardAPI:*DownwardAPIProjection configMap:*ConfigMapProjection
  serviceAccountToken:*ServiceAccountTokenProjection clusterTrustBundle:*ClusterTrustBundleProjection
  podCertificate:*PodCertificateProjection
VolumeResourceRequirements: limits:{}q requests:{}q
VsphereVirtualDiskVolumeSource: volumePath:s! fsType:s storagePolicyName:s storagePolicyID:s
WeightedPodAffinityTerm: weight:i! podAffinityTerm:PodAffinityTerm
WindowsSecurityContextOptions: gmsaCredentialSpecName:x gmsaCredentialSpec:x runAsUserName:x hostProcess:x
v1alpha3.TopologyConstraint: key:s!
v1alpha3.WorkloadPodGroupAllDisruptionMode:
v1alpha3.WorkloadPodGroupBasicSchedulingPolicy:
v1alpha3.WorkloadPodGroupDisruptionMode: single:*v1alpha3.WorkloadPodGroupSingleDisruptionMode
  all:*v1alpha3.WorkloadPodGroupAllDisruptionMode
v1alpha3.WorkloadPodGroupGangSchedulingPolicy: minCount:x
v1alpha3.WorkloadPodGroupResourceClaim: name:s! resourceClaimName:x resourceClaimTemplateName:x
v1alpha3.WorkloadPodGroupSchedulingConstraints: topology:[]v1alpha3.TopologyConstraint
v1alpha3.WorkloadPodGroupSchedulingPolicy: basic:*v1alpha3.WorkloadPodGroupBasicSchedulingPolicy
  gang:*v1alpha3.WorkloadPodGroupGangSchedulingPolicy
v1alpha3.WorkloadPodGroupSingleDisruptionMode:
v1beta1.AllCompositeDisruptionMode:
v1beta1.AllDisruptionMode:
v1beta1.BasicSchedulingPolicy:
v1beta1.CompositeBasicSchedulingPolicy:
v1beta1.CompositeDisruptionMode: single:*v1beta1.SingleCompositeDisruptionMode all:*v1beta1.AllCompositeDisruptionMode
v1beta1.CompositeGangSchedulingPolicy: minGroupCount:i!
v1beta1.CompositePodGroupSchedulingConstraints: topology:[]v1beta1.TopologyConstraint
v1beta1.CompositePodGroupSchedulingPolicy: basic:*v1beta1.CompositeBasicSchedulingPolicy
  gang:*v1beta1.CompositeGangSchedulingPolicy
v1beta1.CompositePodGroupTemplate: name:s! schedulingPolicy:v1beta1.CompositePodGroupSchedulingPolicy
  schedulingConstraints:*v1beta1.CompositePodGroupSchedulingConstraints disruptionMode:*v1beta1.CompositeDisruptionMode
  priorityClassName:s priority:x preemptionPolicy:x podGroupTemplates:[]v1beta1.PodGroupTemplate
  compositePodGroupTemplates:[]v1beta1.CompositePodGroupTemplate
v1beta1.DisruptionMode: single:*v1beta1.SingleDisruptionMode all:*v1beta1.AllDisruptionMode
v1beta1.GangSchedulingPolicy: minCount:i!
v1beta1.PodGroup: kind:s apiVersion:s metadata:ObjectMeta spec:v1beta1.PodGroupSpec status:x={}
v1beta1.PodGroupResourceClaim: name:s! resourceClaimName:x resourceClaimTemplateName:x
v1beta1.PodGroupSchedulingConstraints: topology:[]v1beta1.TopologyConstraint
v1beta1.PodGroupSchedulingPolicy: basic:*v1beta1.BasicSchedulingPolicy gang:*v1beta1.GangSchedulingPolicy
v1beta1.PodGroupSpec: parentCompositePodGroupName:x workloadRef:*v1beta1.WorkloadReference
  schedulingPolicy:v1beta1.PodGroupSchedulingPolicy schedulingConstraints:*v1beta1.PodGroupSchedulingConstraints
  resourceClaims:[]v1beta1.PodGroupResourceClaim disruptionMode:*v1beta1.DisruptionMode={"single":{}} priorityClassName:s
  priority:x preemptionPolicy:x
v1beta1.PodGroupTemplate: name:s! schedulingPolicy:v1beta1.PodGroupSchedulingPolicy
  schedulingConstraints:*v1beta1.PodGroupSchedulingConstraints! resourceClaims:[]v1beta1.PodGroupResourceClaim
  disruptionMode:*v1beta1.DisruptionMode priorityClassName:s priority:x preemptionPolicy:x
v1beta1.SingleCompositeDisruptionMode:
v1beta1.SingleDisruptionMode:
v1beta1.TopologyConstraint: key:s!
v1beta1.TypedLocalObjectReference: apiGroup:s kind:s! name:s!
v1beta1.Workload: kind:s apiVersion:s metadata:ObjectMeta spec:v1beta1.WorkloadSpec
v1beta1.WorkloadReference: workloadName:s! templateName:s!
v1beta1.WorkloadSpec: controllerRef:*v1beta1.TypedLocalObjectReference podGroupTemplates:[]v1beta1.PodGroupTemplate!
  compositePodGroupTemplates:[]v1beta1.CompositePodGroupTemplate
"""
