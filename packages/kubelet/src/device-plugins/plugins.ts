import type { Clock, Log } from "@dray/client";
import type { RpcServer } from "@dray/rpc";
import type { PluginHandler } from "../dra/watcher.ts";
import { connectEndpoint, type Endpoint } from "./endpoint.ts";
import { checkResourceName, checkVersions, serveRegistration } from "./registration.ts";
import { Resource, stopGracePeriod } from "./resources.ts";

/** Maximum number of resources of plugins on a node. */
const maxResources = 512;
/**
 * Milliseconds after the start for which a new pod waits for a plugin from before, which needs a moment to
 * register again. Upstream refuses the pod at once (kubernetes#133382).
 */
const returnTimeout = 10_000;

/** Amounts by resource, for the Node's status. */
export interface PluginResources {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

export interface DevicePluginsOptions {
  /** `<root>/device-plugins` */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a plugin has registered. */
  registered(resource: string): void;
  /** Called when the result of `amounts` has changed. */
  amountsChanged(): void;
  /**
   * Called when a plugin has connected, gone, or reported; `differs` is true for devices whose state has
   * changed.
   */
  devicesChanged(resource: Resource, differs: (id: string) => boolean): void;
}

/** The device plugins of a node, and their resources. */
export class DevicePlugins {
  readonly #options: DevicePluginsOptions;
  readonly #resources = new Map<string, Resource>();
  /** Resources whose plugin is gone for good: their amount in the Node is 0. */
  readonly #removed = new Set<string>();
  readonly #stop = new AbortController();
  /** Callbacks that wait for a report of a plugin. */
  readonly #waiting = new Set<() => void>();
  #server: RpcServer | undefined;
  #startedAt = 0;
  #announced = "";

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
  }

  /**
   * Serves `kubelet.sock`. `known` names resources from the checkpoint: they have no devices until their
   * plugins register again.
   */
  async start(known: Iterable<string>): Promise<void> {
    const { clock, directory, log } = this.#options;
    this.#startedAt = clock.now();
    for (const name of known) this.#resources.set(name, new Resource(name, this.#startedAt));
    this.#server = await serveRegistration({
      directory,
      log,
      connect: (resource, socket) => this.#connect(resource, socket),
    });
    if (this.#resources.size > 0) this.#expireLater();
    this.#announced = JSON.stringify(this.amounts());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const done of this.#waiting) done();
    for (const resource of this.#resources.values()) resource.close();
    await this.#server?.close(0);
  }

  get(name: string): Resource | undefined {
    return this.#resources.get(name);
  }

  all(): Iterable<Resource> {
    return this.#resources.values();
  }

  /**
   * Registers plugins of the type DevicePlugin whose sockets lie in `plugins_registry`, under the name of
   * their resource.
   */
  get registryHandler(): PluginHandler {
    return {
      register: async ({ name, supportedVersions }, endpoint) => {
        checkVersions(...supportedVersions);
        checkResourceName(name);
        await this.#connect(name, endpoint);
      },
      unregister: (name, endpoint) => this.#resources.get(name)?.disconnect(endpoint),
    };
  }

  async #connect(name: string, socket: string): Promise<void> {
    const { clock, log } = this.#options;
    const refuseMore = (): void => {
      if (!this.#resources.has(name) && this.#resources.size >= maxResources)
        throw new Error(`device plugins offer ${maxResources} resources on this node; no more are possible`);
    };
    refuseMore();
    const endpoint = await connectEndpoint(name, socket, { clock, log, signal: this.#stop.signal });
    try {
      refuseMore();
    } catch (error) {
      endpoint.close();
      throw error;
    }
    const resource = this.#resources.get(name) ?? new Resource(name, clock.now());
    this.#resources.set(name, resource);
    this.#removed.delete(name);
    resource.add(endpoint);
    this.#options.registered(name);
    log.info({ resource: name, socket }, "device plugin registered");
    void this.#watch(resource, endpoint);
  }

  async #watch(resource: Resource, endpoint: Endpoint): Promise<void> {
    const { clock, log } = this.#options;
    const { name } = resource;
    try {
      await endpoint.watch((devices) => this.#change(resource, () => resource.report(endpoint, devices)));
      log.info({ resource: name, socket: endpoint.socket }, "device plugin ended");
    } catch (error) {
      log.warn({ resource: name, socket: endpoint.socket, err: error }, "device plugin lost");
    }
    if (this.#stop.signal.aborted) return;
    this.#change(resource, () => resource.remove(endpoint, clock.now()));
    if (resource.endpoint === undefined) this.#expireLater();
  }

  /** Changes the devices of a resource, and reports the difference. */
  #change(resource: Resource, change: () => void): void {
    const before = { devices: resource.devices, current: resource.current };
    change();
    const { devices, current } = resource;
    this.#announce();
    for (const done of this.#waiting) done();
    this.#options.devicesChanged(
      resource,
      (id) => before.current !== current || before.devices.get(id)?.healthy !== devices.get(id)?.healthy,
    );
  }

  /**
   * Capacity (all devices) and allocatable (healthy ones) by resource. A resource is removed, with the amount
   * 0, when its plugin has been away for 5 minutes.
   */
  amounts(): PluginResources {
    const now = this.#options.clock.now();
    const capacity: Record<string, string> = {};
    const allocatable: Record<string, string> = {};
    for (const [name, resource] of this.#resources)
      if (resource.expired(now)) {
        this.#resources.delete(name);
        this.#removed.add(name);
      } else {
        capacity[name] = String(resource.devices.size);
        allocatable[name] = String(resource.healthy().length);
      }
    for (const name of this.#removed) {
      capacity[name] = "0";
      allocatable[name] = "0";
    }
    return { capacity, allocatable };
  }

  #announce(): void {
    const now = JSON.stringify(this.amounts());
    if (now === this.#announced) return;
    this.#announced = now;
    this.#options.amountsChanged();
  }

  /** Schedules the removal of resources whose grace period is running. */
  #expireLater(): void {
    const cancel = this.#options.clock.after(stopGracePeriod, () => {
      this.#stop.signal.removeEventListener("abort", cancel);
      this.#announce();
    });
    this.#stop.signal.addEventListener("abort", cancel, { once: true });
  }

  /** Resolves when a plugin from before the start has registered again, or its time is over. */
  async returned(name: string): Promise<void> {
    const { clock } = this.#options;
    const isAway = (): boolean => {
      const resource = this.#resources.get(name);
      return resource !== undefined && !resource.reported && !this.#stop.signal.aborted;
    };
    for (;;) {
      const left = this.#startedAt + returnTimeout - clock.now();
      if (left <= 0 || !isAway()) return;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          cancel();
          this.#waiting.delete(done);
          resolve();
        };
        const cancel = clock.after(left, done);
        this.#waiting.add(done);
      });
    }
  }
}
