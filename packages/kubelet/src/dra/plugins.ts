import type { Log } from "@dray/client";
import { type Caller, type CallOptions, type Channel, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1Definition } from "@dray/rpc/dra/v1beta1";
import { DRAResourceHealthDefinition, type NodeWatchResourcesResponse } from "@dray/rpc/drahealth/v1";
import { DRAResourceHealthDefinition as DRAResourceHealthV1alpha1Definition } from "@dray/rpc/drahealth/v1alpha1";

/** Supported versions of the driver's service; the first one in the plugin's list is used. */
export const draServices = ["v1.DRAPlugin", "v1beta1.DRAPlugin"] as const;
export type DraService = (typeof draServices)[number];

/**
 * Supported versions of the optional health service, newest first; the first one that the plugin has is used.
 */
export const healthServices = ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"] as const;
export type HealthService = (typeof healthServices)[number];

/** One running instance of a driver. */
export interface DraPlugin {
  readonly driver: string;
  readonly service: DraService;
  /** All services that the plugin listed in its registration. */
  readonly supported: readonly string[];
  /** Its socket, as a path of the machine. */
  readonly endpoint: string;
  readonly connected: boolean;
  /** Both versions have the same messages but for shareId. */
  readonly caller: Caller<typeof DRAPluginDefinition>;
  /** Stream of the health of its devices, over the same connection; both versions have the same messages. */
  watchHealth(service: HealthService, options: CallOptions): AsyncIterable<NodeWatchResourcesResponse>;
}

interface Instance extends DraPlugin {
  connected: boolean;
  readonly channel: Channel;
  readonly unwatch: () => void;
}

export interface DraPluginsHandler {
  /** Called when an instance has registered; it need not be connected. */
  added?(plugin: DraPlugin): void;
  /** Called when an instance is gone. */
  removed?(plugin: DraPlugin): void;
  /** Called when an instance has connected. */
  connected?(driver: string): void;
  /**
   * Called when the driver has no connected instance: the last one disconnected, or one has registered that
   * is not connected yet. Called again with each such change.
   */
  gone?(driver: string): void;
}

/** The registered drivers; during an update a driver has several instances. */
export class DraPlugins {
  readonly #log: Log;
  readonly #handlers: DraPluginsHandler[] = [];
  /** In the order of registration. */
  readonly #instances: Instance[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  handle(handler: DraPluginsHandler): void {
    this.#handlers.push(handler);
  }

  /** `supported` are all services of the plugin. Throws if the same instance is registered. */
  register(
    driver: string,
    endpoint: string,
    service: DraService,
    supported: readonly string[] = [service],
  ): void {
    if (this.#instances.some((one) => one.driver === driver && one.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} is already registered for DRA driver ${driver}`);
    const channel = unixChannel(endpoint);
    // Messages of v1beta1 have the fields of v1 (KEP-4381).
    const caller =
      service === "v1.DRAPlugin"
        ? channel.caller(DRAPluginDefinition)
        : (channel.caller(DRAPluginV1beta1Definition) as unknown as Caller<typeof DRAPluginDefinition>);
    const instance: Instance = {
      driver,
      service,
      supported,
      endpoint,
      connected: false,
      caller,
      channel,
      unwatch: () => stop(),
      watchHealth: (version, options) =>
        channel
          .caller(
            version === "v1.DRAResourceHealth"
              ? DRAResourceHealthDefinition
              : DRAResourceHealthV1alpha1Definition,
          )
          .nodeWatchResources({}, options),
    };
    let stop = (): void => {};
    this.#instances.push(instance);
    stop = channel.watchConnected((connected) => this.#connected(instance, connected));
    this.#log.info({ driver, endpoint, service }, "DRA driver registered");
    for (const handler of this.#handlers) handler.added?.(instance);
    // It may never connect: the wipe delay starts now.
    this.#checkGone(driver);
  }

  unregister(driver: string, endpoint: string): void {
    const index = this.#instances.findIndex((one) => one.driver === driver && one.endpoint === endpoint);
    const [instance] = index < 0 ? [] : this.#instances.splice(index, 1);
    if (instance === undefined) return;
    instance.unwatch();
    instance.channel.close();
    this.#log.info({ driver, endpoint }, "DRA driver unregistered");
    for (const handler of this.#handlers) handler.removed?.(instance);
    this.#checkGone(driver);
  }

  #connected(instance: Instance, connected: boolean): void {
    if (instance.connected === connected) return;
    instance.connected = connected;
    if (connected) for (const handler of this.#handlers) handler.connected?.(instance.driver);
    else this.#checkGone(instance.driver);
  }

  #checkGone(driver: string): void {
    if (this.#instances.some((one) => one.driver === driver && one.connected)) return;
    for (const handler of this.#handlers) handler.gone?.(driver);
  }

  /** The instance to call: the latest connected one, else the latest. Throws if no instance is registered. */
  get(driver: string): DraPlugin {
    const all = this.#instances.filter((one) => one.driver === driver);
    const found = all.findLast(({ connected }) => connected) ?? all.at(-1);
    if (found === undefined) throw new Error(`DRA driver ${driver} is not registered`);
    return found;
  }

  close(): void {
    for (const instance of this.#instances.splice(0)) {
      instance.unwatch();
      instance.channel.close();
      for (const handler of this.#handlers) handler.removed?.(instance);
    }
  }
}
