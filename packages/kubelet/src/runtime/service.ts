import type { Duplex, Readable, Writable } from "node:stream";
import type { ServiceNetwork } from "../services/network.ts";
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
  /** The pod's addresses, the first of them its `podIP`; none before the network is there. */
  readonly ips: readonly string[];
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
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

/** The network that a runtime itself makes for pods. */
export interface PodNetworkService {
  /** The node's addresses for pods, as `spec.podCIDR` of a Node has them. */
  readonly podCidr: string;
  /** Absent where the machine lacks what it takes to lead packets elsewhere. */
  readonly services?: ServiceNetwork;
}

/**
 * Lifecycle of sandboxes and containers, in the shape of CRI (`runtime.v1`). A pod has one sandbox at a time, which holds
 * its containers. A runtime knows neither pods of the API nor claims, and the agent keeps no copy of what runs.
 *
 * Methods reject with `RuntimeError`; repeating a stop or a removal is no error. */
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

/** What the agent works with: a runtime and where its images come from. */
export interface NodeRuntime {
  readonly service: RuntimeService;
  readonly images: ImageService;
}
