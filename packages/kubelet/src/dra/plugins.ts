import type { Log } from "@dray/client";
import { type Caller, type Channel, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1Definition } from "@dray/rpc/dra/v1beta1";

/** Versions of the driver's service that this kubelet speaks; a plugin's first one of them is used. */
export const draServices = ["v1.DRAPlugin", "v1beta1.DRAPlugin"] as const;
export type DraService = (typeof draServices)[number];

/** One running instance of a driver. */
export interface DraPlugin {
  readonly driver: string;
  readonly service: DraService;
  /** The socket it serves on, as a path of the machine. */
  readonly endpoint: string;
  readonly connected: boolean;
  /** Both versions have the same messages but for shareId. */
  readonly caller: Caller<typeof DRAPluginDefinition>;
}

interface Instance {
  readonly driver: string;
  readonly service: DraService;
  readonly endpoint: string;
  connected: boolean;
  readonly caller: Caller<typeof DRAPluginDefinition>;
  readonly channel: Channel;
  readonly unwatch: () => void;
}

export interface DraPluginsHandler {
  /** An instance came, or came back. */
  connected?(driver: string): void;
  /** The last connected instance of the driver went. */
  gone?(driver: string): void;
}

/** The drivers that have registered; several instances of one are there while it is updated. */
export class DraPlugins {
  readonly #log: Log;
  readonly #handlers: DraPluginsHandler[] = [];
  /** In the order of their registration. */
  readonly #instances: Instance[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  handle(handler: DraPluginsHandler): void {
    this.#handlers.push(handler);
  }

  /** Throws if the same instance is there already. */
  register(driver: string, endpoint: string, service: DraService): void {
    if (this.#instances.some((one) => one.driver === driver && one.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} is already registered for DRA driver ${driver}`);
    const channel = unixChannel(endpoint);
    const caller =
      service === "v1.DRAPlugin"
        ? channel.caller(DRAPluginDefinition)
        : (channel.caller(DRAPluginV1beta1Definition) as unknown as Caller<typeof DRAPluginDefinition>);
    const instance: Instance = {
      driver,
      service,
      endpoint,
      connected: false,
      caller,
      channel,
      unwatch: () => stop(),
    };
    let stop = (): void => {};
    this.#instances.push(instance);
    stop = channel.watchConnected((connected) => this.#connected(instance, connected));
    this.#log.info({ driver, endpoint, service }, "DRA driver registered");
  }

  unregister(driver: string, endpoint: string): void {
    const index = this.#instances.findIndex((one) => one.driver === driver && one.endpoint === endpoint);
    const [instance] = index < 0 ? [] : this.#instances.splice(index, 1);
    if (instance === undefined) return;
    instance.unwatch();
    instance.channel.close();
    this.#log.info({ driver, endpoint }, "DRA driver unregistered");
    if (instance.connected) this.#checkGone(driver);
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

  /** The instance to call: the latest that is connected, else the latest. Throws if there is none. */
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
    }
  }
}
