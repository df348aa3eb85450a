/** Identity of a sandbox; survives restarts of the agent. */
export interface SandboxIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Counts the sandboxes of one pod, from 0. */
  readonly attempt: number;
}

export interface SandboxConfig extends SandboxIdentity {
  /** The node's name for a pod with `hostNetwork`. */
  readonly hostname: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Folder on the machine for the logs of its containers. */
  readonly logDirectory: string;
  /** Contents of /etc/resolv.conf; undefined for the machine's own. */
  readonly dns: DnsConfig | undefined;
  /** Ports of the node that are mapped to the pod. */
  readonly ports: readonly PortMapping[];
  /** The pod shares the node's network and address. */
  readonly hostNetwork: boolean;
  readonly hostPID: boolean;
  readonly hostIPC: boolean;
  /** The containers of the pod share a pid name space. */
  readonly shareProcessNamespace: boolean;
  readonly sysctls: Readonly<Record<string, string>>;
  /** Rights of the sandbox's own process, and defaults of its containers. */
  readonly security: SecurityConfig;
  /** Bounds of the pod as a whole; undefined without any. */
  readonly resources: ResourceConfig | undefined;
  /** `resources` limit the pod beyond the limits of its containers. */
  readonly hasOwnLimits?: boolean;
  /** Handler of the pod's RuntimeClass; "" for the runtime's default. */
  readonly runtimeHandler: string;
}

export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** As in resolv.conf: `ndots:5`. */
  readonly options: readonly string[];
}

export interface PortMapping {
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly containerPort: number;
  readonly hostPort: number;
  /** An address of the node; "" for all. */
  readonly hostIP: string;
}

export interface MountConfig {
  /** A path on the machine; "" with `image`. */
  readonly hostPath: string;
  /**
   * Device and inode of what may be mounted from there, since a pod can exchange it; only if the runtime's
   * `checksMounts` is true.
   */
  readonly identity?: string;
  /** Path of the volume of which it is a part; absent if `hostPath` lies in it. */
  readonly volumePath?: string;
  /** Mounts the files of an image instead, read-only and not executable (KEP-4639). */
  readonly image?: ImageMount;
  /** Path in the container. */
  readonly containerPath: string;
  readonly readOnly: boolean;
  /** Mounts below it are read-only too; only if the runtime's `recursiveReadOnly` is true. */
  readonly recursiveReadOnly?: boolean;
  /** `private` by default. */
  readonly propagation?: "private" | "hostToContainer" | "bidirectional";
}

/** An image whose files are mounted (CRI `Mount.image`, `Mount.image_sub_path`). */
export interface ImageMount {
  /** Result of `pullImage` or `imageStatus`. */
  readonly ref: string;
  /** Name in the pod. */
  readonly name: string;
  /** A path in the image; "" for its root. */
  readonly subPath: string;
}

/** A device node of the machine in the container (CRI `Device`). */
export interface DeviceConfig {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Any of `r`, `w` and `m`. */
  readonly permissions: string;
}

/**
 * User and rights of a process (CRI `LinuxContainerSecurityContext`); absent fields are up to the image or
 * the runtime.
 */
export interface SecurityConfig {
  readonly privileged: boolean;
  readonly runAsUser?: number;
  /** Name of a user in the image, if there is no number. */
  readonly runAsUserName?: string;
  readonly runAsGroup?: number;
  /** The pod must not run as root: a runtime that chooses the user chooses another. */
  readonly runAsNonRoot?: true;
  readonly supplementalGroups: readonly number[];
  readonly readOnlyRootFilesystem: boolean;
  readonly noNewPrivileges: boolean;
  /** Without `CAP_`; `ALL` for all. Drops are applied first. */
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  /** `localhost/PATH` for a profile of the machine. */
  readonly seccomp: "unconfined" | "runtime/default" | `localhost/${string}`;
}

/** Bounds (CRI `LinuxContainerResources`); absent fields are not bounded. */
export interface ResourceConfig {
  /** Relative weight: 1024 for a core. */
  readonly cpuShares?: number;
  /** Microseconds. */
  readonly cpuPeriod?: number;
  /** Microseconds of CPU time in each period. */
  readonly cpuQuota?: number;
  /** Such as `0-3,8`. */
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly memoryLimitBytes?: number;
  /** From -1000 (never killed when memory runs out) to 1000. */
  readonly oomScoreAdj?: number;
  readonly pidsLimit?: number;
}

/** Identity of a container; survives restarts of the agent. */
export interface ContainerIdentity {
  readonly name: string;
  /** Counts the containers of one name in one pod, from 0. */
  readonly attempt: number;
  /** Hash of the container's spec: a container with another hash is replaced. */
  readonly hash: string;
  /** File on the machine with the output of the container. */
  readonly logPath: string;
  /** File on the machine that is mounted at `terminationMessagePath`; "" for none. */
  readonly terminationLog: string;
}

export interface TargetContainer {
  readonly id: string;
  readonly name: string;
}

export interface ContainerConfig extends ContainerIdentity {
  readonly image: string;
  /** Ports on which its program says to listen. */
  readonly ports?: readonly number[];
  /** Result of `pullImage` or `imageStatus`. */
  readonly imageRef: string;
  /** The pod's `command`; empty for the program of the image. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string | undefined;
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly mounts: readonly MountConfig[];
  readonly devices: readonly DeviceConfig[];
  /** Fully qualified CDI names, in order (CRI `CDI_devices`). */
  readonly cdiDevices: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly security: SecurityConfig;
  readonly resources: ResourceConfig;
  /** The running container of the pod whose process name space it joins (CRI `NamespaceMode.TARGET`). */
  readonly target?: TargetContainer;
  /** Its standard input stays open for clients that attach; otherwise it has none. */
  readonly stdin: boolean;
  /** The first client that attaches with standard input closes it when it ends. */
  readonly stdinOnce: boolean;
  /** It runs in a terminal. */
  readonly tty: boolean;
}
