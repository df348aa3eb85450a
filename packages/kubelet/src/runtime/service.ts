import type { Server, Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import type { MachineServices } from "../services/machine-services.ts";
import type { ServiceNetwork } from "../services/network.ts";
import type { UsageDetails } from "./cgroup-usage.ts";
import type {
  ContainerConfig,
  ContainerIdentity,
  ResourceConfig,
  SandboxConfig,
  SandboxIdentity,
} from "./config.ts";
import type { ImageService } from "./images.ts";

export interface Sandbox {
  readonly id: string;
  readonly config: SandboxIdentity;
  /** Addresses of the pod, the first of them its `podIP`; empty before the network is ready. */
  readonly ips: readonly string[];
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A name space of a sandbox, with its OCI type (`network`, `ipc`, ...). */
export interface SandboxNamespace {
  readonly type: string;
  /** A path of the node; absent if each container has such a name space of its own. */
  readonly path?: string;
}

/** Properties of a sandbox on Linux, as NRI plugins see them. */
export interface LinuxSandbox {
  /** Without those of the node, such as the network of a pod with `hostNetwork`. */
  readonly namespaces: readonly SandboxNamespace[];
  /** Cgroup above those of the containers. */
  readonly cgroupParent: string;
  /** Process in the name spaces of the sandbox; 0 if it has ended. */
  readonly pid: number;
}

/** A command with streams in a container (CRI `ExecRequest`). */
export interface Command {
  /** ID of the container. */
  readonly id: string;
  readonly command: readonly string[];
  readonly tty: boolean;
}

export type ContainerState = "created" | "running" | "exited";

/** User of the first process of a container (CRI `LinuxContainerUser`). */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /** Including `gid`. */
  readonly groups: readonly number[];
}

export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerIdentity;
  readonly state: ContainerState;
  readonly imageRef: string;
  /** Absent if the runtime does not report it. */
  readonly user?: ContainerUser;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly exitCode: number | undefined;
  /**
   * Reason of the end in Kubernetes' terms: Completed, Error, StartError, OOMKilled, ContainerStatusUnknown.
   */
  readonly reason: string | undefined;
  readonly message: string | undefined;
  /**
   * Lack of the machine that explains the failure of the program, for an event and the message of its end.
   */
  readonly hint?: string;
}

/**
 * A new sandbox or container, and the fields of its configuration that the runtime ignores, which an event of
 * the pod reports.
 */
export interface Made {
  readonly id: string;
  /** Such as `hooks of CDI devices`, `seccomp profile localhost/a.json`; empty if everything is supported. */
  readonly unsupported: readonly string[];
  /** Sentences on what else will not work, each of which an event reports. */
  readonly warnings?: readonly string[];
}

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output and error, truncated at 10 KiB. */
  readonly output: string;
}

/** The size of a terminal in characters (`TerminalSize` of remote commands). */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Streams of a client. The runtime ends the outputs when everything is written. */
export interface ClientStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  /** With a terminal all output is `stdout`. */
  readonly stderr: Writable | undefined;
  /** The sizes of the client's terminal as they change. */
  readonly resize: AsyncIterable<TerminalSize> | undefined;
}

/** A line of a container's log, with its newline if it has one yet. */
export interface LogLine {
  /** Milliseconds since the epoch; when it was written, as far as the runtime knows. */
  readonly at: number;
  /** Ends with a newline, except for the last line and for parts of a line of more than 1 MiB. */
  readonly text: Buffer;
}

export interface ReadLogOptions {
  /** Waits for more until the container has ended or the signal aborts. */
  readonly follow?: AbortSignal | undefined;
  /** Number of lines at the end of the log that are read; all by default. */
  readonly tail?: number | undefined;
}

/** Usage of a container (CRI `ContainerStats`). */
export interface ContainerStats {
  readonly containerId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Since the container was started. */
  readonly cpuNanoseconds: number;
  /** Without memory that the system can reclaim at once. */
  readonly memoryWorkingSetBytes: number;
  /** Further figures, where the runtime counts them. */
  readonly details?: UsageDetails;
}

/** A network of pods that the runtime makes itself. */
export interface PodNetworkService {
  /** Addresses of the node's pods, as in `spec.podCIDR` of a Node. */
  readonly podCidr: string;
  /** Absent if the machine lacks programs for routing. */
  readonly services?: ServiceNetwork;
}

/** The network of a node that is not the machine's: pods with `hostNetwork` are in it. */
export interface NodeNetworkService {
  /** Listens on a TCP port of all addresses of the node; 0 for any free one. */
  listen(port: number): Promise<Server>;
  /** Connects with a TCP port from the node, so that its loopback addresses are the node's. */
  connect(host: string, port: number): Promise<Socket>;
}

/**
 * Lifecycle of sandboxes and containers, in the shape of CRI (`runtime.v1`). A pod has one sandbox at a time,
 * which holds its containers. A runtime knows neither pods of the API nor claims, and the agent keeps no copy
 * of what runs.
 *
 * Methods reject with `RuntimeError`; repeating a stop or a removal succeeds.
 */
export interface RuntimeService {
  /** Adopts what an earlier agent left running, and starts watching it. */
  start(): Promise<void>;
  /** Stops watching; containers run on. */
  close(): Promise<void>;
  /** Name and version, as in `containerRuntimeVersion`. Known after `start`. */
  readonly name: string;
  readonly version: string;
  /** Lacks of isolation on this machine, as text; known after `start`. */
  readonly limits: readonly string[];
  /** Undefined if another program makes the pods' network; known after `start`. */
  readonly network?: PodNetworkService | undefined;
  /** Pods have a resolv.conf of their own on this machine; known after `start`. */
  readonly writesResolvConf?: boolean;
  /** Leads Services to their endpoints where pods are processes of this machine, in its network. */
  readonly machineServices?: MachineServices | undefined;
  /** Absent if the node has the machine's network; known after `start`. */
  readonly nodeNetwork?: NodeNetworkService | undefined;
  /** Pods always have networks of their own: none reaches listeners on the machine's loopback address. */
  readonly isolatesNetwork?: boolean;
  /** Problems that keep the node from being ready; called periodically. */
  problems?(): Promise<readonly string[]>;
  /** Supports mounts that are read-only recursively (KEP-3857); known after `start`. */
  readonly recursiveReadOnly?: boolean;
  /** Refuses mounts with another `identity` than the configuration says. */
  readonly checksMounts?: boolean;
  /**
   * False if programs of images that name no user do not run as root, unless something of the pod needs it;
   * known after `start`.
   */
  readonly runsAsRoot?: boolean;
  /** User of containers whose pod names none; undefined for that of the image. Known after `start`. */
  userOfPod(podUid: string): number | undefined;
  runPodSandbox(config: SandboxConfig): Promise<Made>;
  /** Kills all containers of the sandbox, and frees its address. */
  stopPodSandbox(id: string): Promise<void>;
  /** Removes the sandbox and its containers. Logs stay. */
  removePodSandbox(id: string): Promise<void>;
  /** Lists all, or those of a pod. */
  listPodSandboxes(podUid?: string): Promise<readonly Sandbox[]>;
  /** Name spaces, cgroup and process of a sandbox that runs; absent if the runtime makes none. */
  linuxSandbox?(id: string): LinuxSandbox | undefined;
  createContainer(sandboxId: string, config: ContainerConfig): Promise<Made>;
  /** Resolves when the program has started; rejects (RunContainerError) if it cannot. */
  startContainer(id: string): Promise<void>;
  /**
   * Sends SIGTERM (or the image's signal), then SIGKILL after `graceMilliseconds`. Resolves when no process
   * is left.
   */
  stopContainer(id: string, graceMilliseconds: number): Promise<void>;
  /** False if SIGTERM certainly does not reach the program; absent if the runtime cannot tell. */
  heedsTermination?(id: string): boolean;
  removeContainer(id: string): Promise<void>;
  /** Lists all, or those of a pod. */
  listContainers(podUid?: string): Promise<readonly Container[]>;
  /** Changes the bounds of a running container; absent fields stay. */
  updateContainerResources(id: string, resources: ResourceConfig): Promise<void>;
  /**
   * Changes the bounds of a sandbox; absent fields stay. Does nothing if the runtime does not support them.
   */
  updatePodSandboxResources(id: string, resources: ResourceConfig): Promise<void>;
  /** Statistics of running containers, as far as the runtime knows them. */
  listContainerStats(): Promise<readonly ContainerStats[]>;
  /** Runs a command in a container: with its file system, environment and address. */
  execSync(id: string, command: readonly string[], timeoutMilliseconds: number): Promise<ExecResult>;
  /**
   * As `execSync`, with the client's streams. Resolves with its exit code when it has ended and all its
   * output is written. The command is killed when `signal` aborts. Rejects if it cannot be started.
   */
  exec(command: Command, streams: ClientStreams, signal: AbortSignal): Promise<number>;
  /**
   * Sends the container's output from now on, and the client's input if the container has a standard input.
   * Resolves when the container or the client's input has ended (the latter does not count for a container
   * with `stdinOnce` and no terminal); rejects when `signal` aborts.
   */
  attach(id: string, streams: ClientStreams, signal: AbortSignal): Promise<void>;
  /**
   * Connects a stream with a TCP port of a sandbox until both have ended; rejects if nothing listens there.
   */
  portForward(sandboxId: string, port: number, stream: Duplex): Promise<void>;
  /** Reads the lines of a container's log, many at a time; others run meanwhile. */
  readLog(logPath: string, options?: ReadLogOptions): AsyncIterable<readonly LogLine[]>;
  /**
   * Moves the current contents of a container's log to the file `to`. The runtime `host` may lose what is
   * written within the milliseconds of the last step.
   */
  rotateContainerLog(id: string, to: string): Promise<void>;
  /**
   * Calls the handler with the pod's UID whenever a container of it changes its state. Returns a function
   * that removes it.
   */
  onChange(handler: (podUid: string) => void): () => void;
}

/** A runtime and its images. */
export interface NodeRuntime {
  readonly service: RuntimeService;
  readonly images: ImageService;
}
