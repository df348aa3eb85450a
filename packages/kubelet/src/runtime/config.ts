/** What tells the sandboxes of pods apart; survives restarts of the agent. */
export interface SandboxIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Counts the sandboxes of one pod, from 0. */
  readonly attempt: number;
}

export interface SandboxConfig extends SandboxIdentity {
  readonly hostname: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** A folder on the machine below which the logs of its containers lie. */
  readonly logDirectory: string;
  /** What goes into /etc/resolv.conf; undefined: the machine's own. */
  readonly dns: DnsConfig | undefined;
  /** Ports of the node that lead to the pod. */
  readonly ports: readonly PortMapping[];
  /** The pod shares the node's network and address. */
  readonly hostNetwork: boolean;
  readonly hostPID: boolean;
  readonly hostIPC: boolean;
  /** The containers of the pod see each other's processes. */
  readonly shareProcessNamespace: boolean;
  readonly sysctls: Readonly<Record<string, string>>;
  /** What the sandbox's own process may, and the containers' as far as they say nothing else. */
  readonly security: SecurityConfig;
  /** All that the pod may use together; undefined where it has no bounds. */
  readonly resources: ResourceConfig | undefined;
  /** `resources` limit the pod more than its containers are limited by themselves. */
  readonly hasOwnLimits?: boolean;
  /** Of the pod's RuntimeClass; "" for the runtime's own. */
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
  /** The files of an image instead, read-only and not to be executed (KEP-4639). */
  readonly image?: ImageMount;
  /** Where the container sees it. */
  readonly containerPath: string;
  readonly readOnly: boolean;
  /** What is mounted below it is read-only, too; only where the runtime's `recursiveReadOnly` says so. */
  readonly recursiveReadOnly?: boolean;
  /** "private" if absent. */
  readonly propagation?: "private" | "hostToContainer" | "bidirectional";
}

/** An image whose files are mounted (CRI `Mount.image`, `Mount.image_sub_path`). */
export interface ImageMount {
  /** What `pullImage` or `imageStatus` answered for the image. */
  readonly ref: string;
  /** As the pod names it. */
  readonly name: string;
  /** A path in the image; "" for all of it. */
  readonly subPath: string;
}

/** A device node that the container gets (CRI `Device`): what device plugins answer. */
export interface DeviceConfig {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Any of `r`, `w` and `m`. */
  readonly permissions: string;
}

/** Who a process is and what it may (CRI `LinuxContainerSecurityContext`); absent: what the image or the runtime says. */
export interface SecurityConfig {
  readonly privileged: boolean;
  readonly runAsUser?: number;
  /** A name that the image knows, where there is no number. */
  readonly runAsUserName?: string;
  readonly runAsGroup?: number;
  readonly supplementalGroups: readonly number[];
  readonly readOnlyRootFilesystem: boolean;
  readonly noNewPrivileges: boolean;
  /** Without `CAP_`; `ALL` for all. Drops come first. */
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  /** `localhost/PATH` for a profile of the machine. */
  readonly seccomp: "unconfined" | "runtime/default" | `localhost/${string}`;
}

/** Bounds (CRI `LinuxContainerResources`); absent: none. */
export interface ResourceConfig {
  /** Relative weight: 1024 a core. */
  readonly cpuShares?: number;
  /** Microseconds. */
  readonly cpuPeriod?: number;
  /** Microseconds of CPU time in each period. */
  readonly cpuQuota?: number;
  /** As `0-3,8`. */
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly memoryLimitBytes?: number;
  /** From -1000 (never killed when memory runs out) to 1000. */
  readonly oomScoreAdj?: number;
  readonly pidsLimit?: number;
}

/** What tells the containers of a sandbox apart; survives restarts of the agent. */
export interface ContainerIdentity {
  readonly name: string;
  /** Counts the containers of one name in one pod, from 0. */
  readonly attempt: number;
  /** A hash of the container's part of the pod: another hash means it must be made anew. */
  readonly hash: string;
  /** A file on the machine that gets what the container prints. */
  readonly logPath: string;
  /** A file on the machine with the last word of the container (`terminationMessagePath`); "" for none. */
  readonly terminationLog: string;
}

export interface ContainerConfig extends ContainerIdentity {
  readonly image: string;
  /** What `pullImage` or `imageStatus` answered for the image. */
  readonly imageRef: string;
  /** The pod's `command`; empty: the image's own program. */
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
  /** Its standard input stays open for those who attach; else there is none. */
  readonly stdin: boolean;
  /** The first who attaches with standard input closes it when he ends. */
  readonly stdinOnce: boolean;
  /** It runs in a terminal. */
  readonly tty: boolean;
}
