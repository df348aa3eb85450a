import type { Duplex, Readable, Writable } from "node:stream";

/**
 * What the node agent asks of a container runtime, in the shape of CRI: sandboxes (one a pod) hold containers; a
 * container is created, started, stopped, removed. Nothing here knows pods of the API or claims.
 */

/** Who a sandbox is for; survives restarts of the agent. */
export interface SandboxConfig {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Counts the sandboxes of one pod, from 0. */
  readonly attempt: number;
  readonly hostname: string;
  /** The pod shares the node's address. */
  readonly hostNetwork: boolean;
}

export interface Sandbox {
  readonly id: string;
  readonly config: SandboxConfig;
  /** The pod's address. */
  readonly ip: string;
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface MountConfig {
  /** A path on the machine. */
  readonly hostPath: string;
  /** Where the container sees it. */
  readonly containerPath: string;
  readonly readOnly: boolean;
}

export interface ContainerConfig {
  readonly name: string;
  /** Counts the containers of one name in one pod, from 0. */
  readonly attempt: number;
  readonly image: string;
  /** The pod's `command`; empty: the image's own program. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string | undefined;
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly mounts: readonly MountConfig[];
  /** Fully qualified CDI names, in order (CRI `CDI_devices`). */
  readonly cdiDevices: readonly string[];
  /** A file on the machine that gets what the container prints. */
  readonly logPath: string;
  /** Where in the container it may leave a last word (`terminationMessagePath`). */
  readonly terminationMessagePath: string | undefined;
  /** A hash of the container's part of the pod: another hash means it must be made anew. */
  readonly hash: string;
  /** True for init containers, so that an agent that comes back can tell. */
  readonly init: boolean;
  /** Its standard input stays open for those who attach; else there is none. */
  readonly stdin: boolean;
  /** The first who attaches with standard input closes it when he ends. */
  readonly stdinOnce: boolean;
  /** It runs in a terminal. */
  readonly tty: boolean;
}

export type ContainerState = "created" | "running" | "exited";

export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly state: ContainerState;
  readonly imageRef: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly exitCode: number | undefined;
  /** Why it ended, in the words of Kubernetes: Completed, Error, StartError, ContainerStatusUnknown. */
  readonly reason: string | undefined;
  readonly message: string | undefined;
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

/** A refusal of the runtime with the reason that a waiting container shows (`ErrImageNeverPull`, `RunContainerError`). */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Sandbox and container lifecycle. Methods reject with `RuntimeError`; repeating a stop or a removal is no error. */
export interface RuntimeService {
  /** As `containerRuntimeVersion` has it: name and version. */
  readonly name: string;
  readonly version: string;
  /** Takes over what an earlier agent left running, and begins to watch it. */
  start(): Promise<void>;
  /** Stops watching; what runs goes on. */
  close(): Promise<void>;
  runPodSandbox(config: SandboxConfig): Promise<Sandbox>;
  /** Ends every container of the sandbox at once, and frees its address. */
  stopPodSandbox(id: string): Promise<void>;
  /** Forgets the sandbox and its containers. Logs stay. */
  removePodSandbox(id: string): Promise<void>;
  listPodSandboxes(): readonly Sandbox[];
  /** Checks that the image can be had; the answer is its reference. */
  ensureImage(image: string, hasCommand: boolean): string;
  createContainer(sandboxId: string, config: ContainerConfig): Promise<Container>;
  /**
   * Resolves when the program has been started, with the names of the CDI edits that this runtime does not make; rejects
   * (RunContainerError) when it cannot be.
   */
  startContainer(id: string): Promise<readonly string[]>;
  /** SIGTERM, then SIGKILL after `graceMilliseconds`. Resolves when nothing of it runs. */
  stopContainer(id: string, graceMilliseconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  listContainers(): readonly Container[];
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
   * The lines of a log file that a container was given. With `follow` it waits for more until the container has
   * ended or the signal aborts.
   */
  readLog(logPath: string, follow: AbortSignal | undefined): AsyncIterable<LogLine>;
  /** Called with the pod's UID whenever a container of it changes its state. Answers a function that removes it. */
  onChange(handler: (podUid: string) => void): () => void;
}
