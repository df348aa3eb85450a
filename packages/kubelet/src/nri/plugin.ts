import type { Duplex } from "node:stream";
import type { Clock, Log } from "@dray/client";
import {
  type Caller,
  type MessageType,
  maxTtrpcBytes,
  RpcError,
  serveTtrpc,
  service,
  type TtrpcClient,
  ttrpcClient,
} from "@dray/rpc";
import {
  type Container,
  type ContainerEviction,
  Container as ContainerMessage,
  type ContainerUpdate,
  Empty,
  Event,
  PluginDefinition,
  type PodSandbox,
  PodSandbox as PodSandboxMessage,
  RuntimeDefinition,
  StateChangeEvent,
} from "@dray/rpc/nri/v1alpha1";
import { Mux, muxConnection } from "./mux.ts";

/** Facts of the runtime for plugins, and timeouts. */
export interface PluginContext {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Timeout of the registration in milliseconds. */
  readonly registrationTimeout: number;
  /** Timeout of each request in milliseconds. */
  readonly requestTimeout: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Applies unsolicited updates of a plugin. Returns those that failed. */
  updateContainers(
    plugin: string,
    updates: readonly ContainerUpdate[],
    evictions: readonly ContainerEviction[],
  ): Promise<readonly ContainerUpdate[]>;
}

/** The version of github.com/containerd/nri that this follows. */
const nriVersion = "v0.12.2";

/** Bit N-1 stands for event N. Upstream: pkg/api/event.go, ValidEvents. */
const allEvents = 2 ** (Event.LAST - 1) - 1;

/** Maximum size of the pods and containers in one request, with room for its other fields. */
const maxSyncBytes = maxTtrpcBytes - 64 * 1024;

/** Requests to plugins, with their events. */
const pluginEvents = {
  runPodSandbox: Event.RUN_POD_SANDBOX,
  updatePodSandbox: Event.UPDATE_POD_SANDBOX,
  postUpdatePodSandbox: Event.POST_UPDATE_POD_SANDBOX,
  stopPodSandbox: Event.STOP_POD_SANDBOX,
  removePodSandbox: Event.REMOVE_POD_SANDBOX,
  createContainer: Event.CREATE_CONTAINER,
  postCreateContainer: Event.POST_CREATE_CONTAINER,
  startContainer: Event.START_CONTAINER,
  postStartContainer: Event.POST_START_CONTAINER,
  updateContainer: Event.UPDATE_CONTAINER,
  postUpdateContainer: Event.POST_UPDATE_CONTAINER,
  stopContainer: Event.STOP_CONTAINER,
  removeContainer: Event.REMOVE_CONTAINER,
  validateContainerAdjustment: Event.VALIDATE_CONTAINER_ADJUSTMENT,
} as const;

export type PluginRequest = keyof typeof pluginEvents;

/**
 * Requests that plugins from before 0.12 get as StateChange. Upstream: pkg/adaptation/plugin_type.go,
 * origImplWrapper.
 */
const oldStateChanges: ReadonlySet<PluginRequest> = new Set<PluginRequest>([
  "runPodSandbox",
  "postUpdatePodSandbox",
  "stopPodSandbox",
  "removePodSandbox",
  "postCreateContainer",
  "startContainer",
  "postStartContainer",
  "postUpdateContainer",
  "removeContainer",
]);

type Requests = Caller<typeof PluginDefinition>;
type RequestOf<R extends PluginRequest> = Parameters<Requests[R]>[0];
type ResponseOf<R extends PluginRequest> = Awaited<ReturnType<Requests[R]>>;

/** The connection of one plugin. */
export class NriPlugin {
  /** Resolves when the connection has ended on either side. */
  readonly closed: Promise<void>;
  readonly #context: PluginContext;
  readonly #mux: Mux;
  readonly #client: TtrpcClient;
  readonly #requests: Requests;
  readonly #registered = Promise.withResolvers<{ readonly name: string; readonly index: string }>();
  /** Requests for which the plugin has no method. */
  readonly #unimplemented = new Set<PluginRequest>();
  #name = "";
  #index = "";
  #events = 0;
  /** The plugin has not named its events: it gets those for which it has methods. */
  #wantsAll = false;
  #open = true;

  constructor(connection: Duplex, context: PluginContext) {
    this.#context = context;
    this.#mux = new Mux(connection);
    this.closed = this.#mux.closed.then(() => {
      this.#open = false;
    });
    this.#client = ttrpcClient(this.#mux.open(muxConnection.plugin));
    this.#requests = this.#client.caller(PluginDefinition);
    this.#registered.promise.catch(() => {});
    serveTtrpc(this.#mux.open(muxConnection.runtime), [
      service(RuntimeDefinition, {
        registerPlugin: async ({ pluginName, pluginIdx }) => {
          const wrong = wrongName(pluginName) ?? wrongIndex(pluginIdx);
          if (wrong !== undefined) {
            this.#registered.reject(new Error(wrong));
            throw new RpcError("InvalidArgument", wrong);
          }
          if (this.#name !== "")
            throw new RpcError("AlreadyExists", `plugin ${this.name} is registered already`);
          this.#name = pluginName;
          this.#index = pluginIdx;
          this.#registered.resolve({ name: pluginName, index: pluginIdx });
          return Empty.fromPartial({});
        },
        updateContainers: async ({ update, evict }) => ({
          failed: [...(await context.updateContainers(this.name, update, evict))],
        }),
      }),
    ]);
  }

  /** `INDEX-NAME`; plugins are called in this order. */
  get name(): string {
    return `${this.#index}-${this.#name}`;
  }

  get index(): string {
    return this.#index;
  }

  get baseName(): string {
    return this.#name;
  }

  get open(): boolean {
    return this.#open;
  }

  wants(request: PluginRequest): boolean {
    return Math.floor(this.#events / 2 ** (pluginEvents[request] - 1)) % 2 === 1;
  }

  /**
   * Waits for the registration, and configures the plugin. Rejects, and ends the connection, if that fails or
   * takes too long.
   */
  async start(): Promise<void> {
    const { registrationTimeout, requestTimeout, runtimeName, runtimeVersion, clock } = this.#context;
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(registrationTimeout, () =>
      late.reject(new Error(`plugin has not registered within ${registrationTimeout} ms`)),
    );
    const gone = this.closed.then(() => {
      throw new Error("plugin has closed its connection before it registered");
    });
    gone.catch(() => {});
    try {
      await Promise.race([this.#registered.promise, late.promise, gone]);
      const { events } = await this.#requests.configure(
        {
          config: "",
          runtimeName,
          runtimeVersion,
          registrationTimeout: BigInt(registrationTimeout),
          requestTimeout: BigInt(requestTimeout),
          NRIVersion: nriVersion,
        },
        { timeout: requestTimeout },
      );
      if (events < 0 || events > allEvents)
        throw new Error(
          `plugin ${this.name} asks for events ${events}: those of NRI are at most ${allEvents}`,
        );
      this.#wantsAll = events === 0;
      this.#events = this.#wantsAll ? allEvents : events;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      cancel();
    }
  }

  /**
   * Sends all pods and containers. Resolves with the updates that the plugin wants. Rejects, and ends the
   * connection, if it does not respond in time or refuses.
   */
  async synchronize(
    pods: readonly PodSandbox[],
    containers: readonly Container[],
  ): Promise<ContainerUpdate[]> {
    const parts = syncParts(pods, containers);
    try {
      for (const [index, part] of parts.entries()) {
        const more = index < parts.length - 1;
        const options = { timeout: this.#context.requestTimeout };
        const answer = await this.#requests.synchronize({ ...part, more }, options);
        if (!more) return answer.update;
        if (!answer.more || answer.update.length > 0)
          throw new Error(`plugin ${this.name} does not take what is there in parts`);
      }
      return [];
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Sends a request that the plugin subscribes to. Resolves with undefined if it does not, or does not
   * respond in time: then its connection is ended. Rejects if the plugin refuses.
   */
  async request<R extends PluginRequest>(name: R, request: RequestOf<R>): Promise<ResponseOf<R> | undefined> {
    if (!this.#open || !this.wants(name)) return undefined;
    try {
      return await this.#send(name, request);
    } catch (error) {
      if (this.#wantsAll && RpcError.is(error, "Unimplemented")) {
        this.#events -= 2 ** (pluginEvents[name] - 1);
        return undefined;
      }
      if (!isFatal(error)) throw error;
      const { message } = error as Error;
      this.#context.log.error({ plugin: this.name, request: name, error: message }, "NRI plugin dropped");
      this.close();
      return undefined;
    }
  }

  async #send<R extends PluginRequest>(name: R, request: RequestOf<R>): Promise<ResponseOf<R>> {
    const options = { timeout: this.#context.requestTimeout };
    const call = this.#requests[name] as (request: RequestOf<R>, options: object) => Promise<ResponseOf<R>>;
    if (!this.#unimplemented.has(name)) {
      try {
        return await call(request, options);
      } catch (error) {
        if (!RpcError.is(error, "Unimplemented") || !oldStateChanges.has(name)) throw error;
        this.#unimplemented.add(name);
      }
    }
    const { pod, container } = request as { pod?: PodSandbox; container?: Container };
    await this.#requests.stateChange(
      StateChangeEvent.fromPartial({ event: pluginEvents[name], pod, container }),
      options,
    );
    // All its responses are empty.
    return {} as ResponseOf<R>;
  }

  close(): void {
    this.#open = false;
    this.#client.close();
    this.#mux.close();
  }
}

/** Upstream: pkg/adaptation/plugin.go, isFatalError. */
function isFatal(error: unknown): boolean {
  return (
    RpcError.is(error, "DeadlineExceeded") ||
    RpcError.is(error, "Unavailable") ||
    RpcError.is(error, "Internal")
  );
}

/** Upstream: pkg/api/plugin.go, CheckPluginName, which has no limit of its length. */
function wrongName(name: string): string | undefined {
  if (/^[a-zA-Z0-9_.+-]{1,253}$/.test(name)) return undefined;
  return `invalid plugin name ${JSON.stringify(name.slice(0, 253))}: must be at most 253 letters, digits, or any of -_.+`;
}

/** Upstream: pkg/api/plugin.go, CheckPluginIndex. */
function wrongIndex(index: string): string | undefined {
  if (/^[0-9]{2}$/.test(index)) return undefined;
  return `invalid plugin index ${JSON.stringify(index.slice(0, 253))}: must be 2 digits`;
}

interface SyncPart {
  readonly pods: PodSandbox[];
  readonly containers: Container[];
}

/** Divides pods and containers into requests that fit into ttrpc messages; at least one. */
function syncParts(pods: readonly PodSandbox[], containers: readonly Container[]): readonly SyncPart[] {
  let last: SyncPart = { pods: [], containers: [] };
  const parts = [last];
  let bytes = 0;
  const add = <T>(all: readonly T[], type: MessageType<T>, into: (part: SyncPart) => T[]): void => {
    for (const each of all) {
      const length = type.encode(each).finish().length + 8;
      if (bytes > 0 && bytes + length > maxSyncBytes) {
        last = { pods: [], containers: [] };
        parts.push(last);
        bytes = 0;
      }
      bytes += length;
      into(last).push(each);
    }
  };
  add(pods, PodSandboxMessage, (part) => part.pods);
  add(containers, ContainerMessage, (part) => part.containers);
  return parts;
}
