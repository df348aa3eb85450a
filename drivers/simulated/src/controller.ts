import type { DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { Client, Clock, Log } from "@dray/client";
import { type BindingDecision, type Election, publishPools, setBindingConditions } from "@dray/driver";
import { publishedPools } from "./driver.ts";
import type { FleetDevice, FleetDriver } from "./fleet/fleet.ts";
import type { DeviceHealths } from "./health.ts";

export interface ControllerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly election?: Election;
}

/**
 * What a driver does beside the nodes: it publishes pools that belong to none, and sets the binding conditions of its
 * devices. Undefined if there is nothing to do.
 */
export function runController(
  { name, pools }: FleetDriver,
  { client, clock, log, signal, election }: ControllerOptions,
): ((healths: DeviceHealths) => Promise<void>) | undefined {
  const network = pools.filter(({ reach }) => reach !== undefined);
  const binding = new Map(
    pools.flatMap((pool) =>
      pool.devices
        .filter(({ device }) => (device.bindingConditions?.length ?? 0) > 0)
        .map((device) => [JSON.stringify([pool.name, device.device.name]), device] as const),
    ),
  );
  if (network.length === 0 && binding.size === 0) return undefined;
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
    ];
    try {
      await Promise.all(parts);
    } finally {
      failed.abort();
      await Promise.allSettled(parts);
    }
  };
}

function decide(
  { metadata, status }: ResourceClaim,
  { pool, device }: DeviceRequestAllocationResult,
  known: ReadonlyMap<string, FleetDevice>,
  now: number,
): BindingDecision {
  const behaviour = known.get(JSON.stringify([pool, device]))?.behaviour;
  // Another process simulates it.
  if (behaviour === undefined) return { state: "Pending", retryAfter: 60_000 };
  const { after, fails } = behaviour.binds;
  const since = Date.parse(status?.allocation?.allocationTimestamp ?? metadata.creationTimestamp ?? "");
  const rest = since + after - now;
  if (rest > 0) return { state: "Pending", retryAfter: rest };
  if (fails !== undefined) return { state: "Failed", reason: "SimulatedFailure", message: fails };
  return { state: "Ready", reason: "Simulated" };
}
