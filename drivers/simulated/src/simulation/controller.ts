import type { DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import {
  type BindingDecision,
  type Election,
  finalizeClaims,
  publishPools,
  setBindingConditions,
} from "@dray/driver";
import type { FleetDevice, FleetDriver } from "../fleet/fleet.ts";
import { publishedPools } from "./driver.ts";
import type { DeviceHealths } from "./health.ts";

export interface ControllerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly election?: Election;
}

/**
 * The part of a driver that runs beside the nodes: it publishes pools that belong to none, sets the binding
 * conditions of its devices, and keeps claims until it has cleaned up after them. Undefined if there is
 * nothing to do.
 */
export function runController(
  { name, pools }: FleetDriver,
  { client, clock, log, signal, election }: ControllerOptions,
): ((healths: DeviceHealths) => Promise<void>) | undefined {
  const network = pools.filter(({ reach }) => reach !== undefined);
  const devicesThat = (choose: (device: FleetDevice) => boolean): ReadonlyMap<string, FleetDevice> =>
    new Map(
      pools.flatMap((pool) =>
        pool.devices
          .filter(choose)
          .map((device) => [keyOf({ pool: pool.name, device: device.device.name }), device] as const),
      ),
    );
  const binding = devicesThat(({ device }) => (device.bindingConditions?.length ?? 0) > 0);
  const cleaned = devicesThat(({ behaviour }) => behaviour.cleanUp !== undefined);
  if (network.length === 0 && binding.size === 0 && cleaned.size === 0) return undefined;
  const common = { name, client, clock, log };
  return async (healths) => {
    // When one of them fails both are started again.
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const parts = [
      ...(network.length === 0
        ? []
        : [
            publishPools({
              ...common,
              ...(election && { election }),
              signal: either,
              discover: (inner) => publishedPools(network, healths, inner),
            }),
          ]),
      ...(binding.size === 0
        ? []
        : [
            setBindingConditions({
              ...common,
              signal: either,
              decide: async (claim, result) => decide(claim, result, binding, clock.now()),
            }),
          ]),
      ...(cleaned.size === 0
        ? []
        : [
            finalizeClaims({
              ...common,
              signal: either,
              owns: (result) => cleaned.has(keyOf(result)),
              cleanUp: ({ devices }, inner) =>
                cleanUp(
                  // `owns` accepts only results whose device is known.
                  devices.map((each) => ({ pool: each.pool, device: cleaned.get(keyOf(each))! })),
                  healths,
                  clock,
                  inner,
                ),
            }),
          ]),
    ];
    try {
      await Promise.all(parts);
    } finally {
      failed.abort();
      await Promise.allSettled(parts);
    }
  };
}

type DevicePlace = Pick<DeviceRequestAllocationResult, "pool" | "device">;
const keyOf = ({ pool, device }: DevicePlace): string => JSON.stringify([pool, device]);

/** Takes as long as the slowest of the devices, and waits for those that are unhealthy. */
async function cleanUp(
  devices: readonly { readonly pool: string; readonly device: FleetDevice }[],
  healths: DeviceHealths,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await sleep(clock, Math.max(0, ...devices.map(({ device }) => device.behaviour.cleanUp ?? 0)), signal);
  for await (const _ of healths.changes(signal))
    if (devices.every(({ pool, device }) => healths.of(pool, device).health !== "Unhealthy")) return;
}

function decide(
  { metadata, status }: ResourceClaim,
  { pool, device }: DeviceRequestAllocationResult,
  known: ReadonlyMap<string, FleetDevice>,
  now: number,
): BindingDecision {
  const behaviour = known.get(keyOf({ pool, device }))?.behaviour;
  // Another process simulates it.
  if (behaviour === undefined) return { state: "Pending", retryAfter: 60_000 };
  const { after, fails } = behaviour.binds;
  const since = Date.parse(status?.allocation?.allocationTimestamp ?? metadata.creationTimestamp ?? "");
  const rest = since + after - now;
  if (rest > 0) return { state: "Pending", retryAfter: rest };
  if (fails !== undefined) return { state: "Failed", reason: "SimulatedFailure", message: fails };
  return { state: "Ready", reason: "Simulated" };
}
