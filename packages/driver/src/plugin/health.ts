import type { Clock, Log } from "@dray/client";
import { HealthStatus, type NodeWatchResourcesResponse } from "@dray/rpc/drahealth/v1";
import { checkHealth } from "../shared/shapes.ts";
import type { DeviceHealth } from "../types/driver.ts";

/** The kubelet takes devices for unknown when nothing has come for 30 s: say the same again well before. */
const repeatEvery = 10_000;

const statuses = {
  Healthy: HealthStatus.HEALTHY,
  Unhealthy: HealthStatus.UNHEALTHY,
  Unknown: HealthStatus.UNKNOWN,
} as const;

/** Health report of a driver, in the kubelet's form. */
export async function* healthStream(
  health: (signal: AbortSignal) => AsyncIterable<readonly DeviceHealth[]>,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): AsyncGenerator<NodeWatchResourcesResponse> {
  const source = health(signal)[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<readonly DeviceHealth[]>> | undefined = source.next();
  let last: readonly DeviceHealth[] | undefined;
  try {
    while (!signal.aborted) {
      const waiting = pause(clock, signal);
      const result = await (next === undefined ? waiting.done : Promise.race([next, waiting.done]));
      waiting.cancel();
      if (signal.aborted) return;
      if (result?.done) next = undefined;
      else if (result !== undefined) {
        checkHealth(result.value);
        last = result.value;
        next = source.next();
      }
      if (last !== undefined) yield message(last, clock);
    }
  } catch (error) {
    // The kubelet hears of it too, and says no more than that the stream has ended.
    if (!signal.aborted)
      log.error({ error: (error as Error).message }, "Watching the health of devices failed");
    throw error;
  } finally {
    // Not awaited: a generator that waits for the signal returns only after that.
    source.return?.().catch(() => {});
  }
}

function message(devices: readonly DeviceHealth[], clock: Clock): NodeWatchResourcesResponse {
  return {
    devices: devices.map(({ pool, device, health, message = "" }) => ({
      device: { poolName: pool, deviceName: device },
      health: statuses[health],
      lastUpdatedTime: Math.floor(clock.now() / 1000),
      healthCheckTimeoutSeconds: 0,
      message: message.slice(0, 1024),
    })),
  };
}

/** Resolves when it is time to repeat, or with the signal. */
function pause(clock: Clock, signal: AbortSignal): { done: Promise<undefined>; cancel: () => void } {
  let cancel = (): void => {};
  const done = new Promise<undefined>((resolve) => {
    const stop = (): void => {
      cancelTimer();
      signal.removeEventListener("abort", stop);
      resolve(undefined);
    };
    const cancelTimer = clock.after(repeatEvery, stop);
    signal.addEventListener("abort", stop, { once: true });
    cancel = stop;
  });
  return { done, cancel };
}
