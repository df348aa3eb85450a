import type { Endpoint } from "./endpoint.ts";
import type { Device } from "./topology.ts";

/** Milliseconds after which a resource without a plugin has no capacity, as upstream. */
export const stopGracePeriod = 5 * 60_000;

/** Maximum number of connected instances of a plugin; an update needs two. */
const maxInstances = 4;

interface Instance {
  readonly endpoint: Endpoint;
  devices: ReadonlyMap<string, Device> | undefined;
}

/** A resource that a device plugin offers, or did until recently. */
export class Resource {
  readonly name: string;
  /** In the order of registration; the last one counts. */
  readonly #instances: Instance[] = [];
  #devices: ReadonlyMap<string, Device> = new Map();
  #reported = false;
  /** When the last plugin disconnected; undefined while there is one. */
  #stoppedAt: number | undefined;
  #preStartRequired = false;
  #choosing: Promise<unknown> = Promise.resolve();

  /** Creates a resource without a plugin. */
  constructor(name: string, now: number) {
    this.name = name;
    this.#stoppedAt = now;
  }

  /** True once a plugin has reported its devices since the start of this agent. */
  get reported(): boolean {
    return this.#reported;
  }

  /** True while a plugin is connected that has reported its devices. */
  get current(): boolean {
    return this.#instances.at(-1)?.devices !== undefined;
  }

  /** All devices in the plugin's order; unhealthy if the plugin is gone. */
  get devices(): ReadonlyMap<string, Device> {
    return this.#devices;
  }

  healthy(): Device[] {
    return [...this.#devices.values()].filter(({ healthy }) => healthy);
  }

  /** The plugin to call; undefined if it is gone. */
  get endpoint(): Endpoint | undefined {
    return this.#instances.at(-1)?.endpoint;
  }

  /** Option of the plugin that registered last, whether or not it is connected. */
  get preStartRequired(): boolean {
    return this.#preStartRequired;
  }

  /** Ends the instance with this socket. */
  disconnect(socket: string): void {
    for (const { endpoint } of this.#instances) if (endpoint.socket === socket) endpoint.close();
  }

  /** True once the plugin has been away for so long that the resource counts as removed. */
  expired(now: number): boolean {
    return this.#stoppedAt !== undefined && now - this.#stoppedAt >= stopGracePeriod;
  }

  /** Adds an instance, which replaces earlier ones; one with the same socket is closed. */
  add(endpoint: Endpoint): void {
    const same = this.#instances.findIndex(({ endpoint: old }) => old.socket === endpoint.socket);
    if (same >= 0) for (const old of this.#instances.splice(same, 1)) old.endpoint.close();
    while (this.#instances.length >= maxInstances) this.#instances.shift()?.endpoint.close();
    this.#instances.push({ endpoint, devices: undefined });
    this.#stoppedAt = undefined;
    this.#preStartRequired = endpoint.options.preStartRequired;
  }

  /** Takes the report of an instance. */
  report(endpoint: Endpoint, devices: readonly Device[]): void {
    const instance = this.#instances.find((one) => one.endpoint === endpoint);
    if (instance === undefined) return;
    instance.devices = new Map(devices.map((device) => [device.id, device]));
    // The predecessor counts until a successor has reported.
    if (instance !== this.#reporting()) return;
    this.#devices = instance.devices;
    this.#reported = true;
  }

  /** Removes an instance: another one takes over, or all devices become unhealthy. */
  remove(endpoint: Endpoint, now: number): void {
    const index = this.#instances.findIndex((one) => one.endpoint === endpoint);
    if (index < 0) return;
    this.#instances.splice(index, 1);
    const reporting = this.#reporting();
    if (reporting?.devices !== undefined) this.#devices = reporting.devices;
    if (this.#instances.length > 0) return;
    this.#stoppedAt = now;
    this.#devices = new Map([...this.#devices].map(([id, device]) => [id, { ...device, healthy: false }]));
  }

  #reporting(): Instance | undefined {
    return this.#instances.findLast(({ devices }) => devices !== undefined);
  }

  /** Serializes choices, so that no device is chosen twice while the plugin computes its preference. */
  choosing<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#choosing.then(work, work);
    this.#choosing = next.catch(() => {});
    return next;
  }

  close(): void {
    for (const { endpoint } of this.#instances.splice(0)) endpoint.close();
  }
}
