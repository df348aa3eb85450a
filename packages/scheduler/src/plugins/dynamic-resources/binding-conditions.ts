/** Devices that become ready for a node only after they are allocated (KEP-5007). */
import type { ResourceClaim } from "@dray/api/resource/v1";

/** Milliseconds that devices may take to become ready (DynamicResourcesArgs.bindingTimeout). */
export const defaultBindingTimeout = 600_000;

export type BindingState =
  | { readonly type: "ready" }
  | { readonly type: "waiting" }
  | { readonly type: "failed"; readonly message: string };

/** Reports whether a device of the allocation has to become ready before its pods may be bound. */
export function hasBindingConditions(claim: ResourceClaim): boolean {
  const results = claim.status?.allocation?.devices?.results ?? [];
  return results.some(({ bindingConditions }) => (bindingConditions ?? []).length > 0);
}

/** State of the binding conditions of an allocated claim, as drivers report it. */
export function bindingState(claim: ResourceClaim): BindingState {
  let waiting = false;
  for (const result of claim.status?.allocation?.devices?.results ?? []) {
    const wanted = result.bindingConditions ?? [];
    if (wanted.length === 0) continue;
    const conditions =
      claim.status?.devices?.find(
        ({ driver, pool, device, shareID }) =>
          driver === result.driver &&
          pool === result.pool &&
          device === result.device &&
          shareID === result.shareID,
      )?.conditions ?? [];
    const isTrue = (type: string): boolean =>
      conditions.some((condition) => condition.type === type && condition.status === "True");
    for (const type of result.bindingFailureConditions ?? []) {
      const condition = conditions.find((other) => other.type === type && other.status === "True");
      if (condition === undefined) continue;
      const { reason, message } = condition;
      const text = `claim=${claim.metadata.name}, reason=${reason}, message=${JSON.stringify(message)}`;
      return { type: "failed", message: `device binding failed: ${text}` };
    }
    waiting ||= !wanted.every(isTrue);
  }
  return { type: waiting ? "waiting" : "ready" };
}

/**
 * Until when the devices of a claim may take, in milliseconds since the epoch. The time runs from the
 * allocation, also for a scheduler that was started later.
 */
export function bindingDeadline(claim: ResourceClaim, timeout: number): number | undefined {
  const since = claim.status?.allocation?.allocationTimestamp;
  return since === undefined ? undefined : Date.parse(since) + timeout;
}

/** Reports whether an allocation has to be given up: its devices failed, or had their time. */
export function isLost(claim: ResourceClaim, timeout: number, now: number): boolean {
  const state = bindingState(claim);
  if (state.type !== "waiting") return state.type === "failed";
  const deadline = bindingDeadline(claim, timeout);
  return deadline !== undefined && deadline < now;
}
