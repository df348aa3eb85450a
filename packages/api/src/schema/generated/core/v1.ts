// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, IntOrString, MicroTime, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../../objects/object.ts";
import type { Condition, LabelSelector, ListMeta, ObjectMeta, OwnerReference } from "../meta/v1.ts";

/** Deprecated: a volume of AWS EBS. */
export interface AWSElasticBlockStoreVolumeSource {
  /** Id of the volume. */
  volumeID: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Number of the partition. */
  partition?: number;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

/** On which nodes and near which pods a pod may run. */
export interface Affinity {
  /** Rules on the labels of nodes. */
  nodeAffinity?: NodeAffinity;
  /** Pods near which the pod is to run. */
  podAffinity?: PodAffinity;
  /** Pods away from which the pod is to run. */
  podAntiAffinity?: PodAntiAffinity;
}

/** AppArmor profile of the processes. */
export interface AppArmorProfile {
  /** RuntimeDefault, Unconfined or Localhost. */
  type: string;
  /** Name of a profile loaded on the node. Only for Localhost. */
  localhostProfile?: string;
}

/** A volume attached to a node. */
export interface AttachedVolume {
  /** Name of the volume. */
  name: string;
  /** Device on the node. */
  devicePath: string;
}

export interface AvoidPods {
  preferAvoidPods?: PreferAvoidPodsEntry[];
}

/** Deprecated: an Azure data disk. */
export interface AzureDiskVolumeSource {
  /** Name of the disk. */
  diskName: string;
  /** URI of the disk. */
  diskURI: string;
  /** None, ReadOnly or ReadWrite. */
  cachingMode?: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Shared, Dedicated or Managed. */
  kind?: string;
}

export interface AzureFilePersistentVolumeSource {
  secretName: string;
  shareName: string;
  readOnly?: boolean;
  secretNamespace?: string;
}

/** Deprecated: a share of Azure Files. */
export interface AzureFileVolumeSource {
  /** Secret with the account's name and key. */
  secretName: string;
  /** Name of the share. */
  shareName: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface Binding {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  target: ObjectReference;
}

export interface CSIPersistentVolumeSource {
  driver: string;
  volumeHandle: string;
  readOnly?: boolean;
  fsType?: string;
  volumeAttributes?: Record<string, string>;
  controllerPublishSecretRef?: SecretReference;
  nodeStageSecretRef?: SecretReference;
  nodePublishSecretRef?: SecretReference;
  controllerExpandSecretRef?: SecretReference;
  nodeExpandSecretRef?: SecretReference;
}

/** A volume that a CSI driver makes for a pod. */
export interface CSIVolumeSource {
  /** Name of the CSI driver. */
  driver: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Parameters for the driver. */
  volumeAttributes?: Record<string, string>;
  /** Secret for the driver. */
  nodePublishSecretRef?: LocalObjectReference;
}

/** Capabilities of Linux, without the prefix CAP_. */
export interface Capabilities {
  /** Capabilities to add. */
  add?: string[];
  /** Capabilities to take away; ALL takes all. */
  drop?: string[];
}

export interface CephFSPersistentVolumeSource {
  monitors: string[];
  path?: string;
  user?: string;
  secretFile?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

/** Deprecated: a CephFS share. */
export interface CephFSVolumeSource {
  /** Addresses of the monitors. */
  monitors: string[];
  /** Path in the share. Default /. */
  path?: string;
  /** Name of the user. Default admin. */
  user?: string;
  /** File with the user's key. */
  secretFile?: string;
  /** Secret with the user's key. */
  secretRef?: LocalObjectReference;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface CinderPersistentVolumeSource {
  volumeID: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: SecretReference;
}

/** Deprecated: a volume of OpenStack Cinder. */
export interface CinderVolumeSource {
  /** Id of the volume. */
  volumeID: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Secret with the credentials. */
  secretRef?: LocalObjectReference;
}

/** Settings of session affinity by client address. */
export interface ClientIPConfig {
  /** Seconds that a client stays with its pod; 1 to 86400. Default 10800. */
  timeoutSeconds?: number;
}

/** Certificates of ClusterTrustBundles in one file. */
export interface ClusterTrustBundleProjection {
  /** One bundle by name. Excludes signerName. */
  name?: string;
  /** All bundles of this signer that labelSelector selects. */
  signerName?: string;
  /** Selects bundles of the signer. Unset: none; empty: all. */
  labelSelector?: LabelSelector;
  /** True: nothing is shown if there is no such bundle. */
  optional?: boolean;
  /** Path of the file in the volume. */
  path: string;
  /** User id that owns the file. */
  user?: Int64;
}

export interface ComponentCondition {
  type: string;
  /** Last observed status. The system writes it. */
  status?: string;
  message?: string;
  error?: string;
}

export interface ComponentStatus {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  conditions?: ComponentCondition[];
}

export interface ComponentStatusList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ComponentStatus[];
}

/** Configuration that pods read as variables or files. */
export interface ConfigMap {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** True: the data cannot change any more. */
  immutable?: boolean;
  /** Texts by key. */
  data?: Record<string, string>;
  /** Bytes by key, in base64. Keys must not occur in data too. */
  binaryData?: Record<string, string>;
}

/** A ConfigMap whose keys become environment variables. */
export interface ConfigMapEnvSource extends LocalObjectReference {
  /** True: the container starts without it too. */
  optional?: boolean;
}

/** A key of a ConfigMap. */
export interface ConfigMapKeySelector extends LocalObjectReference {
  /** The key. */
  key: string;
  /** True: the container starts without the ConfigMap or the key too. */
  optional?: boolean;
}

export interface ConfigMapList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ConfigMap[];
}

/** Not used any more. */
export interface ConfigMapNodeConfigSource {
  /** Namespace of the ConfigMap. */
  namespace: string;
  /** Name of the ConfigMap. */
  name: string;
  /** UID of the ConfigMap. */
  uid?: string;
  /** Version of the ConfigMap. */
  resourceVersion?: string;
  /** Key with the configuration. */
  kubeletConfigKey: string;
}

/** The keys of a ConfigMap as files. */
export interface ConfigMapProjection extends LocalObjectReference {
  /** The keys to show, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** True: nothing is shown if the ConfigMap or a key is missing. */
  optional?: boolean;
}

/** The keys of a ConfigMap as files. */
export interface ConfigMapVolumeSource extends LocalObjectReference {
  /** The keys to show, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** Permission bits of the files. Default 0644. */
  defaultMode?: number;
  /** True: the volume is empty if the ConfigMap or a key is missing. */
  optional?: boolean;
  /** User id that owns the files. */
  defaultUser?: Int64;
}

/** One container of a pod. */
export interface Container {
  /** Name of the container, unique in the pod. A DNS label; cannot change. */
  name: string;
  /** Image to run, such as registry.example/app:1.2. */
  image?: string;
  /**
   * Program and first arguments, instead of the image's ENTRYPOINT. $(NAME) stands for an environment
   * variable.
   */
  command?: string[];
  /** Arguments, instead of the image's CMD. $(NAME) stands for an environment variable. */
  args?: string[];
  /** Working directory. Default: that of the image. */
  workingDir?: string;
  /** Ports on which the container listens. For information; a port that is not listed is reachable too. */
  ports?: ContainerPort[];
  /** ConfigMaps and Secrets of which each key becomes an environment variable. */
  envFrom?: EnvFromSource[];
  /** Environment variables. They win over envFrom. */
  env?: EnvVar[];
  /** CPU, memory, extended resources and claims of the container. */
  resources?: ResourceRequirements;
  /** Whether the container restarts when a resource is resized in place. */
  resizePolicy?: ContainerResizePolicy[];
  /**
   * Always on an init container makes it a sidecar; otherwise a policy that replaces the pod's for this
   * container.
   */
  restartPolicy?: string;
  /** Rules on exit codes that come before restartPolicy; the first that matches decides. */
  restartPolicyRules?: ContainerRestartRule[];
  /** Volumes of the pod to mount into the container. */
  volumeMounts?: VolumeMount[];
  /** Volumes of the pod that the container uses as block devices. */
  volumeDevices?: VolumeDevice[];
  /** Check whose failure restarts the container. */
  livenessProbe?: Probe;
  /** Check whose failure takes the pod out of its Services. */
  readinessProbe?: Probe;
  /** Check that must succeed once before the other probes begin. */
  startupProbe?: Probe;
  /** Actions after the start and before the end of the container. */
  lifecycle?: Lifecycle;
  /** File whose content becomes the message of the ended container. Default /dev/termination-log. */
  terminationMessagePath?: string;
  /**
   * File (default), or FallbackToLogsOnError: the end of the log if the file is empty and the container
   * failed.
   */
  terminationMessagePolicy?: string;
  /** Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent. */
  imagePullPolicy?: string;
  /** Security settings of the container; they win over the pod's. */
  securityContext?: SecurityContext;
  /** True: the container has a standard input that attach can write to. */
  stdin?: boolean;
  /** True: standard input is closed after the first client that attached has left. */
  stdinOnce?: boolean;
  /** True: the container has a terminal. Needs stdin. */
  tty?: boolean;
}

/** The request that serves an extended resource of a container. */
export interface ContainerExtendedResourceRequest {
  /** Name of the container. */
  containerName: string;
  /** Name of the extended resource. */
  resourceName: string;
  /** Name of the request in the claim. */
  requestName: string;
}

/** An image on a node. */
export interface ContainerImage {
  /** Names of the image. */
  names?: string[];
  /** Its size in bytes. */
  sizeBytes?: Int64;
}

/** A port on which a container listens. */
export interface ContainerPort {
  /** Name by which Services and probes refer to the port, unique in the pod. */
  name?: string;
  /** Port of the node that leads to the container. Most pods need none. */
  hostPort?: number;
  /** The port, 1 to 65535. */
  containerPort: number;
  /** TCP (default), UDP or SCTP. */
  protocol?: string;
  /** Address of the node to which hostPort is bound. */
  hostIP?: string;
}

/** Effect of a change of a resource on the container. */
export interface ContainerResizePolicy {
  /** cpu or memory. */
  resourceName: string;
  /** NotRequired (default) or RestartContainer. */
  restartPolicy: string;
}

/** Actions for exits of the container that match. */
export interface ContainerRestartRule {
  /** Restart: restarts this container; RestartAllContainers: restarts the whole pod in place. */
  action?: string;
  /** The exit codes to which the rule applies. */
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

/** Exit codes of a container. */
export interface ContainerRestartRuleOnExitCodes {
  /** In or NotIn. */
  operator?: string;
  /** The exit codes, 0 to 255; at most 255. */
  values?: number[];
}

/** State of a container; one field is set, waiting if none. */
export interface ContainerState {
  /** It does not run yet, or not again. */
  waiting?: ContainerStateWaiting;
  /** It runs. */
  running?: ContainerStateRunning;
  /** It has ended. */
  terminated?: ContainerStateTerminated;
}

/** A container that runs. */
export interface ContainerStateRunning {
  /** When it started. */
  startedAt?: Time;
}

/** A container that has ended. */
export interface ContainerStateTerminated {
  /** Exit code of the last process. */
  exitCode: number;
  /** Signal that ended it, if any. */
  signal?: number;
  /** Why, in one word, such as Completed, Error or OOMKilled. */
  reason?: string;
  /** Contents of the termination message file of the container, or the reason of its exit. */
  message?: string;
  /** When it started. */
  startedAt?: Time;
  /** When it ended. */
  finishedAt?: Time;
  /** Id of the container, TYPE://ID. */
  containerID?: string;
}

/** A container that does not run. */
export interface ContainerStateWaiting {
  /** Why, in one word, such as ContainerCreating or CrashLoopBackOff. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** State of one container. */
export interface ContainerStatus {
  /** Name of the container. */
  name: string;
  /** The present state. */
  state?: ContainerState;
  /** How the last run of the container ended. Empty if it was never restarted. */
  lastState?: ContainerState;
  /** True if the container passes its readiness probe. */
  ready: boolean;
  /** How often the container was restarted. */
  restartCount: number;
  /** Image that runs. */
  image: string;
  /** Digest or id of the image that runs. */
  imageID: string;
  /** Id of the container, TYPE://ID. */
  containerID?: string;
  /** True once the postStart hook is done and the startup probe has passed. */
  started?: boolean;
  /** Resources that the node has set aside for the container. */
  allocatedResources?: Record<string, QuantityText>;
  /** Resources that are in force for the container. */
  resources?: ResourceRequirements;
  /** The mounts of the container. */
  volumeMounts?: VolumeMountStatus[];
  /** User and groups of the first process. */
  user?: ContainerUser;
  /** Health of the devices of the container. */
  allocatedResourcesStatus?: ResourceStatus[];
  /** Signal that stops the container. */
  stopSignal?: string;
}

/** User of a container. */
export interface ContainerUser {
  /** User and groups on Linux. */
  linux?: LinuxContainerUser;
}

/** A port. */
export interface DaemonEndpoint {
  /** The port number. */
  Port: number;
}

/** Fields of the pod as files. */
export interface DownwardAPIProjection {
  /** The files. */
  items?: DownwardAPIVolumeFile[];
}

/** A file that shows a field of the pod. */
export interface DownwardAPIVolumeFile {
  /** Path of the file in the volume, relative and without "..". */
  path: string;
  /** A field of the pod: name, namespace, uid, labels or annotations of metadata. */
  fieldRef?: ObjectFieldSelector;
  /** A limit or request of a container. */
  resourceFieldRef?: ResourceFieldSelector;
  /** Permission bits of the file. Default: defaultMode. */
  mode?: number;
  /** User id that owns the file. */
  user?: Int64;
}

/** Fields of the pod as files. */
export interface DownwardAPIVolumeSource {
  /** The files. */
  items?: DownwardAPIVolumeFile[];
  /** Permission bits of the files. Default 0644. */
  defaultMode?: number;
  /** User id that owns the files. */
  defaultUser?: Int64;
}

/** An empty folder that lives as long as the pod. */
export interface EmptyDirVolumeSource {
  /** Empty (default): a disk of the node; Memory; HugePages. */
  medium?: string;
  /** The most that it may hold; beyond it the pod is evicted. */
  sizeLimit?: QuantityText;
  /** Permission bits of the folder. */
  mode?: number;
}

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface EndpointPort {
  name?: string;
  port: number;
  protocol?: string;
  appProtocol?: string;
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

export interface Endpoints {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  subsets?: EndpointSubset[];
}

export interface EndpointsList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Endpoints[];
}

/** A ConfigMap or Secret of which each key becomes an environment variable. */
export interface EnvFromSource {
  /** Text put in front of each key. */
  prefix?: string;
  /** The ConfigMap. */
  configMapRef?: ConfigMapEnvSource;
  /** The Secret. */
  secretRef?: SecretEnvSource;
}

/** An environment variable. */
export interface EnvVar {
  /** Name of the variable. Any printable ASCII characters except =. */
  name: string;
  /** The value. $(NAME) stands for a variable defined before; $$(NAME) is the text $(NAME). */
  value?: string;
  /** Where the value comes from. Excludes value. */
  valueFrom?: EnvVarSource;
}

/** Where the value of a variable comes from; exactly one field is set. */
export interface EnvVarSource {
  /**
   * A field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'],
   * metadata.annotations['KEY'], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs,
   * status.podIP, status.podIPs.
   */
  fieldRef?: ObjectFieldSelector;
  /** A limit or request of a container. */
  resourceFieldRef?: ResourceFieldSelector;
  /** A key of a ConfigMap. */
  configMapKeyRef?: ConfigMapKeySelector;
  /** A key of a Secret. */
  secretKeyRef?: SecretKeySelector;
  /** A key of a file in a volume of the pod. */
  fileKeyRef?: FileKeySelector;
}

/**
 * A container added to a running pod for debugging. It is never restarted and has no guaranteed resources.
 */
export interface EphemeralContainer extends EphemeralContainerCommon {
  /** Container whose processes it sees. Default: only its own. */
  targetContainerName?: string;
}

/** Fields that an ephemeral container shares with other containers. */
export interface EphemeralContainerCommon {
  /** Name of the container, unique in the pod. A DNS label; cannot change. */
  name: string;
  /** Image to run, such as registry.example/app:1.2. */
  image?: string;
  /**
   * Program and first arguments, instead of the image's ENTRYPOINT. $(NAME) stands for an environment
   * variable.
   */
  command?: string[];
  /** Arguments, instead of the image's CMD. $(NAME) stands for an environment variable. */
  args?: string[];
  /** Working directory. Default: that of the image. */
  workingDir?: string;
  /** Ports on which the container listens. For information; a port that is not listed is reachable too. */
  ports?: ContainerPort[];
  /** ConfigMaps and Secrets of which each key becomes an environment variable. */
  envFrom?: EnvFromSource[];
  /** Environment variables. They win over envFrom. */
  env?: EnvVar[];
  /** CPU, memory, extended resources and claims of the container. */
  resources?: ResourceRequirements;
  /** Whether the container restarts when a resource is resized in place. */
  resizePolicy?: ContainerResizePolicy[];
  /**
   * Always on an init container makes it a sidecar; otherwise a policy that replaces the pod's for this
   * container.
   */
  restartPolicy?: string;
  /** Rules on exit codes that come before restartPolicy; the first that matches decides. */
  restartPolicyRules?: ContainerRestartRule[];
  /** Volumes of the pod to mount into the container. */
  volumeMounts?: VolumeMount[];
  /** Volumes of the pod that the container uses as block devices. */
  volumeDevices?: VolumeDevice[];
  /** Check whose failure restarts the container. */
  livenessProbe?: Probe;
  /** Check whose failure takes the pod out of its Services. */
  readinessProbe?: Probe;
  /** Check that must succeed once before the other probes begin. */
  startupProbe?: Probe;
  /** Actions after the start and before the end of the container. */
  lifecycle?: Lifecycle;
  /** File whose content becomes the message of the ended container. Default /dev/termination-log. */
  terminationMessagePath?: string;
  /**
   * File (default), or FallbackToLogsOnError: the end of the log if the file is empty and the container
   * failed.
   */
  terminationMessagePolicy?: string;
  /** Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent. */
  imagePullPolicy?: string;
  /** Security settings of the container; they win over the pod's. */
  securityContext?: SecurityContext;
  /** True: the container has a standard input that attach can write to. */
  stdin?: boolean;
  /** True: standard input is closed after the first client that attached has left. */
  stdinOnce?: boolean;
  /** True: the container has a terminal. Needs stdin. */
  tty?: boolean;
}

/** A PersistentVolumeClaim that is made for this pod. */
export interface EphemeralVolumeSource {
  /** The claim to make. Its name is POD-VOLUME. */
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

export interface Event {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  source?: EventSource;
  firstTimestamp?: Time;
  lastTimestamp?: Time;
  count?: number;
  type?: string;
  eventTime?: MicroTime;
  series?: EventSeries;
  action?: string;
  related?: ObjectReference;
  reportingComponent?: string;
  reportingInstance?: string;
}

export interface EventList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Event[];
}

export interface EventSeries {
  count?: number;
  lastObservedTime?: MicroTime;
}

export interface EventSource {
  component?: string;
  host?: string;
}

/** A program that is asked when the pod is to be evicted. */
export interface EvictionResponder {
  /** Name of the responder. */
  name: string;
  /** Order in which responders are asked; higher first. */
  priority?: number;
}

/** A command run in the container, without a shell. */
export interface ExecAction {
  /** The command and its arguments. */
  command?: string[];
}

/** A Fibre Channel disk. */
export interface FCVolumeSource {
  /** World wide names of the targets. */
  targetWWNs?: string[];
  /** Number of the logical unit. */
  lun?: number;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** World wide ids of the volume, instead of targetWWNs and lun. */
  wwids?: string[];
}

/** A key of a file of KEY=VALUE lines in a volume. */
export interface FileKeySelector {
  /** Name of the volume. */
  volumeName: string;
  /** Path of the file in the volume, relative and without "..". */
  path: string;
  /** The key. */
  key: string;
  /** True: the container starts without the file or the key too. */
  optional?: boolean;
}

export interface FlexPersistentVolumeSource {
  driver: string;
  fsType?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
  options?: Record<string, string>;
}

/** Deprecated: a volume of an exec-based plugin. */
export interface FlexVolumeSource {
  /** Name of the plugin. */
  driver: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Secret for the plugin. */
  secretRef?: LocalObjectReference;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Options of the plugin. */
  options?: Record<string, string>;
}

/** Deprecated: a Flocker dataset. */
export interface FlockerVolumeSource {
  /** Name of the dataset. */
  datasetName?: string;
  /** Id of the dataset. */
  datasetUUID?: string;
}

/** Deprecated: a disk of Google Compute Engine. */
export interface GCEPersistentDiskVolumeSource {
  /** Name of the disk. */
  pdName: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Number of the partition. */
  partition?: number;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

/** Calls the gRPC health service (grpc.health.v1.Health/Check). */
export interface GRPCAction {
  /** Number of the port. */
  port: number;
  /** Name of the service to ask for. Default: empty. */
  service?: string;
  /** How the connection is secured. */
  mode?: string;
}

/** Deprecated: a git repository. */
export interface GitRepoVolumeSource {
  /** URL of the repository. */
  repository: string;
  /** Commit to check out. */
  revision?: string;
  /** Folder to clone into. */
  directory?: string;
}

export interface GlusterfsPersistentVolumeSource {
  endpoints: string;
  path: string;
  readOnly?: boolean;
  endpointsNamespace?: string;
}

/** Deprecated: a Glusterfs volume. */
export interface GlusterfsVolumeSource {
  /** Name of the Endpoints of the servers. */
  endpoints: string;
  /** Name of the volume. */
  path: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

/** An HTTP GET. */
export interface HTTPGetAction {
  /** Path of the request. Default /. */
  path?: string;
  /** Number or name of the port. */
  port: IntOrString;
  /** Host to connect to. Default: the address of the pod. */
  host?: string;
  /** HTTP (default) or HTTPS; certificates are not verified. */
  scheme?: string;
  /** Headers of the request. */
  httpHeaders?: HTTPHeader[];
  /** Version of HTTP that the request uses. */
  protocol?: string;
}

/** A header of a request. */
export interface HTTPHeader {
  /** Name of the header. */
  name: string;
  /** Its value. */
  value: string;
}

/** A line of /etc/hosts. */
export interface HostAlias {
  /** The address. */
  ip: string;
  /** Names for the address. */
  hostnames?: string[];
}

/** An address of a node. */
export interface HostIP {
  /** The address. */
  ip: string;
}

/** A file or folder of the node. */
export interface HostPathVolumeSource {
  /** The path on the node. */
  path: string;
  /**
   * Kind of the file that must exist: empty (no check), DirectoryOrCreate, Directory, FileOrCreate, File,
   * Socket, CharDevice or BlockDevice.
   */
  type?: string;
}

export interface ISCSIPersistentVolumeSource {
  targetPortal: string;
  iqn: string;
  lun: number;
  iscsiInterface?: string;
  fsType?: string;
  readOnly?: boolean;
  portals?: string[];
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: SecretReference;
  initiatorName?: string;
}

/** A disk of an iSCSI target. */
export interface ISCSIVolumeSource {
  /** Address and port of the target. */
  targetPortal: string;
  /** Name of the target. */
  iqn: string;
  /** Number of the logical unit. */
  lun: number;
  /** Transport. Default: default (tcp). */
  iscsiInterface?: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Further addresses of the target. */
  portals?: string[];
  /** True: discovery uses CHAP. */
  chapAuthDiscovery?: boolean;
  /** True: the session uses CHAP. */
  chapAuthSession?: boolean;
  /** Secret with the CHAP credentials. */
  secretRef?: LocalObjectReference;
  /** Name of the initiator. */
  initiatorName?: string;
}

/** The content of an image. */
export interface ImageVolumeSource {
  /** The image, such as registry.example/data:1. */
  reference?: string;
  /** Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent. */
  pullPolicy?: string;
}

/** Status of an image volume. */
export interface ImageVolumeStatus {
  /** Digest of the image. */
  imageRef?: string;
}

/** A key and the file that shows it. */
export interface KeyToPath {
  /** The key. */
  key: string;
  /** Path of the file in the volume, relative and without "..". */
  path: string;
  /** Permission bits of the file. Default: defaultMode. */
  mode?: number;
  /** User id that owns the file. */
  user?: Int64;
}

/** Actions after the start and before the end of a container. */
export interface Lifecycle {
  /** Runs right after the start; if it fails, the container is restarted. */
  postStart?: LifecycleHandler;
  /** Runs before SIGTERM, within the grace period. */
  preStop?: LifecycleHandler;
  /** Signal instead of SIGTERM. Needs spec.os.name. */
  stopSignal?: string;
}

/** An action; exactly one field is set. */
export interface LifecycleHandler {
  /** Runs a command in the container. */
  exec?: ExecAction;
  /** Makes an HTTP GET. */
  httpGet?: HTTPGetAction;
  /** Kept for compatibility; it is not supported. */
  tcpSocket?: TCPSocketAction;
  /** Waits. */
  sleep?: SleepAction;
}

export interface LimitRange {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: LimitRangeSpec;
}

export interface LimitRangeItem {
  type: string;
  max?: Record<string, QuantityText>;
  min?: Record<string, QuantityText>;
  default?: Record<string, QuantityText>;
  defaultRequest?: Record<string, QuantityText>;
  maxLimitRequestRatio?: Record<string, QuantityText>;
}

export interface LimitRangeList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: LimitRange[];
}

export interface LimitRangeSpec {
  limits: LimitRangeItem[];
}

/** User and groups of the first process. */
export interface LinuxContainerUser {
  /** User id. */
  uid: Int64;
  /** Group id. */
  gid: Int64;
  /** Additional group ids. */
  supplementalGroups?: Int64[];
}

/** Where traffic enters. */
export interface LoadBalancerIngress {
  /** Address of the load balancer. */
  ip?: string;
  /** Name of the load balancer. */
  hostname?: string;
  /** VIP or Proxy: how nodes treat traffic to the address. */
  ipMode?: string;
  /** State of each port. */
  ports?: PortStatus[];
}

/** State of a load balancer. */
export interface LoadBalancerStatus {
  /** Where traffic enters. */
  ingress?: LoadBalancerIngress[];
}

/** An object in the same namespace. */
export interface LocalObjectReference {
  /** Name of the object. */
  name?: string;
}

export interface LocalVolumeSource {
  path: string;
  fsType?: string;
}

/** How far a change of the VolumeAttributesClass is. */
export interface ModifyVolumeStatus {
  /** The class that is wanted. */
  targetVolumeAttributesClassName?: string;
  /** Pending, InProgress or Infeasible. */
  status?: string;
}

/** A share of an NFS server. */
export interface NFSVolumeSource {
  /** Name or address of the server. */
  server: string;
  /** Path that the server exports. */
  path: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

/** A scope for names: objects in different namespaces can have the same name. */
export interface Namespace {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Finalizers: names of those that must finish before the namespace is removed. */
  spec: NamespaceSpec;
  /** Whether it is in use or being deleted. */
  status?: NamespaceStatus;
}

/** An observation of a namespace. */
export interface NamespaceCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface NamespaceList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Namespace[];
}

/** Finalizers: names of those that must finish before a namespace is removed. */
export interface NamespaceSpec {
  /** Names that must be taken away before the namespace is removed. */
  finalizers?: string[];
}

/** State of a namespace. */
export interface NamespaceStatus {
  /** Active or Terminating. */
  phase?: string;
  /** Reasons why deletion has not finished. */
  conditions?: NamespaceCondition[];
}

/** A machine that runs pods. */
export interface Node {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state of the node. */
  spec: NodeSpec;
  /** Status as last reported by the kubelet. */
  status?: NodeStatus;
}

/** An address of a node. */
export interface NodeAddress {
  /** Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS. */
  type: string;
  /** The address. */
  address: string;
}

/** Rules on the labels of nodes, read when the pod is scheduled. */
export interface NodeAffinity {
  /** The node must match. */
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  /** Nodes with the highest sum of weights are preferred. */
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
}

/** An amount of a node resource. */
export interface NodeAllocatableMappedResources {
  /** Name of the resource, such as memory. */
  name: string;
  /** The amount. */
  quantity?: QuantityText;
}

/** Amounts of a node resource that a device takes beside its own. */
export interface NodeAllocatableOverheadResources {
  /** Name of the resource, such as memory. */
  name: string;
  /** Amount for each pod. */
  perPod?: QuantityText;
  /** Amount for each container. */
  perContainer?: QuantityText;
}

/** Node resources that a pod uses through one claim. */
export interface NodeAllocatableResourceClaimStatus {
  /** Name of the ResourceClaim. */
  resourceClaimName: string;
  /** Containers that use the claim. */
  containers?: string[];
  /** Node resources that the devices provide or take, by amount. */
  mapping?: NodeAllocatableMappedResources[];
  /** Node resources that the devices take beside that. */
  overhead?: NodeAllocatableOverheadResources[];
  /** Amounts by resource name. */
  resources: Record<string, QuantityText>;
}

/** An observation of a node. */
export interface NodeCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When it was last reported. */
  lastHeartbeatTime?: Time;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** Not used any more. */
export interface NodeConfigSource {
  /** Not used any more. */
  configMap?: ConfigMapNodeConfigSource;
}

/** Not used any more. */
export interface NodeConfigStatus {
  /** Not used any more. */
  assigned?: NodeConfigSource;
  /** Not used any more. */
  active?: NodeConfigSource;
  /** Not used any more. */
  lastKnownGood?: NodeConfigSource;
  /** Not used any more. */
  error?: string;
}

/** Where the kubelet listens. */
export interface NodeDaemonEndpoints {
  /** Port of the kubelet. */
  kubeletEndpoint?: DaemonEndpoint;
}

/** Features of the container runtime of a node. */
export interface NodeFeatures {
  /** True: supplementalGroupsPolicy is supported. */
  supplementalGroupsPolicy?: boolean;
}

export interface NodeList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Node[];
}

/** Pods that pods of a node may preempt. */
export interface NodePodPreemptionPolicy {
  /** Resizes for which no pod of lower priority is evicted. */
  disableResizePreemption?: string[];
}

export interface NodeProxyOptions {
  path?: string;
}

/** A handler of the container runtime. */
export interface NodeRuntimeHandler {
  /** Name of the handler. Empty: the default. */
  name?: string;
  /** Its features. */
  features?: NodeRuntimeHandlerFeatures;
}

/** Features of a runtime handler. */
export interface NodeRuntimeHandlerFeatures {
  /** True: mounts can be read-only all the way down. */
  recursiveReadOnlyMounts?: boolean;
  /** True: pods can have user name spaces. */
  userNamespaces?: boolean;
}

/** Selects nodes: those that match any of the terms. */
export interface NodeSelector {
  /** The terms; one of them must match. */
  nodeSelectorTerms: NodeSelectorTerm[];
}

/** A requirement on a label or field. */
export interface NodeSelectorRequirement {
  /** Key of the label, or path of the field. */
  key: string;
  /** In, NotIn, Exists, DoesNotExist, Gt or Lt. */
  operator: string;
  /** Values for In and NotIn; one whole number for Gt and Lt; none for the others. */
  values?: string[];
}

/** Selects nodes that meet all its requirements. Without any it matches nothing. */
export interface NodeSelectorTerm {
  /** Requirements on labels. */
  matchExpressions?: NodeSelectorRequirement[];
  /** Requirements on fields; only metadata.name. */
  matchFields?: NodeSelectorRequirement[];
}

/** Desired state of a node. */
export interface NodeSpec {
  /** Addresses for pods of the node. */
  podCIDR?: string;
  /** Addresses for pods of the node, at most one range for each IP family; the first is podCIDR. */
  podCIDRs?: string[];
  /** Id of the machine at the cloud provider. */
  providerID?: string;
  /** True: no new pods are scheduled here (kubectl cordon). */
  unschedulable?: boolean;
  /** Keep pods without a matching toleration away. */
  taints?: Taint[];
  /** Not used any more. */
  configSource?: NodeConfigSource;
  /** Not used any more. */
  externalID?: string;
  /** Pods that pods of the node may preempt. */
  podPreemptionPolicy?: NodePodPreemptionPolicy;
}

/** Status of a node as last reported by its kubelet. */
export interface NodeStatus {
  /** All resources of the node, by name. */
  capacity?: Record<string, QuantityText>;
  /** Resources that pods can use. */
  allocatable?: Record<string, QuantityText>;
  /** Not used any more. */
  phase?: string;
  /** Ready, MemoryPressure, DiskPressure, PIDPressure and others. */
  conditions?: NodeCondition[];
  /** Addresses and names of the node. */
  addresses?: NodeAddress[];
  /** Where the kubelet listens. */
  daemonEndpoints?: NodeDaemonEndpoints;
  /** Kernel, operating system, versions. */
  nodeInfo?: NodeSystemInfo;
  /** Images on the node. */
  images?: ContainerImage[];
  /** Attachable volumes in use by the node. */
  volumesInUse?: string[];
  /** Volumes attached to the node. */
  volumesAttached?: AttachedVolume[];
  /** Not used any more. */
  config?: NodeConfigStatus;
  /** Handlers of the container runtime. */
  runtimeHandlers?: NodeRuntimeHandler[];
  /** Features of the container runtime. */
  features?: NodeFeatures;
  /** Features of the kubelet that matter to scheduling. */
  declaredFeatures?: string[];
}

/** Swap of a node. */
export interface NodeSwapStatus {
  /** Bytes of swap. */
  capacity?: Int64;
}

/** Kernel, operating system and versions of a node. */
export interface NodeSystemInfo {
  /** Id of the machine (/etc/machine-id). */
  machineID: string;
  /** Id of the hardware. */
  systemUUID: string;
  /** Id of the present boot. */
  bootID: string;
  /** Version of the kernel. */
  kernelVersion: string;
  /** Name of the operating system. */
  osImage: string;
  /** Container runtime and its version, such as containerd://2.1.0. */
  containerRuntimeVersion: string;
  /** Version of the kubelet. */
  kubeletVersion: string;
  /** Not used any more. */
  kubeProxyVersion: string;
  /** linux or windows. */
  operatingSystem: string;
  /** Architecture, such as amd64. */
  architecture: string;
  /** Swap of the node. */
  swap?: NodeSwapStatus;
  /** True if the kubelet runs in a user name space. */
  runningInUserNamespace?: boolean;
}

/** A field of the object itself. */
export interface ObjectFieldSelector {
  /** Version of the API that fieldPath is written in. Default v1. */
  apiVersion?: string;
  /** Path of the field, such as metadata.name. */
  fieldPath: string;
}

/** An object. */
export interface ObjectReference {
  /** Kind of the object. */
  kind?: string;
  /** Namespace of the object. */
  namespace?: string;
  /** Name of the object. */
  name?: string;
  /** UID of the object. */
  uid?: string;
  /** Group and version of the object. */
  apiVersion?: string;
  /** Version of the object. */
  resourceVersion?: string;
  /** A part of the object, such as spec.containers{name}. */
  fieldPath?: string;
}

export interface PersistentVolume {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: PersistentVolumeSpec;
  /** Last observed status. The system writes it. */
  status?: PersistentVolumeStatus;
}

/** Asks for storage. */
export interface PersistentVolumeClaim {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Requested storage. */
  spec: PersistentVolumeClaimSpec;
  /** Bound storage. */
  status?: PersistentVolumeClaimStatus;
}

/** An observation of a claim. */
export interface PersistentVolumeClaimCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the condition was last checked. */
  lastProbeTime?: Time;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface PersistentVolumeClaimList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PersistentVolumeClaim[];
}

/** Requested storage. */
export interface PersistentVolumeClaimSpec {
  /** ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod. */
  accessModes?: string[];
  /** Selects volumes by label. */
  selector?: LabelSelector;
  /** How much storage. */
  resources?: VolumeResourceRequirements;
  /** The PersistentVolume that is bound. */
  volumeName?: string;
  /** StorageClass. Unset: the default one; empty: only volumes without a class. */
  storageClassName?: string;
  /** Filesystem (default) or Block. */
  volumeMode?: string;
  /** Initial contents of the volume: a snapshot or another claim. */
  dataSource?: TypedLocalObjectReference;
  /** As dataSource, of any kind and namespace. */
  dataSourceRef?: TypedObjectReference;
  /** VolumeAttributesClass of the volume. */
  volumeAttributesClassName?: string;
}

/** Bound storage. */
export interface PersistentVolumeClaimStatus {
  /** Pending, Bound or Lost. */
  phase?: string;
  /** Access modes of the volume. */
  accessModes?: string[];
  /** Size of the volume. */
  capacity?: Record<string, QuantityText>;
  /** Latest observations, such as that it is being resized. */
  conditions?: PersistentVolumeClaimCondition[];
  /** Size that was set aside while it is being resized. */
  allocatedResources?: Record<string, QuantityText>;
  /** How far a resize is, by resource name. */
  allocatedResourceStatuses?: Record<string, string>;
  /** The VolumeAttributesClass in force. */
  currentVolumeAttributesClassName?: string;
  /** How far a change of the VolumeAttributesClass is. */
  modifyVolumeStatus?: ModifyVolumeStatus;
  /** Health of the volume. */
  healthStatus?: VolumeHealthStatus;
}

/** A PersistentVolumeClaim that is made for a pod. */
export interface PersistentVolumeClaimTemplate {
  /** Labels and annotations of the claim. */
  metadata?: ObjectMeta;
  /** Spec of the claim. */
  spec: PersistentVolumeClaimSpec;
}

/** The volume of a PersistentVolumeClaim. */
export interface PersistentVolumeClaimVolumeSource {
  /** Name of the claim, in the namespace of the pod. */
  claimName: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface PersistentVolumeList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PersistentVolume[];
}

export interface PersistentVolumeSource {
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  hostPath?: HostPathVolumeSource;
  glusterfs?: GlusterfsPersistentVolumeSource;
  nfs?: NFSVolumeSource;
  rbd?: RBDPersistentVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  cinder?: CinderPersistentVolumeSource;
  cephfs?: CephFSPersistentVolumeSource;
  fc?: FCVolumeSource;
  flocker?: FlockerVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOPersistentVolumeSource;
  local?: LocalVolumeSource;
  storageos?: StorageOSPersistentVolumeSource;
  csi?: CSIPersistentVolumeSource;
}

export interface PersistentVolumeSpec extends PersistentVolumeSource {
  capacity?: Record<string, QuantityText>;
  accessModes?: string[];
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  mountOptions?: string[];
  volumeMode?: string;
  nodeAffinity?: VolumeNodeAffinity;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeStatus {
  phase?: string;
  message?: string;
  reason?: string;
  lastPhaseTransitionTime?: Time;
}

/** Deprecated: a disk of the Photon controller. */
export interface PhotonPersistentDiskVolumeSource {
  /** Id of the disk. */
  pdID: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
}

/** Containers that run together on one node, with shared network and volumes. */
export interface Pod {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** The containers to run, and where and how to run them. */
  spec: PodSpec;
  /** Status as last reported by the kubelet. */
  status?: PodStatus;
}

/** Pods near which a pod is to run. */
export interface PodAffinity {
  /** All terms must be met. */
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  /** Nodes with the highest sum of weights are preferred. */
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

/** Pods, and the domain in which they are near. */
export interface PodAffinityTerm {
  /** Selects the pods. Unset: none. */
  labelSelector?: LabelSelector;
  /** Namespaces of the pods. Default: that of the pod itself. */
  namespaces?: string[];
  /** Label of nodes whose equal value makes them near, such as kubernetes.io/hostname. */
  topologyKey: string;
  /** Selects namespaces by label, in addition to namespaces; empty: all. */
  namespaceSelector?: LabelSelector;
  /** Labels whose value is taken from the pod itself and must be equal. */
  matchLabelKeys?: string[];
  /** Labels whose value is taken from the pod itself and must differ. */
  mismatchLabelKeys?: string[];
}

/** Pods away from which a pod is to run. */
export interface PodAntiAffinity {
  /** All terms must be met. */
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  /** Nodes with the lowest sum of weights are preferred. */
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface PodAttachOptions {
  stdin?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tty?: boolean;
  container?: string;
}

/** A certificate and key that the kubelet requests for the pod. */
export interface PodCertificateProjection {
  /** Signer of the certificate. */
  signerName?: string;
  /** RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519. */
  keyType?: string;
  /** The longest time that the certificate may be good for. Default 86400; at least 3600. */
  maxExpirationSeconds?: number;
  /** File for the key and the certificates together. */
  credentialBundlePath?: string;
  /** File for the key. */
  keyPath?: string;
  /** File for the certificates. */
  certificateChainPath?: string;
  /** Further information for the signer. */
  userAnnotations?: Record<string, string>;
  /** User id that owns the files. */
  user?: Int64;
}

/** An observation of a pod. */
export interface PodCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** metadata.generation of the spec that the condition is about. */
  observedGeneration?: Int64;
  /** True, False or Unknown. */
  status?: string;
  /** When the condition was last checked. */
  lastProbeTime?: Time;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** DNS settings of a pod. */
export interface PodDNSConfig {
  /** Addresses of name servers; at most 3. */
  nameservers?: string[];
  /** Search domains; at most 32. */
  searches?: string[];
  /** Options of the resolver. */
  options?: PodDNSConfigOption[];
}

/** An option of the resolver. */
export interface PodDNSConfigOption {
  /** Name, such as ndots. */
  name?: string;
  /** Its value. */
  value?: string;
}

export interface PodExecOptions {
  stdin?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tty?: boolean;
  container?: string;
  command: string[];
}

/** The claim that serves the extended resources of a pod. */
export interface PodExtendedResourceClaimStatus {
  /** Requests of the claim by container and resource. */
  requestMappings: ContainerExtendedResourceRequest[];
  /** Name of the ResourceClaim. */
  resourceClaimName: string;
}

/** An address of a pod. */
export interface PodIP {
  /** The address. */
  ip: string;
}

export interface PodList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Pod[];
}

export interface PodLogOptions {
  container?: string;
  follow?: boolean;
  previous?: boolean;
  sinceSeconds?: Int64;
  sinceTime?: Time;
  timestamps?: boolean;
  tailLines?: Int64;
  limitBytes?: Int64;
  insecureSkipTLSVerifyBackend?: boolean;
  stream?: string;
}

/** Operating system of the containers. */
export interface PodOS {
  /** linux or windows. */
  name: string;
}

export interface PodPortForwardOptions {
  ports?: number[];
}

export interface PodProxyOptions {
  path?: string;
}

/** A condition that must be True for the pod to be Ready. */
export interface PodReadinessGate {
  /** Type of the condition in the pod's status. */
  conditionType: string;
}

/** A ResourceClaim that the containers of the pod can use; exactly one source is set. */
export interface PodResourceClaim {
  /** Name by which containers refer to the claim (resources.claims). A DNS label. */
  name: string;
  /** An existing ResourceClaim in the namespace of the pod; several pods can share it. */
  resourceClaimName?: string;
  /** A ResourceClaimTemplate: each pod gets a claim of its own, deleted with the pod. */
  resourceClaimTemplateName?: string;
}

/** The claim behind one entry of spec.resourceClaims. */
export interface PodResourceClaimStatus {
  /** Name of the entry. */
  name: string;
  /** Name of the generated ResourceClaim. Empty: none is needed. */
  resourceClaimName?: string;
}

/** A reason not to schedule a pod yet. */
export interface PodSchedulingGate {
  /** Name of the gate. */
  name: string;
}

/** The group with which a pod is scheduled. */
export interface PodSchedulingGroup {
  /** Name of a PodGroup in the namespace of the pod. */
  podGroupName?: string;
}

/** Security settings for all containers of a pod. */
export interface PodSecurityContext {
  /** SELinux label of the containers. */
  seLinuxOptions?: SELinuxOptions;
  /** Settings for Windows. */
  windowsOptions?: WindowsSecurityContextOptions;
  /** User id of the processes. Default: that of the image. */
  runAsUser?: Int64;
  /** Group id of the processes. Default: that of the runtime. */
  runAsGroup?: Int64;
  /** True: the kubelet refuses to start a container as user 0. */
  runAsNonRoot?: boolean;
  /** Additional group ids of the processes. */
  supplementalGroups?: Int64[];
  /** Merge (default): the groups of the image as well; Strict: only those named here. */
  supplementalGroupsPolicy?: string;
  /** Group that owns the files of the volumes, and an additional group of the processes. */
  fsGroup?: Int64;
  /** Kernel parameters of the pod. */
  sysctls?: Sysctl[];
  /** Always (default) or OnRootMismatch: when the ownership of a volume is changed to fsGroup. */
  fsGroupChangePolicy?: string;
  /** Seccomp profile of the containers. */
  seccompProfile?: SeccompProfile;
  /** AppArmor profile of the containers. */
  appArmorProfile?: AppArmorProfile;
  /** MountOption (default) or Recursive: how volumes get their SELinux label. */
  seLinuxChangePolicy?: string;
}

export interface PodSignature {
  podController?: OwnerReference;
}

/** The containers of a pod, and where and how they run. Most fields cannot change once the pod exists. */
export interface PodSpec {
  /** Volumes that the containers can mount. */
  volumes?: Volume[];
  /**
   * Containers that run one after another, each to its end, before the others start. One with restartPolicy
   * Always is a sidecar: it keeps running.
   */
  initContainers?: Container[];
  /** The containers of the pod; at least one. */
  containers: Container[];
  /**
   * Containers added to a running pod for debugging (kubectl debug). Set through the subresource
   * ephemeralcontainers only.
   */
  ephemeralContainers?: EphemeralContainer[];
  /** When the kubelet restarts containers that ended: Always (default), OnFailure or Never. */
  restartPolicy?: string;
  /** Seconds between SIGTERM and SIGKILL when the pod is deleted. Default 30; 0 kills at once. */
  terminationGracePeriodSeconds?: Int64;
  /** Seconds after which a pod that still runs is ended and marked Failed. */
  activeDeadlineSeconds?: Int64;
  /**
   * Where DNS settings come from: ClusterFirst (default), ClusterFirstWithHostNet, Default (those of the
   * node) or None.
   */
  dnsPolicy?: string;
  /** Labels that a node must have for the pod to be scheduled there. */
  nodeSelector?: Record<string, string>;
  /** ServiceAccount that the pod acts as. Default: default. */
  serviceAccountName?: string;
  /** Deprecated alias of serviceAccountName. */
  serviceAccount?: string;
  /** False: no token of the service account is mounted into the containers. */
  automountServiceAccountToken?: boolean;
  /** Node that runs the pod. Set by the scheduler; a pod created with it bypasses the scheduler. */
  nodeName?: string;
  /** True: the containers use the network of the node. */
  hostNetwork?: boolean;
  /** True: the containers see the processes of the node. */
  hostPID?: boolean;
  /** True: the containers share the IPC name space of the node. */
  hostIPC?: boolean;
  /** True: the containers of the pod see each other's processes. */
  shareProcessNamespace?: boolean;
  /** Security settings for all containers; a container's own settings win. */
  securityContext?: PodSecurityContext;
  /** Secrets with credentials for the image registries, in the namespace of the pod. */
  imagePullSecrets?: LocalObjectReference[];
  /** Hostname of the pod. Default: the pod's name. */
  hostname?: string;
  /** Makes the fully qualified name HOSTNAME.SUBDOMAIN.NAMESPACE.svc.DOMAIN. */
  subdomain?: string;
  /** Rules on the nodes and on the pods near which the pod may run. */
  affinity?: Affinity;
  /** Scheduler that places the pod. Default: default-scheduler. */
  schedulerName?: string;
  /** Taints of nodes that the pod tolerates. */
  tolerations?: Toleration[];
  /** Additional entries for /etc/hosts of the containers. */
  hostAliases?: HostAlias[];
  /** PriorityClass of the pod. system-node-critical and system-cluster-critical are the highest. */
  priorityClassName?: string;
  /** Priority as a number. Set at admission from the PriorityClass; higher is scheduled first. */
  priority?: number;
  /** DNS settings in addition to those of dnsPolicy. */
  dnsConfig?: PodDNSConfig;
  /** Conditions of the pod status that must be True, besides ready containers, for the pod to be Ready. */
  readinessGates?: PodReadinessGate[];
  /** RuntimeClass that runs the containers. Default: the node's default handler. */
  runtimeClassName?: string;
  /** False: no environment variables for the Services of the namespace. Default true. */
  enableServiceLinks?: boolean;
  /** PreemptLowerPriority (default) or Never: whether the pod may evict pods of lower priority. */
  preemptionPolicy?: string;
  /** Resources that the runtime needs besides the containers. Set at admission from the RuntimeClass. */
  overhead?: Record<string, QuantityText>;
  /** How the pods of a group are spread over zones, nodes or other domains. */
  topologySpreadConstraints?: TopologySpreadConstraint[];
  /** True: the hostname in the pod is its fully qualified name. */
  setHostnameAsFQDN?: boolean;
  /** Operating system of the containers; settings of another one are rejected. */
  os?: PodOS;
  /** False: the pod gets a user name space of its own. Default true. */
  hostUsers?: boolean;
  /** While any gate is left the pod is not scheduled. Gates can be removed, not added. */
  schedulingGates?: PodSchedulingGate[];
  /**
   * ResourceClaims for devices that the containers can use. They are allocated and prepared before the pod
   * starts.
   */
  resourceClaims?: PodResourceClaim[];
  /** CPU, memory and hugepages of the pod as a whole. */
  resources?: ResourceRequirements;
  /** Hostname in the pod, as it stands, instead of what hostname, subdomain and the pod's name give. */
  hostnameOverride?: string;
  /** PodGroup with which the pod is scheduled. */
  schedulingGroup?: PodSchedulingGroup;
  /** Responders to an eviction of the pod, by priority. */
  evictionResponders?: EvictionResponder[];
  /** Workload and pod group to which the pod belongs. */
  workloadRef?: WorkloadReference;
}

/** Last observed status of a pod; may lag behind the containers. */
export interface PodStatus {
  /** metadata.generation of the spec that this status is about. */
  observedGeneration?: Int64;
  /** Pending, Running, Succeeded, Failed or Unknown. */
  phase?: string;
  /** PodScheduled, Initialized, ContainersReady, Ready and others. */
  conditions?: PodCondition[];
  /** Why the pod is in this state, for people. */
  message?: string;
  /** Why the pod is in this state, in one word, such as Evicted. */
  reason?: string;
  /** Node on which the scheduler expects to place the pod, after preemption for example. */
  nominatedNodeName?: string;
  /** Address of the node. */
  hostIP?: string;
  /** Addresses of the node, the first being hostIP. */
  hostIPs?: HostIP[];
  /** Address of the pod. Empty until it has one. */
  podIP?: string;
  /** Addresses of the pod, at most one for each IP family; the first is podIP. */
  podIPs?: PodIP[];
  /** When the kubelet accepted the pod. */
  startTime?: Time;
  /** State of each init container. */
  initContainerStatuses?: ContainerStatus[];
  /** State of each container. */
  containerStatuses?: ContainerStatus[];
  /** Guaranteed, Burstable or BestEffort, from the resources of the containers. */
  qosClass?: string;
  /** State of each ephemeral container. */
  ephemeralContainerStatuses?: ContainerStatus[];
  /**
   * State of a change of resources. Superseded by the conditions PodResizePending and PodResizeInProgress.
   */
  resize?: string;
  /** The ResourceClaims that were generated from templates for this pod. */
  resourceClaimStatuses?: PodResourceClaimStatus[];
  /** The ResourceClaim that the scheduler made for the extended resources of the pod. */
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  /** Resources that the node has set aside for the pod. */
  allocatedResources?: Record<string, QuantityText>;
  /** Resources that are in force for the pod. */
  resources?: ResourceRequirements;
  /** Node resources such as memory that the pod uses through its claims. */
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
  /** Health of the volumes of the pod. */
  volumeHealth?: PodVolumeHealth[];
}

export interface PodTemplate {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  template?: PodTemplateSpec;
}

export interface PodTemplateList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PodTemplate[];
}

/** The pod that a workload makes copies of. */
export interface PodTemplateSpec {
  /** Labels and annotations of the pods; the labels must match the selector of the workload. */
  metadata?: ObjectMeta;
  /** The spec of the pods. */
  spec: PodSpec;
}

/** Health of one volume of a pod. */
export interface PodVolumeHealth {
  /** Name of the volume. */
  name: string;
  /** Status reported for the volume. */
  healthConditions?: VolumeHealthCondition[];
  /** When that last changed. */
  lastTransitionTime?: Time;
}

/** State of a port of a load balancer. */
export interface PortStatus {
  /** The port. */
  port: number;
  /** TCP, UDP or SCTP. */
  protocol: string;
  /** Why it does not work, in one word. */
  error?: string;
}

/** Deprecated: a Portworx volume. */
export interface PortworxVolumeSource {
  /** Id of the volume. */
  volumeID: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface Preconditions {
  uid?: string;
}

export interface PreferAvoidPodsEntry {
  podSignature: PodSignature;
  evictionTime?: Time;
  reason?: string;
  message?: string;
}

/** A preference for nodes. */
export interface PreferredSchedulingTerm {
  /** 1 to 100. */
  weight: number;
  /** The nodes that are preferred. */
  preference: NodeSelectorTerm;
}

/**
 * A check of a container that the kubelet repeats. Exactly one of exec, httpGet, tcpSocket and grpc is set.
 */
export interface Probe extends ProbeHandler {
  /** Seconds after the start before the first check. */
  initialDelaySeconds?: number;
  /** Seconds after which a check has failed. Default 1. */
  timeoutSeconds?: number;
  /** Seconds between checks. Default 10. */
  periodSeconds?: number;
  /**
   * Successes in a row after a failure until the check counts as passed. Default 1, which liveness and
   * startup probes must have.
   */
  successThreshold?: number;
  /** Failures in a row until the check counts as failed. Default 3. */
  failureThreshold?: number;
  /** Grace period when this probe fails, instead of the pod's. */
  terminationGracePeriodSeconds?: Int64;
}

/** How a container is checked. */
export interface ProbeHandler {
  /** Runs a command in the container; exit code 0 passes. */
  exec?: ExecAction;
  /** Makes an HTTP GET; a status of 200 to 399 passes. */
  httpGet?: HTTPGetAction;
  /** Opens a TCP connection. */
  tcpSocket?: TCPSocketAction;
  /** Calls the gRPC health service. */
  grpc?: GRPCAction;
}

/** Several sources in one folder. */
export interface ProjectedVolumeSource {
  /** The sources. */
  sources?: VolumeProjection[];
  /** Permission bits of the files. Default 0644. */
  defaultMode?: number;
  /** User id that owns the files. */
  defaultUser?: Int64;
}

/** Deprecated: a Quobyte volume. */
export interface QuobyteVolumeSource {
  /** Addresses of the registries. */
  registry: string;
  /** Name of the volume. */
  volume: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** User to mount as. */
  user?: string;
  /** Group to mount as. */
  group?: string;
  /** Tenant that owns the volume. */
  tenant?: string;
}

export interface RBDPersistentVolumeSource {
  monitors: string[];
  image: string;
  fsType?: string;
  pool?: string;
  user?: string;
  keyring?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

/** Deprecated: an image of Ceph RBD. */
export interface RBDVolumeSource {
  /** Addresses of the monitors. */
  monitors: string[];
  /** Name of the image. */
  image: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Name of the pool. Default rbd. */
  pool?: string;
  /** Name of the user. Default admin. */
  user?: string;
  /** File with the user's key. */
  keyring?: string;
  /** Secret with the user's key. */
  secretRef?: LocalObjectReference;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface RangeAllocation {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  range: string;
  data: string;
}

/** Keeps a number of pods running. Deployment is its successor. */
export interface ReplicationController {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** How many pods, and which. */
  spec: ReplicationControllerSpec;
  /** How many pods there are. */
  status?: ReplicationControllerStatus;
}

/** An observation of a replication controller. */
export interface ReplicationControllerCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface ReplicationControllerList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ReplicationController[];
}

/** How many pods, and which. */
export interface ReplicationControllerSpec {
  /** How many pods. Default 1. */
  replicas?: number;
  /** Seconds that a pod must be ready to count as available. */
  minReadySeconds?: number;
  /** Labels of the pods. Default: those of the template. */
  selector?: Record<string, string>;
  /** The pod to make copies of. */
  template?: PodTemplateSpec;
}

/** How many pods there are. */
export interface ReplicationControllerStatus {
  /** Pods that are not terminating. */
  replicas: number;
  /** Pods that have all labels of the template. */
  fullyLabeledReplicas?: number;
  /** Pods that are ready. */
  readyReplicas?: number;
  /** Pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** ReplicaFailure: pods could not be created or deleted. */
  conditions?: ReplicationControllerCondition[];
}

/** A claim of the pod that a container uses. */
export interface ResourceClaim {
  /** Name of an entry of spec.resourceClaims of the pod. */
  name: string;
  /** Only the devices of this request of the claim. Default: all devices of the claim. */
  request?: string;
}

/** A limit or request of a container. */
export interface ResourceFieldSelector {
  /** Name of the container. Needed in volumes; in variables the default is the container itself. */
  containerName?: string;
  /** Such as limits.cpu, requests.memory. */
  resource: string;
  /** Unit of the output. Default 1. */
  divisor?: QuantityText;
}

/** Health of one device. */
export interface ResourceHealth {
  /** Id of the device. */
  resourceID: string;
  /** Healthy, Unhealthy or Unknown. */
  health?: string;
  /** More about the health, for people. */
  message?: string;
}

export interface ResourceQuota {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: ResourceQuotaSpec;
  /** Last observed status. The system writes it. */
  status?: ResourceQuotaStatus;
}

export interface ResourceQuotaList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ResourceQuota[];
}

export interface ResourceQuotaSpec {
  hard?: Record<string, QuantityText>;
  scopes?: string[];
  scopeSelector?: ScopeSelector;
}

export interface ResourceQuotaStatus {
  hard?: Record<string, QuantityText>;
  used?: Record<string, QuantityText>;
}

/** Requests and limits. */
export interface ResourceRequirements {
  /** The most that may be used, by resource name. */
  limits?: Record<string, QuantityText>;
  /** The least that is needed; the scheduler places by it. Default: the limits. */
  requests?: Record<string, QuantityText>;
  /** Claims of spec.resourceClaims whose devices the container uses. */
  claims?: ResourceClaim[];
}

/** Health of the devices of one resource or claim. */
export interface ResourceStatus {
  /** Name of the extended resource, or claim:NAME/REQUEST. */
  name: string;
  /** Health of each device. */
  resources?: ResourceHealth[];
}

/** An SELinux label. */
export interface SELinuxOptions {
  /** User of the label. */
  user?: string;
  /** Role of the label. */
  role?: string;
  /** Type of the label. */
  type?: string;
  /** Level of the label. */
  level?: string;
}

export interface ScaleIOPersistentVolumeSource {
  gateway: string;
  system: string;
  secretRef?: SecretReference;
  sslEnabled?: boolean;
  protectionDomain?: string;
  storagePool?: string;
  storageMode?: string;
  volumeName?: string;
  fsType?: string;
  readOnly?: boolean;
}

/** Deprecated: a ScaleIO volume. */
export interface ScaleIOVolumeSource {
  /** Address of the gateway. */
  gateway: string;
  /** Name of the storage system. */
  system: string;
  /** Secret with the credentials. */
  secretRef?: LocalObjectReference;
  /** True: the gateway is reached over TLS. */
  sslEnabled?: boolean;
  /** Name of the protection domain. */
  protectionDomain?: string;
  /** Name of the storage pool. */
  storagePool?: string;
  /** ThickProvisioned or ThinProvisioned (default). */
  storageMode?: string;
  /** Name of the volume. */
  volumeName?: string;
  /** Type of file system. Default xfs. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
}

export interface ScopeSelector {
  matchExpressions?: ScopedResourceSelectorRequirement[];
}

export interface ScopedResourceSelectorRequirement {
  scopeName: string;
  operator: string;
  values?: string[];
}

/** Seccomp profile: system calls that the processes may make. */
export interface SeccompProfile {
  /** RuntimeDefault, Unconfined or Localhost. */
  type: string;
  /** File of the profile on the node, below the kubelet's seccomp folder. Only for Localhost. */
  localhostProfile?: string;
}

/** Confidential data that pods read as variables or files. At most 1 MiB. */
export interface Secret {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** True: the data cannot change any more. */
  immutable?: boolean;
  /** Bytes by key, in base64. */
  data?: Record<string, string>;
  /** Texts by key; they are written into data and never returned. */
  stringData?: Record<string, string>;
  /** Type, which says what keys must be there. Default Opaque. */
  type?: string;
}

/** A Secret whose keys become environment variables. */
export interface SecretEnvSource extends LocalObjectReference {
  /** True: the container starts without it too. */
  optional?: boolean;
}

/** A key of a Secret. */
export interface SecretKeySelector extends LocalObjectReference {
  /** The key. */
  key: string;
  /** True: the container starts without the Secret or the key too. */
  optional?: boolean;
}

export interface SecretList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Secret[];
}

/** The keys of a Secret as files. */
export interface SecretProjection extends LocalObjectReference {
  /** The keys to show, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** True: nothing is shown if the Secret or a key is missing. */
  optional?: boolean;
}

export interface SecretReference {
  name?: string;
  namespace?: string;
}

/** The keys of a Secret as files. */
export interface SecretVolumeSource {
  /** Name of the Secret, in the namespace of the pod. */
  secretName?: string;
  /** The keys to show, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** Permission bits of the files. Default 0644. */
  defaultMode?: number;
  /** True: the volume is empty if the Secret or a key is missing. */
  optional?: boolean;
  /** User id that owns the files. */
  defaultUser?: Int64;
}

/** Security settings of one container. */
export interface SecurityContext {
  /** Capabilities to add or drop. Default: those of the runtime. */
  capabilities?: Capabilities;
  /** True: the container may do what root of the node may. Default false. */
  privileged?: boolean;
  /** SELinux label of the container. */
  seLinuxOptions?: SELinuxOptions;
  /** Settings for Windows. */
  windowsOptions?: WindowsSecurityContextOptions;
  /** User id of the processes. Default: that of the image. */
  runAsUser?: Int64;
  /** Group id of the processes. Default: that of the runtime. */
  runAsGroup?: Int64;
  /** True: the kubelet refuses to start the container as user 0. */
  runAsNonRoot?: boolean;
  /** True: the root file system is read-only. */
  readOnlyRootFilesystem?: boolean;
  /** False sets no_new_privs: no process gains more rights than its parent. */
  allowPrivilegeEscalation?: boolean;
  /** Default or Unmasked: which parts of /proc are hidden. */
  procMount?: string;
  /** Seccomp profile of the container. */
  seccompProfile?: SeccompProfile;
  /** AppArmor profile of the container. */
  appArmorProfile?: AppArmorProfile;
}

export interface SerializedReference {
  reference?: ObjectReference;
}

/** A stable name and address for a set of pods. */
export interface Service {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Ports, selector and type. */
  spec: ServiceSpec;
  /** Status reported by the load balancer. */
  status?: ServiceStatus;
}

export interface ServiceAccount {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  secrets?: ObjectReference[];
  imagePullSecrets?: LocalObjectReference[];
  automountServiceAccountToken?: boolean;
}

export interface ServiceAccountList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ServiceAccount[];
}

/** A token of the pod's service account, renewed before it expires. */
export interface ServiceAccountTokenProjection {
  /** Audience of the token. Default: the API server. */
  audience?: string;
  /** Seconds that the token is good for. Default 3600; at least 600. */
  expirationSeconds?: Int64;
  /** Path of the file in the volume. */
  path: string;
  /** User id that owns the file. */
  user?: Int64;
}

export interface ServiceList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Service[];
}

/** A port of a Service. */
export interface ServicePort {
  /** Name of the port, unique in the Service. Needed if there are several. */
  name?: string;
  /** TCP (default), UDP or SCTP. */
  protocol?: string;
  /** Protocol on top, such as http or kubernetes.io/h2c. */
  appProtocol?: string;
  /** The port of the Service. */
  port: number;
  /** Number or name of the pods' port. Default: port. */
  targetPort?: IntOrString;
  /** Port on each node. Default: assigned for the types that need one. */
  nodePort?: number;
}

export interface ServiceProxyOptions {
  path?: string;
}

/** Ports, selector and type of a Service. */
export interface ServiceSpec {
  /** Ports of the Service. */
  ports?: ServicePort[];
  /** Labels of the pods that serve it. Empty: endpoints are written by somebody else. */
  selector?: Record<string, string>;
  /** Virtual address of the Service. None: headless. Default: assigned. */
  clusterIP?: string;
  /** Virtual addresses, at most one for each IP family; the first is clusterIP. */
  clusterIPs?: string[];
  /** ClusterIP (default), NodePort, LoadBalancer or ExternalName. */
  type?: string;
  /** Further addresses whose traffic leads to the Service. Nobody checks who owns them. */
  externalIPs?: string[];
  /** None (default) or ClientIP: requests of one client go to one pod. */
  sessionAffinity?: string;
  /** Deprecated: wanted address of the load balancer. */
  loadBalancerIP?: string;
  /** Clients that the load balancer admits. */
  loadBalancerSourceRanges?: string[];
  /** Name that DNS returns for the Service. For type ExternalName. */
  externalName?: string;
  /** Cluster (default), or Local: only pods of the node that is reached, with the client's address kept. */
  externalTrafficPolicy?: string;
  /** Port on which nodes report whether they have pods of the Service. */
  healthCheckNodePort?: number;
  /** True: pods that are not ready are published too. */
  publishNotReadyAddresses?: boolean;
  /** Settings of sessionAffinity. */
  sessionAffinityConfig?: SessionAffinityConfig;
  /** IPv4, IPv6 or both, in order. */
  ipFamilies?: string[];
  /** SingleStack (default), PreferDualStack or RequireDualStack. */
  ipFamilyPolicy?: string;
  /** False: the load balancer needs no node ports. Default true. */
  allocateLoadBalancerNodePorts?: boolean;
  /** Implementation of the load balancer. */
  loadBalancerClass?: string;
  /** Cluster (default), or Local: only pods of the client's node. */
  internalTrafficPolicy?: string;
  /** PreferSameZone, PreferSameNode or PreferClose: which endpoints are preferred. */
  trafficDistribution?: string;
}

/** Last observed status of a Service. */
export interface ServiceStatus {
  /** State of the load balancer. */
  loadBalancer?: LoadBalancerStatus;
  /** Latest observations, at most one of a type. */
  conditions?: Condition[];
}

/** Settings of session affinity. */
export interface SessionAffinityConfig {
  /** Settings of ClientIP. */
  clientIP?: ClientIPConfig;
}

/** Waits. */
export interface SleepAction {
  /** Seconds to wait. */
  seconds: Int64;
}

export interface StorageOSPersistentVolumeSource {
  volumeName?: string;
  volumeNamespace?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: ObjectReference;
}

/** Deprecated: a StorageOS volume. */
export interface StorageOSVolumeSource {
  /** Name of the volume. */
  volumeName?: string;
  /** Its namespace in StorageOS. */
  volumeNamespace?: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** True: mounted read-only. */
  readOnly?: boolean;
  /** Secret with the credentials. */
  secretRef?: LocalObjectReference;
}

/** A kernel parameter. */
export interface Sysctl {
  /** Name, such as net.core.somaxconn. */
  name: string;
  /** The value. */
  value: string;
}

/** Opens a TCP connection. */
export interface TCPSocketAction {
  /** Number or name of the port. */
  port: IntOrString;
  /** Host to connect to. Default: the address of the pod. */
  host?: string;
}

/** Keeps pods without a matching toleration away from a node. */
export interface Taint {
  /** Key of the taint. */
  key: string;
  /** Value of the taint. */
  value?: string;
  /** NoSchedule, PreferNoSchedule, or NoExecute, which evicts running pods too. */
  effect: string;
  /** When a NoExecute taint was added. */
  timeAdded?: Time;
}

/** Lets a pod run despite taints of a node. */
export interface Toleration {
  /** Key of the taint. Empty, with Exists: every taint. */
  key?: string;
  /** Exists, Equal (default), Gt or Lt. */
  operator?: string;
  /** Value of the taint, for Equal, Gt and Lt. */
  value?: string;
  /** Effect of the taint. Empty: all. */
  effect?: string;
  /** How long a NoExecute taint is tolerated. Unset: for ever. */
  tolerationSeconds?: Int64;
}

/** A requirement on a label of nodes. */
export interface TopologySelectorLabelRequirement {
  /** Key of the label. */
  key: string;
  /** Values; one of them must be there. */
  values: string[];
}

/** Selects places by label. */
export interface TopologySelectorTerm {
  /** Requirements; all must be met. */
  matchLabelExpressions?: TopologySelectorLabelRequirement[];
}

/** How evenly pods are spread over domains. */
export interface TopologySpreadConstraint {
  /** The largest allowed difference between the numbers of pods in two domains; at least 1. */
  maxSkew: number;
  /** Label of nodes whose values are the domains. */
  topologyKey: string;
  /** DoNotSchedule (default) or ScheduleAnyway. */
  whenUnsatisfiable: string;
  /** The pods that are counted. */
  labelSelector?: LabelSelector;
  /** With fewer domains than this the smallest number counts as 0. Only for DoNotSchedule. */
  minDomains?: number;
  /** Honor (default) or Ignore: whether nodes that the pod's affinity excludes are left out. */
  nodeAffinityPolicy?: string;
  /** Honor or Ignore (default): whether nodes whose taints the pod does not tolerate are left out. */
  nodeTaintsPolicy?: string;
  /** Labels whose value is taken from the pod itself to choose the pods that are counted. */
  matchLabelKeys?: string[];
}

/** An object of any kind in the same namespace. */
export interface TypedLocalObjectReference {
  /** Group of the kind. Empty: core. */
  apiGroup?: string;
  /** The kind. */
  kind: string;
  /** Name of the object. */
  name: string;
}

/** An object of any kind. */
export interface TypedObjectReference {
  /** Group of the kind. Empty: core. */
  apiGroup?: string;
  /** The kind. */
  kind: string;
  /** Name of the object. */
  name: string;
  /** Namespace of the object. Default: that of the claim. */
  namespace?: string;
}

/** A named volume of a pod; exactly one source is set. */
export interface Volume extends VolumeSource {
  /** Name by which containers mount the volume. A DNS label, unique in the pod. */
  name: string;
}

/** Where a volume appears as a block device. */
export interface VolumeDevice {
  /** Name of a PersistentVolumeClaim volume of the pod. */
  name: string;
  /** Path in the container. */
  devicePath: string;
}

/** One report on the health of a volume. */
export interface VolumeHealthCondition {
  /** Healthy, Unhealthy or Unknown state. */
  status?: string;
  /** The reason, in one word. */
  reason: string;
  /** The reason, for people. */
  message?: string;
}

/** Health of a volume. */
export interface VolumeHealthStatus {
  /** Status reported for the volume. */
  healthConditions?: VolumeHealthCondition[];
  /** When that last changed. */
  lastTransitionTime?: Time;
}

/** Where a volume appears in a container. */
export interface VolumeMount {
  /** Name of a volume of the pod. */
  name: string;
  /** True: the container cannot write to it. */
  readOnly?: boolean;
  /** Disabled (default), IfPossible or Enabled: whether mounts below are read-only too. */
  recursiveReadOnly?: string;
  /** Path in the container. Must not contain ":". */
  mountPath: string;
  /** Path within the volume to mount instead of its root; relative and without "..". */
  subPath?: string;
  /** None (default), HostToContainer or Bidirectional. */
  mountPropagation?: string;
  /** As subPath, with $(NAME) for environment variables. Excludes subPath. */
  subPathExpr?: string;
  /** Additional options of the bind mount, such as noexec. */
  bindMountOptions?: string[];
}

/** A mount of a container. */
export interface VolumeMountStatus {
  /** Name of the volume. */
  name: string;
  /** Path in the container. */
  mountPath: string;
  /** True if it is read-only. */
  readOnly?: boolean;
  /** Disabled or Enabled: whether mounts below are read-only too. */
  recursiveReadOnly?: string;
  /** Status of the volume. */
  volumeStatus?: VolumeStatus;
}

export interface VolumeNodeAffinity {
  required?: NodeSelector;
}

/** A source of a projected volume; exactly one field is set. */
export interface VolumeProjection {
  /** The keys of a Secret as files. */
  secret?: SecretProjection;
  /** Fields of the pod as files. */
  downwardAPI?: DownwardAPIProjection;
  /** The keys of a ConfigMap as files. */
  configMap?: ConfigMapProjection;
  /** A token of the pod's service account. */
  serviceAccountToken?: ServiceAccountTokenProjection;
  /** Certificates of ClusterTrustBundles in one file. */
  clusterTrustBundle?: ClusterTrustBundleProjection;
  /** A certificate and key for the pod. */
  podCertificate?: PodCertificateProjection;
}

/** How much storage is wanted. */
export interface VolumeResourceRequirements {
  /** The most storage, by resource name. */
  limits?: Record<string, QuantityText>;
  /** The least storage, by resource name: storage. */
  requests?: Record<string, QuantityText>;
}

/** Where the content of a volume comes from. */
export interface VolumeSource {
  /** A file or folder of the node. Dangerous: it gives access to the node. */
  hostPath?: HostPathVolumeSource;
  /** An empty folder that lives as long as the pod. */
  emptyDir?: EmptyDirVolumeSource;
  /** Deprecated: a disk of Google Compute Engine. */
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  /** Deprecated: a volume of AWS EBS. */
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  /** Deprecated: a git repository cloned into an empty folder. */
  gitRepo?: GitRepoVolumeSource;
  /** The keys of a Secret as files. */
  secret?: SecretVolumeSource;
  /** A share of an NFS server. */
  nfs?: NFSVolumeSource;
  /** A disk of an iSCSI target. */
  iscsi?: ISCSIVolumeSource;
  /** Deprecated: a Glusterfs volume. */
  glusterfs?: GlusterfsVolumeSource;
  /** The volume of a PersistentVolumeClaim. */
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  /** Deprecated: an image of Ceph RBD. */
  rbd?: RBDVolumeSource;
  /** Deprecated: a volume of an exec-based plugin. */
  flexVolume?: FlexVolumeSource;
  /** Deprecated: a volume of OpenStack Cinder. */
  cinder?: CinderVolumeSource;
  /** Deprecated: a CephFS share. */
  cephfs?: CephFSVolumeSource;
  /** Deprecated: a Flocker dataset. */
  flocker?: FlockerVolumeSource;
  /** Fields of the pod as files. */
  downwardAPI?: DownwardAPIVolumeSource;
  /** A Fibre Channel disk. */
  fc?: FCVolumeSource;
  /** Deprecated: a share of Azure Files. */
  azureFile?: AzureFileVolumeSource;
  /** The keys of a ConfigMap as files. */
  configMap?: ConfigMapVolumeSource;
  /** Deprecated: a disk of vSphere. */
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  /** Deprecated: a Quobyte volume. */
  quobyte?: QuobyteVolumeSource;
  /** Deprecated: an Azure data disk. */
  azureDisk?: AzureDiskVolumeSource;
  /** Deprecated: a disk of the Photon controller. */
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  /** Several sources in one folder. */
  projected?: ProjectedVolumeSource;
  /** Deprecated: a Portworx volume. */
  portworxVolume?: PortworxVolumeSource;
  /** Deprecated: a ScaleIO volume. */
  scaleIO?: ScaleIOVolumeSource;
  /** Deprecated: a StorageOS volume. */
  storageos?: StorageOSVolumeSource;
  /** A volume that a CSI driver makes for this pod. */
  csi?: CSIVolumeSource;
  /** A PersistentVolumeClaim that is made for this pod and deleted with it. */
  ephemeral?: EphemeralVolumeSource;
  /** The content of an image, read-only. */
  image?: ImageVolumeSource;
}

/** Status of a mounted volume. */
export interface VolumeStatus {
  /** Of an image volume. */
  image?: ImageVolumeStatus;
}

/** Deprecated: a disk of vSphere. */
export interface VsphereVirtualDiskVolumeSource {
  /** Path of the disk. */
  volumePath: string;
  /** Type of file system, such as ext4. */
  fsType?: string;
  /** Name of the storage policy. */
  storagePolicyName?: string;
  /** Id of the storage policy. */
  storagePolicyID?: string;
}

/** A preference for being near or away from pods. */
export interface WeightedPodAffinityTerm {
  /** 1 to 100. */
  weight: number;
  /** The pods. */
  podAffinityTerm: PodAffinityTerm;
}

/** Settings for Windows. */
export interface WindowsSecurityContextOptions {
  /** Name of the GMSA credential spec. */
  gmsaCredentialSpecName?: string;
  /** The GMSA credential spec itself. */
  gmsaCredentialSpec?: string;
  /** User that the processes run as. */
  runAsUserName?: string;
  /** True: runs as a host process container. */
  hostProcess?: boolean;
}

/** The Workload to which a pod belongs. */
export interface WorkloadReference {
  /** Name of the Workload, in the namespace of the pod. */
  name: string;
  /** Name of a pod group in the Workload. */
  podGroup: string;
  /** Replica of the pod group. */
  podGroupReplicaKey?: string;
}
