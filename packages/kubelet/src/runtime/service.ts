import type { Duplex, Readable, Writable } from "node:stream";
import type { ServiceRoute } from "../services/routes.ts";

/**
 * What the node agent asks of a container runtime, in the shape of CRI (`runtime.v1`): sandboxes (one a pod) hold
 * containers; a container is created, started, stopped, removed. Nothing here knows pods of the API or claims. Every
 * answer may take time, and comes from the runtime: the agent keeps no copy of what runs.
 */

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

export interface Sandbox {
  readonly id: string;
  readonly config: SandboxIdentity;
  /** The pod's addresses, the first of them its `podIP`; none before the network is there. */
  readonly ips: readonly string[];
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
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

export type ContainerState = "created" | "running" | "exited";

/** As whom the first process of a container runs (CRI `LinuxContainerUser`). */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /** The group `gid` among them. */
  readonly groups: readonly number[];
}

export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerIdentity;
  readonly state: ContainerState;
  readonly imageRef: string;
  /** Absent where the runtime does not say. */
  readonly user?: ContainerUser;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly exitCode: number | undefined;
  /** Why it ended, in the words of Kubernetes: Completed, Error, StartError, OOMKilled, ContainerStatusUnknown. */
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** What was made, and what of the configuration this runtime cannot do: each is told in an event of the pod. */
export interface Made {
  readonly id: string;
  /** As `hooks of CDI devices`, `seccomp profile localhost/a.json`; empty where everything was done. */
  readonly unsupported: readonly string[];
}

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output and error, cut at 10 KiB. */
  readonly output: string;
}

/** The size of a terminal in characters (`TerminalSize` of remote commands). */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** What a client sends and wants. The runtime ends the outputs when everything is written. */
export interface ClientStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  /** With a terminal all output is `stdout`. */
  readonly stderr: Writable | undefined;
  /** The sizes of the client's terminal as they change. */
  readonly resize: AsyncIterable<TerminalSize> | undefined;
}

/** A line of a container's log, with its end if it has one yet. */
export interface LogLine {
  /** Milliseconds since the epoch; when it was written, as well as the runtime knows. */
  readonly at: number;
  readonly text: Buffer;
}

/** What a container uses (CRI `ContainerStats`). */
export interface ContainerStats {
  readonly containerId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Since the container was started. */
  readonly cpuNanoseconds: number;
  /** Without what the system can take back at once. */
  readonly memoryWorkingSetBytes: number;
}

/** A refusal of the runtime with the reason that a waiting container shows (`ErrImageNeverPull`, `RunContainerError`). */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Throws RuntimeError if the handler of a RuntimeClass is none of those that the runtime has. */
export function checkRuntimeHandler(handler: string, known: readonly string[]): void {
  if (known.includes(handler)) return;
  const expected = known.map((name) => JSON.stringify(name)).join(" or ");
  throw new RuntimeError(
    "CreatePodSandboxError",
    `no runtime for ${JSON.stringify(handler)} is configured; expected ${expected}`,
  );
}

/** The network that a runtime itself makes for pods. */
export interface PodNetworkService {
  /** The node's addresses for pods, as `spec.podCIDR` of a Node has them. */
  readonly podCidr: string;
  /** Absent where the machine lacks what it takes to lead packets elsewhere. */
  readonly services?: ServiceNetwork;
}

/** What leads packets to Services, for all nodes that share a network of pods. */
export interface ServiceNetwork {
  /** The machine's address in the network. */
  readonly gateway: string;
  /** Replaces where Services lead; stays when the agent ends. */
  setServices(services: LedServices): Promise<void>;
  /** Does again what `setServices` did, should another program have undone it. */
  repair(): Promise<void>;
  /** Runs `work` while no other agent that shares the network runs one. Rejects if `signal` aborts before. */
  lead(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface LedServices {
  readonly routes: readonly ServiceRoute[];
  /** The port of `gateway` at which the cluster's DNS server listens; pods ask port 53. */
  readonly dnsPort?: number;
}

/** Sandbox and container lifecycle. Methods reject with `RuntimeError`; repeating a stop or a removal is no error. */
export interface RuntimeService {
  /** Takes over what an earlier agent left running, and begins to watch it. */
  start(): Promise<void>;
  /** Stops watching; what runs goes on. */
  close(): Promise<void>;
  /** Name and version, as `containerRuntimeVersion` has them. Known once the runtime has been started. */
  readonly name: string;
  readonly version: string;
  /** What it does not keep apart on this machine, in words; known once it has been started. */
  readonly limits: readonly string[];
  /** Undefined where the pods' network is somebody else's; known once the runtime has been started. */
  readonly network?: PodNetworkService | undefined;
  /** Pods have a network of their own for certain: none reaches what listens on the machine's loopback address. */
  readonly isolatesNetwork?: boolean;
  /** Conditions of the runtime that keep the node from being ready, asked for now and then. */
  problems?(): Promise<readonly string[]>;
  /** Mounts can be read-only with all that is below them (KEP-3857); known once it has been started. */
  readonly recursiveReadOnly?: boolean;
  /** As whom containers run whose pod names no user; undefined: as their image says. Known once it has been started. */
  userOfPod(podUid: string): number | undefined;
  runPodSandbox(config: SandboxConfig): Promise<Made>;
  /** Ends every container of the sandbox at once, and frees its address. */
  stopPodSandbox(id: string): Promise<void>;
  /** Forgets the sandbox and its containers. Logs stay. */
  removePodSandbox(id: string): Promise<void>;
  /** All, or those of a pod. */
  listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]>;
  createContainer(sandboxId: string, config: ContainerConfig): Promise<Made>;
  /** Resolves when the program has been started; rejects (RunContainerError) when it cannot be. */
  startContainer(id: string): Promise<void>;
  /** SIGTERM (or the image's signal), then SIGKILL after `graceMilliseconds`. Resolves when nothing of it runs. */
  stopContainer(id: string, graceMilliseconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  /** All, or those of a pod. */
  listContainers(podUid?: string): Promise<readonly Container[]>;
  /** Changes the bounds of a container that runs; what is absent stays. */
  updateContainerResources(id: string, resources: ResourceConfig): Promise<void>;
  /** Changes the bounds of a sandbox; what is absent stays. Does nothing where the runtime does not hold them. */
  updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void>;
  /** Of the containers that run, as far as the runtime can tell. */
  listContainerStats(): Promise<readonly ContainerStats[]>;
  /** Runs a command beside the container's program: same file system, environment and address. */
  execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult>;
  /**
   * Runs a command as `execSync` does, with the client's streams; resolves with its exit code when it has ended and
   * all its output is written. The command is killed when `signal` aborts. Rejects if it cannot be started.
   */
  exec(
    id: string,
    command: readonly string[],
    tty: boolean,
    streams: ClientStreams,
    signal: AbortSignal,
  ): Promise<number>;
  /**
   * Sends what the container prints from now on, and gives it what the client sends if it has a standard input.
   * Resolves when the container or the client's input has ended (the latter does not count for a container with
   * `stdinOnce` and no terminal); rejects when `signal` aborts.
   */
  attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void>;
  /** Connects a stream with a TCP port of a sandbox until both have ended; rejects if nothing listens there. */
  portForward(sandboxId: string, port: number, stream: Duplex): Promise<void>;
  /**
   * The lines of the log of a container. With `follow` it waits for more until the container has ended or the signal
   * aborts.
   */
  readLog(logPath: string, follow: AbortSignal | undefined): AsyncIterable<LogLine>;
  /** Moves what a container has printed so far from its log to the file `to`, losing nothing of what comes meanwhile. */
  rotateContainerLog(id: string, to: string): Promise<void>;
  /** Called with the pod's UID whenever a container of it changes its state. Answers a function that removes it. */
  onChange(handler: (podUid: string) => void): () => void;
}

/** An image that the runtime has. */
export interface Image {
  /** What `ContainerConfig.imageRef` and container statuses say of it. */
  readonly ref: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  /** Never removed to make room. */
  readonly pinned?: boolean;
  /** The user of the image's program, for `runAsNonRoot`: its number, or its name where it has one. */
  readonly user?: number | string;
}

/** What the agent works with: a runtime and where its images come from. */
export interface NodeRuntime {
  readonly service: RuntimeService;
  readonly images: ImageService;
}

/** Credentials for a registry (CRI `AuthConfig`). */
export interface ImageCredentials {
  readonly username?: string;
  readonly password?: string;
  /** `username:password` in base64. */
  readonly auth?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

/** Images. Methods reject with `RuntimeError` (`InvalidImageName`, `ErrImagePull`, `ErrImageNeverPull`). */
export interface ImageService {
  /** True where images come from registries; false where only those count that are there already. */
  readonly pulls: boolean;
  /** The image if it is there; `hasCommand` where the container brings its own program. */
  imageStatus(image: string, hasCommand: boolean): Promise<Image | undefined>;
  /** Fetches the image, trying the credentials one after the other; answers its reference. */
  pullImage(image: string, credentials: readonly ImageCredentials[], signal?: AbortSignal): Promise<string>;
  listImages(): Promise<readonly Image[]>;
  /** By reference: those that a container of anybody uses, whether or not it runs. */
  usedImages(): Promise<ReadonlySet<string>>;
  /** The folder of the machine that images are kept in; undefined where none are. */
  imageFolder(): Promise<string | undefined>;
  removeImage(ref: string): Promise<void>;
}
