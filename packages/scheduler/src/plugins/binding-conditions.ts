import type { ResourceClaim } from "@dray/api/resource/v1";

/** How long devices may take to become ready (KEP-5007; kube-scheduler's bindingTimeout), in milliseconds. */
export const bindingTimeout = 600_000;

/** Whether devices that have to be made ready for their node are (KEP-5007). */
export type BindingState =
  | { readonly type: "ready" }
  | { readonly type: "waiting" }
  | { readonly type: "failed"; readonly message: string };

/** What the drivers report of the devices of an allocated claim, against the binding conditions of its allocation. */
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
      const text = `claim ${claim.metadata.name} binding failed: reason=${reason}, message=${message}`;
      return { type: "failed", message: text };
    }
    waiting ||= !wanted.every(isTrue);
  }
  return { type: waiting ? "waiting" : "ready" };
}

/** Whether an allocation has to be given up: its devices failed, or had their time. */
export function isLost(claim: ResourceClaim, now: number): boolean {
  const state = bindingState(claim);
  if (state.type !== "waiting") return state.type === "failed";
  const since = claim.status?.allocation?.allocationTimestamp;
  return since !== undefined && now - Date.parse(since) > bindingTimeout;
}
