import type { Clock, Log } from "@dray/client";
import { RpcError, type Service, service } from "@dray/rpc";
import { type Device, DevicePluginDefinition } from "@dray/rpc/deviceplugin/v1beta1";
import { checkAllocated, checkPreferred } from "./check.ts";
import type { DevicePlugin } from "./plugin.ts";

/** Maximum length of an error's text in characters; the kubelet puts it into the pod's status. */
const maxErrorText = 4096;

/** The plugin's list of devices, and who waits for the next one. */
export class DeviceList {
  #devices: readonly Device[] | undefined;
  #version = 0;
  readonly #waiting = new Set<() => void>();

  get known(): boolean {
    return this.#devices !== undefined;
  }

  has(id: string): boolean {
    return this.#devices?.some((one) => one.ID === id) ?? false;
  }

  replace(devices: readonly Device[]): void {
    this.#devices = devices;
    this.#version++;
    for (const wake of [...this.#waiting]) wake();
  }

  /** The list now, and each later one; of those that come faster than they are taken the last. */
  async *follow(signal: AbortSignal): AsyncGenerator<readonly Device[]> {
    for (let seen = 0; !signal.aborted; ) {
      if (this.#devices !== undefined && seen !== this.#version) {
        seen = this.#version;
        yield this.#devices;
        continue;
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal.addEventListener("abort", wake, { once: true });
      });
    }
  }
}

export interface ServiceOptions {
  readonly plugin: DevicePlugin;
  readonly devices: DeviceList;
  readonly clock: Clock;
  readonly log: Log;
  /** Streams end when it aborts. */
  readonly signal: AbortSignal;
  /** The kubelet follows the devices, or has ceased to. */
  opened(): void;
  closed(): void;
}

/** Methods that the kubelet calls. */
export function devicePluginService(options: ServiceOptions): Service {
  const { plugin, devices, log } = options;
  /** With the text of whatever the author's code threw, so that the pod's status has it. */
  const reportErrors = async <T>(what: string, ids: readonly string[], run: () => Promise<T>): Promise<T> => {
    try {
      const unknown = ids.find((id) => !devices.has(id));
      if (unknown !== undefined)
        throw new RpcError(
          "NotFound",
          `${plugin.name} has no device ${JSON.stringify(unknown.slice(0, 100))}`,
        );
      return await run();
    } catch (error) {
      const text = (error instanceof Error ? error.message : String(error)).slice(0, maxErrorText);
      log.error({ resource: plugin.name, devices: ids.join(), error: text }, `${what} failed`);
      throw error instanceof RpcError ? error : new RpcError("Unknown", text);
    }
  };
  return service(DevicePluginDefinition, {
    getDevicePluginOptions: async () => ({
      preStartRequired: plugin.preStart !== undefined,
      getPreferredAllocationAvailable: plugin.preferred !== undefined,
    }),
    async *listAndWatch(_, { signal }) {
      options.opened();
      try {
        const both = AbortSignal.any([signal, options.signal]);
        for await (const list of devices.follow(both)) yield { devices: [...list] };
      } finally {
        options.closed();
      }
    },
    async getPreferredAllocation({ containerRequests }) {
      const containerResponses: { deviceIDs: string[] }[] = [];
      for (const {
        availableDeviceIDs: available,
        mustIncludeDeviceIDs: mustInclude,
        allocationSize,
      } of containerRequests)
        await reportErrors("preferred", [], async () => {
          const answer = await plugin.preferred?.({ available, mustInclude, size: allocationSize });
          containerResponses.push({ deviceIDs: checkPreferred(answer ?? []) });
        });
      return { containerResponses };
    },
    async allocate({ containerRequests }, { signal }) {
      const containerResponses: ReturnType<typeof checkAllocated>[] = [];
      for (const { devicesIds } of containerRequests)
        await reportErrors("allocate", devicesIds, async () => {
          containerResponses.push(checkAllocated(await plugin.allocate(devicesIds, signal)));
        });
      return { containerResponses };
    },
    async preStartContainer({ devicesIds }, { signal }) {
      await reportErrors("preStart", devicesIds, async () => plugin.preStart?.(devicesIds, signal));
      return {};
    },
  });
}
