import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { type Clock, type Log, sleep } from "@dray/client";
import type { DevicePlugin, PluginDevice } from "@dray/driver/device-plugin";
import { readRegularFile } from "@dray/files";
import type { Options } from "./options.ts";

export interface SimulatedOptions
  extends Pick<Options, "resource" | "count" | "numaNodes" | "variable" | "unhealthyFile" | "deviceNodes"> {
  readonly clock: Clock;
  readonly log: Log;
}

/** Maximum size of the file with unhealthy devices. */
const maxBytes = 1 << 20;
/** Polling interval in addition to notifications of the file system, in milliseconds. */
const pollInterval = 2000;

/**
 * A device plugin without hardware: `gpu-0`, `gpu-1`, ... of a resource `DOMAIN/gpu`. Containers get a
 * variable with the IDs of their devices.
 */
export function simulatedDevices(options: SimulatedOptions): DevicePlugin {
  const { resource, count, numaNodes, variable, deviceNodes } = options;
  const kind = resource.slice(resource.indexOf("/") + 1);
  const devices = Array.from({ length: count }, (_, index): PluginDevice => {
    const id = `${kind}-${index}`;
    // Consecutive devices share a NUMA node, as on machines.
    return numaNodes === 0 ? { id } : { id, numaNodes: [Math.floor((index * numaNodes) / count)] };
  });
  return {
    name: resource,
    async *discover(signal) {
      for await (const unhealthy of unhealthyIds(options, signal))
        yield devices.map((device) =>
          unhealthy.has(device.id) ? { ...device, health: "Unhealthy" } : device,
        );
    },
    allocate: (ids) => ({
      env: { [variable]: ids.join() },
      ...(deviceNodes
        ? { devices: ids.map((id) => ({ hostPath: "/dev/null", containerPath: `/dev/${id}` })) }
        : {}),
    }),
  };
}

/** Yields the IDs in the file now and after each change. A missing file has none. */
async function* unhealthyIds(
  { unhealthyFile, clock, log }: SimulatedOptions,
  signal: AbortSignal,
): AsyncGenerator<ReadonlySet<string>> {
  if (unhealthyFile === undefined) {
    yield new Set();
    return;
  }
  let woken = new AbortController();
  let watcher: FSWatcher | undefined;
  let last: string | undefined;
  try {
    while (!signal.aborted) {
      woken = new AbortController();
      watcher ??= watchFolder(dirname(unhealthyFile), () => woken.abort());
      try {
        const text = await read(unhealthyFile);
        if (text !== last) {
          last = text;
          yield new Set(text.split("\n").map((line) => line.trim()));
        }
      } catch (error) {
        log.warn(
          { file: unhealthyFile, error: (error as Error).message },
          "Unhealthy devices cannot be read",
        );
        if (last === undefined) {
          last = "";
          yield new Set();
        }
      }
      await sleep(clock, pollInterval, AbortSignal.any([signal, woken.signal]));
    }
  } finally {
    watcher?.close();
  }
}

function watchFolder(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // The folder may be created later: polling finds the file.
    return undefined;
  }
}

async function read(path: string): Promise<string> {
  try {
    return (await readRegularFile(path, { maxBytes })).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
