import type { IncomingMessage, ServerResponse } from "node:http";
import { StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import {
  exited,
  type ForwardedConnection,
  forwardedPorts,
  internalError,
  portForwardOverSpdy,
  portForwardOverWebSocket,
  portForwardProtocol,
  type RemoteCommand,
  type RemoteCommandOptions,
  type RemoteStatus,
  remoteCommandOverSpdy,
  remoteCommandOverWebSocket,
  remoteCommandProtocols,
  success,
  type WebSocketRequest,
  webSocketRemoteCommandProtocols,
} from "@dray/streams";
import type { ClientStreams, Container, RuntimeService } from "../runtime/service.ts";
import { containersOf, findContainer, findPod } from "./containers.ts";
import { answerRun } from "./run.ts";
import { type Connection, isWebSocket, upgradeToSpdy } from "./upgrade.ts";

/** Timeouts of the creation of streams, and of an idle session, in milliseconds (upstream's defaults). */
const creationTimeout = 30_000;
const idleTimeout = 4 * 60 * 60 * 1000;

export interface StreamingOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  pods(): readonly Pod[];
}

/** A request for one of the streaming endpoints. */
export interface StreamingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Path after its first part. */
  readonly path: readonly string[];
  /** Absent if the client does not request another protocol. */
  readonly connection: Connection | undefined;
}

/** Work of a session until its end. */
type Work = (streams: ClientStreams, signal: AbortSignal) => Promise<RemoteStatus>;

/**
 * `/exec`, `/attach`, `/portForward` and `/run`: the runtime's streams over an upgraded connection. Errors
 * are those of the kubelet and of the streaming server that runtimes share (k8s.io/cri-streaming).
 */
export class StreamingEndpoints {
  readonly #options: StreamingOptions;
  readonly #sessions = new Set<Promise<void>>();

  constructor(options: StreamingOptions) {
    this.#options = options;
  }

  /** Resolves when all sessions have ended, after their connections were closed. */
  async close(): Promise<void> {
    await Promise.all(this.#sessions);
  }

  /** `/exec/NAMESPACE/POD[/UID]/CONTAINER?command=...` */
  async exec(request: StreamingRequest): Promise<void> {
    const { searchParams } = request.url;
    const command = searchParams.getAll("command");
    const wanted = wantedStreams(searchParams);
    const { pod, name, uid } = this.#target(request.path);
    const container = await this.#running(pod, uid, name);
    if (container === undefined) throw notFound(name);
    await this.#remoteCommand(request, wanted, async (streams, signal) => {
      try {
        const code = await this.#options.runtime.exec(
          { id: container.id, command, tty: wanted.tty },
          streams,
          signal,
        );
        const how = `error executing command [${command.join(" ")}], exit code ${code}`;
        return code === 0 ? success : exited(code, how);
      } catch (error) {
        return internalError(
          `error executing command in container: failed to exec in container: ${(error as Error).message}`,
        );
      }
    });
  }

  /** `/attach/NAMESPACE/POD[/UID]/CONTAINER` */
  async attach(request: StreamingRequest): Promise<void> {
    const wanted = wantedStreams(request.url.searchParams);
    const { pod, name, uid } = this.#target(request.path);
    const container = await this.#running(pod, uid, name);
    if (container === undefined)
      throw failure(`container ${name} not found in pod ${pod.metadata.name}_${pod.metadata.namespace}`);
    if (findContainer(pod, name)?.tty && wanted.stderr)
      throw failure("rpc error: code = InvalidArgument desc = tty and stderr cannot both be true");
    await this.#remoteCommand(request, wanted, async (streams, signal) => {
      try {
        await this.#options.runtime.attach(container.id, streams, signal);
        return success;
      } catch (error) {
        return internalError(`error attaching to container: ${(error as Error).message}`);
      }
    });
  }

  /** `/run/NAMESPACE/POD[/UID]/CONTAINER?cmd=...`, without an upgrade. */
  async run({ response, url, path }: StreamingRequest): Promise<void> {
    const { pod, name, uid } = this.#target(path);
    const container = await this.#running(pod, uid, name);
    if (container === undefined) throw notFound(name);
    const command = (url.searchParams.get("cmd") ?? "").split(" ");
    try {
      await answerRun(this.#options.runtime, container.id, command, response);
    } catch (error) {
      throw failure((error as Error).message);
    }
  }

  /** `/portForward/NAMESPACE/POD[/UID]` */
  async portForward({ request, response, url, path, connection }: StreamingRequest): Promise<void> {
    const { runtime, log } = this.#options;
    const ports = isWebSocket(request) ? portsOf(url) : [];
    const [namespace = "", podName = "", uid] = path;
    const pod = this.#pod(namespace, podName);
    if (uid !== undefined && uid !== pod.metadata.uid) throw StatusError.of("NotFound", "pod not found");
    const sandbox = (await runtime.listPodSandboxes(pod.metadata.uid)).find(({ ready }) => ready);
    if (sandbox === undefined) throw failure(`pod not found ("${podName}_${namespace}")`);
    if (connection === undefined) throw notAnUpgrade();
    const { socket, head } = connection;
    const onConnection = (one: ForwardedConnection): void => this.#forward(sandbox.id, one);
    if (isWebSocket(request)) {
      response.detachSocket(socket);
      return this.#session(connection, () =>
        portForwardOverWebSocket({ request: webSocketRequest(request), socket, head }, ports, onConnection),
      );
    }
    if (upgradeToSpdy(request, response, connection, [portForwardProtocol]) === undefined) return;
    await this.#session(connection, () => portForwardOverSpdy(socket, onConnection, { head, log }).closed);
  }

  #forward(sandboxId: string, { port, data, error }: ForwardedConnection): void {
    this.#options.runtime.portForward(sandboxId, port, data).then(
      () => {
        data.end();
        error.end();
      },
      ({ message }: Error) => {
        error.end(`error forwarding port ${port} to pod ${sandboxId}, uid : ${message}`);
        data.destroy();
      },
    );
  }

  #pod(namespace: string, name: string): Pod {
    const pod = findPod(this.#options.pods(), namespace, name);
    if (pod === undefined) throw StatusError.of("NotFound", "pod does not exist");
    return pod;
  }

  #target(path: readonly string[]): { pod: Pod; uid: string | undefined; name: string } {
    const [namespace = "", podName = ""] = path;
    return {
      pod: this.#pod(namespace, podName),
      uid: path.length === 4 ? path[2] : undefined,
      name: path.at(-1) ?? "",
    };
  }

  async #running(pod: Pod, uid: string | undefined, name: string): Promise<Container | undefined> {
    if (uid !== undefined && uid !== pod.metadata.uid) return undefined;
    const all = await containersOf(this.#options.runtime, pod.metadata.uid, name);
    return all.find(({ state }) => state === "running");
  }

  async #remoteCommand(
    { request, response, connection }: StreamingRequest,
    wanted: RemoteCommandOptions,
    work: Work,
  ): Promise<void> {
    const { log, clock } = this.#options;
    if (connection === undefined) throw notAnUpgrade();
    const { socket, head } = connection;
    if (isWebSocket(request)) {
      response.detachSocket(socket);
      return this.#session(connection, async () => {
        const protocols = ["v5.channel.k8s.io", ...webSocketRemoteCommandProtocols];
        const command = await remoteCommandOverWebSocket(
          { request: webSocketRequest(request), socket, head },
          wanted,
          protocols,
        );
        if (command !== undefined) await run(command, work);
      });
    }
    const protocol = upgradeToSpdy(request, response, connection, remoteCommandProtocols);
    if (protocol === undefined) return;
    await this.#session(connection, async () => {
      const late = new AbortController();
      const cancel = clock.after(creationTimeout, () => late.abort());
      const options = { head, log, signal: late.signal };
      const command = await remoteCommandOverSpdy(socket, wanted, protocol, options).finally(cancel);
      await run(command, work);
    });
  }

  /** Tracks a session until its end. An error of a client ends only its own. */
  async #session({ socket }: Connection, work: () => Promise<void>): Promise<void> {
    socket.setTimeout(idleTimeout, () => socket.destroy());
    const over = work().catch((error: unknown) => {
      this.#options.log.debug({ err: error }, "a streaming session failed");
      socket.destroy();
    });
    this.#sessions.add(over);
    await over;
    this.#sessions.delete(over);
  }
}

async function run(command: RemoteCommand, work: Work): Promise<void> {
  const gone = new AbortController();
  void command.closed.then(() => gone.abort());
  const { stdin, stdout, stderr, sizes } = command;
  const status = await work({ stdin, stdout, stderr, resize: sizes }, gone.signal);
  await command.finish(status);
}

/** Streams of a query: `input`, `output`, `error`, `tty`. */
function wantedStreams(parameters: URLSearchParams): RemoteCommandOptions {
  const flag = (name: string): boolean => parameters.get(name) === "1";
  const tty = flag("tty");
  const wanted = { stdin: flag("input"), stdout: flag("output"), stderr: flag("error") && !tty, tty };
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr)
    throw StatusError.of("BadRequest", "you must specify at least 1 of stdin, stdout, stderr");
  return wanted;
}

/** Ports in the query of a WebSocket client. */
function portsOf({ searchParams }: URL): readonly number[] {
  try {
    return forwardedPorts(searchParams);
  } catch (error) {
    throw StatusError.of("BadRequest", (error as Error).message);
  }
}

function webSocketRequest({ method = "GET", headers }: IncomingMessage): WebSocketRequest {
  return { method, headers: headers as WebSocketRequest["headers"] };
}

/** Converts an error of the runtime, as upstream does. */
function failure(message: string): StatusError {
  return StatusError.of("InternalError", message);
}

function notFound(container: string): StatusError {
  return failure(`container not found (${JSON.stringify(container)})`);
}

function notAnUpgrade(): StatusError {
  return failure("Upgrade request required\n");
}
