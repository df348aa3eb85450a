import { type Clock, type Log, sleep } from "@dray/client";
import { type Caller, type Channel, unixChannel } from "@dray/rpc";
import {
  type ContainerAllocateResponse,
  DevicePluginDefinition,
  type DevicePluginOptions,
  type ListAndWatchResponse,
} from "@dray/rpc/deviceplugin/v1beta1";
import { shortened } from "../base/text.ts";
import { checkResponse } from "./response.ts";
import { type Device, numaNodesOf } from "./topology.ts";

/** Milliseconds; as upstream. */
const dialTimeout = 10_000;
const preStartTimeout = 30_000;
/**
 * Timeouts of calls in milliseconds. Upstream has none here, so that a plugin that hangs blocks every pod of
 * the node. Two minutes for Allocate, as for requests to runtimes: some plugins program hardware in it.
 */
const optionsTimeout = 10_000;
const preferredTimeout = 30_000;
const allocateTimeout = 120_000;

/**
 * Maximum number of devices of a resource, shares of devices included; a message has at most 4 MiB anyway.
 */
const maxDevices = 65_536;
/** Maximum length of a device's ID in characters. */
const maxId = 512;
/** Maximum number of NUMA nodes of a device; Linux has at most 1024. */
const maxNumaNodes = 1024;

/** Maximum number of reports in `reportWindow` that are read without a delay. */
const maxReports = 50;
const reportWindow = 1000;
/** Minimum interval between two reports that are used; of those in between the last one counts. */
const reportInterval = 50;

/** A running device plugin, called by the socket with which it registered. */
export interface Endpoint {
  readonly resource: string;
  readonly socket: string;
  readonly options: DevicePluginOptions;
  /**
   * Reports the plugin's devices after each change. Resolves when the plugin ends its stream or the endpoint
   * is closed; rejects if a report is invalid. To be called once.
   */
  watch(report: (devices: readonly Device[]) => void): Promise<void>;
  /** Returns undefined if the plugin has no preference. */
  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ): Promise<readonly string[] | undefined>;
  allocate(ids: readonly string[]): Promise<ContainerAllocateResponse>;
  preStart(ids: readonly string[]): Promise<void>;
  /** Running calls end with Canceled. */
  close(): void;
}

export interface EndpointOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Connects to a plugin and gets its options. Rejects with upstream's message. */
export async function connectEndpoint(
  resource: string,
  socket: string,
  { clock, log, signal }: EndpointOptions,
): Promise<Endpoint> {
  let channel: Channel | undefined;
  const closing = new AbortController();
  const close = (): void => {
    signal.removeEventListener("abort", close);
    closing.abort();
    channel?.close();
  };
  signal.addEventListener("abort", close, { once: true });
  try {
    signal.throwIfAborted();
    try {
      channel = unixChannel(socket);
      await channel.ready(dialTimeout);
    } catch (error) {
      throw new Error(`failed to dial device plugin: ${(error as Error).message}`, { cause: error });
    }
    const caller = channel.caller(DevicePluginDefinition);
    const options = await caller
      .getDevicePluginOptions({}, { timeout: optionsTimeout, signal: closing.signal })
      .catch((error: Error) => {
        throw new Error(`failed to get device plugin options: ${error.message}`, { cause: error });
      });
    return endpoint({ resource, socket, options, caller, closing: closing.signal, close, clock, log });
  } catch (error) {
    close();
    throw error;
  }
}

interface Connected extends Pick<Endpoint, "resource" | "socket" | "options" | "close"> {
  readonly caller: Caller<typeof DevicePluginDefinition>;
  readonly closing: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

function endpoint(connected: Connected): Endpoint {
  const { resource, socket, options, caller, closing: signal, close } = connected;
  return {
    resource,
    socket,
    options,
    close,
    watch: (report) => watch(connected, report),
    async preferred(available, mustInclude, size) {
      if (!options.getPreferredAllocationAvailable) return undefined;
      const request = {
        availableDeviceIDs: [...available],
        mustIncludeDeviceIDs: [...mustInclude],
        allocationSize: size,
      };
      const { containerResponses } = await caller
        .getPreferredAllocation({ containerRequests: [request] }, { timeout: preferredTimeout, signal })
        .catch((error: Error) => {
          throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${error.message}`, {
            cause: error,
          });
        });
      return containerResponses[0]?.deviceIDs ?? [];
    },
    async allocate(ids) {
      const { containerResponses } = await caller.allocate(
        { containerRequests: [{ devicesIds: [...ids] }] },
        { timeout: allocateTimeout, signal },
      );
      const [response] = containerResponses;
      if (response === undefined) throw new Error("no containers return in allocation response");
      checkResponse(response);
      return response;
    },
    async preStart(ids) {
      if (!options.preStartRequired) return;
      await caller
        .preStartContainer({ devicesIds: [...ids] }, { timeout: preStartTimeout, signal })
        .catch((error: Error) => {
          throw new Error(`device plugin PreStartContainer rpc failed with err: ${error.message}`, {
            cause: error,
          });
        });
    },
  };
}

/** Reads reports at a limited rate: a plugin that floods its stream is slowed down. */
async function watch(
  { caller, closing, clock, log, resource, close }: Connected,
  report: (devices: readonly Device[]) => void,
): Promise<void> {
  let latest: readonly Device[] | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;
  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    if (latest === undefined) return;
    const devices = latest;
    latest = undefined;
    reportedAt = clock.now();
    report(devices);
  };
  let since = clock.now();
  let count = 0;
  try {
    for await (const message of caller.listAndWatch({}, { signal: closing })) {
      latest = devicesOf(message);
      const wait = reportedAt + reportInterval - clock.now();
      if (wait <= 0) flush();
      else cancel ??= clock.after(wait, flush);
      if (clock.now() - since >= reportWindow) {
        since = clock.now();
        count = 0;
      }
      if (++count < maxReports) continue;
      log.warn({ resource }, "a device plugin reports its devices more often than is read");
      await sleep(clock, reportWindow, closing);
    }
  } catch (error) {
    if (closing.aborted) return;
    throw error;
  } finally {
    cancel?.();
    close();
  }
}

/** Throws if there are more devices, or longer IDs, than a plugin can need. */
function devicesOf({ devices }: ListAndWatchResponse): readonly Device[] {
  if (devices.length > maxDevices)
    throw new Error(`the plugin reports ${devices.length} devices, more than ${maxDevices}`);
  // The last of several devices with one ID counts, as upstream.
  const byId = new Map<string, Device>();
  for (const { ID: id, health, topology } of devices) {
    if (id === "" || id.length > maxId)
      throw new Error(
        `the plugin reports a device whose ID ${JSON.stringify(shortened(id, 100))} has ${id.length} characters; 1 to ${maxId} are possible`,
      );
    const nodes = topology?.nodes ?? [];
    if (nodes.length > maxNumaNodes)
      throw new Error(
        `the plugin reports ${nodes.length} NUMA nodes of device ${JSON.stringify(id)}, more than ${maxNumaNodes}`,
      );
    // Linux reports node -1 for a device without one, and plugins pass it through.
    const numaNodes = numaNodesOf(nodes.map(({ ID }) => ID).filter((node) => node >= 0));
    byId.set(id, { id, healthy: health === "Healthy", numaNodes });
  }
  return [...byId.values()];
}
