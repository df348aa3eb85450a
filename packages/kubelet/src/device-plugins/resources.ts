import type { Endpoint } from "./endpoint.ts";
import type { Device } from "./topology.ts";

/** Time after which a resource whose plugin has gone has no capacity any more, as with the kubelet. */
export const stopGracePeriod = 5 * 60_000;

/** Instances of a plugin that are connected at a time; more than two overlap in no update. */
const maxInstances = 4;

interface Instance {
  readonly endpoint: Endpoint;
  devices: ReadonlyMap<string, Device> | undefined;
}

/** A resource that a device plugin offers, or did so a short while ago. */
export class Resource {
  readonly name: string;
  /** In the order of their registration; the last one counts. */
  readonly #instances: Instance[] = [];
  #devices: ReadonlyMap<string, Device> = new Map();
  #reported = false;
  /** When the last plugin went; undefined while there is one. */
  #stoppedAt: number | undefined;
  #preStartRequired = false;
  #choosing: Promise<unknown> = Promise.resolve();

  /** Without a plugin so far. */
  constructor(name: string, now: number) {
    this.name = name;
    this.#stoppedAt = now;
  }

  /** True once a plugin has said which devices there are, since this agent was started. */
  get reported(): boolean {
    return this.#reported;
  }

  /** True while a plugin is connected that has said which devices there are. */
  get current(): boolean {
    return this.#instances.at(-1)?.devices !== undefined;
  }

  /** All devices, in the plugin's order; none is healthy where the plugin has gone. */
  get devices(): ReadonlyMap<string, Device> {
    return this.#devices;
  }

  healthy(): Device[] {
    return [...this.#devices.values()].filter(({ healthy }) => healthy);
  }

  /** The plugin to call; undefined where it has gone. */
  get endpoint(): Endpoint | undefined {
    return this.#instances.at(-1)?.endpoint;
  }

  /** Of the plugin that registered last, whether or not it is still there. */
  get preStartRequired(): boolean {
    return this.#preStartRequired;
  }

  /** Ends the instance with that socket. */
  disconnect(socket: string): void {
    for (const { endpoint } of this.#instances) if (endpoint.socket === socket) endpoint.close();
  }

  /** True once the plugin has been away for so long that the resource counts as removed. */
  expired(now: number): boolean {
    return this.#stoppedAt !== undefined && now - this.#stoppedAt >= stopGracePeriod;
  }

  /** A plugin has registered, and takes the place of those before it; one with the same socket is replaced. */
  add(endpoint: Endpoint): void {
    const same = this.#instances.findIndex(({ endpoint: old }) => old.socket === endpoint.socket);
    if (same >= 0) for (const old of this.#instances.splice(same, 1)) old.endpoint.close();
    while (this.#instances.length >= maxInstances) this.#instances.shift()?.endpoint.close();
    this.#instances.push({ endpoint, devices: undefined });
    this.#stoppedAt = undefined;
    this.#preStartRequired = endpoint.options.preStartRequired;
  }

  /** What an instance has said. */
  report(endpoint: Endpoint, devices: readonly Device[]): void {
    const instance = this.#instances.find((one) => one.endpoint === endpoint);
    if (instance === undefined) return;
    instance.devices = new Map(devices.map((device) => [device.id, device]));
    // Until a successor has said something, its predecessor counts.
    if (instance !== this.#reporting()) return;
    this.#devices = instance.devices;
    this.#reported = true;
  }

  /** An instance has gone: another one takes over, or no device is healthy any more. */
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

  /** Runs one after the other, so that no device is chosen twice while the plugin thinks about its preference. */
  choosing<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#choosing.then(work, work);
    this.#choosing = next.catch(() => {});
    return next;
  }

  close(): void {
    for (const { endpoint } of this.#instances.splice(0)) endpoint.close();
  }
}
