import { canonicalJSON } from "@dray/api";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, createWorkQueue, hasReached, type Log, refOf } from "@dray/client";
import {
  type DeviceCondition,
  type DeviceStatus,
  mergeStatus,
  sameDevice,
  writeClaimStatus,
} from "../claims/status.ts";
import { aborted } from "../shared/aborted.ts";
import { checkDriverName } from "../shared/names.ts";
import { withResourceVersions } from "../versions/client.ts";
import { type Election, whileLeading } from "./election.ts";

/** State of a device whose binding conditions are pending. */
export type BindingDecision =
  /** All its binding conditions become True: the pod can be bound. */
  | { readonly state: "Ready"; readonly reason?: string; readonly message?: string }
  /** A binding failure condition becomes True: the scheduler gives the device back and allocates anew. */
  | {
      readonly state: "Failed";
      /** Which of the device's binding failure conditions; the first by default. */
      readonly condition?: string;
      readonly reason?: string;
      readonly message?: string;
    }
  /**
   * Nothing yet: asked again when the claim changes, and after `retryAfter` milliseconds (5000 by default).
   */
  | { readonly state: "Pending"; readonly retryAfter?: number };

export interface BindingConditionsOptions {
  /** Name of the driver. */
  readonly name: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Where more than one instance runs, the leader alone decides. */
  readonly election?: Election;
  /**
   * Decides about one device that is allocated to a claim and has binding conditions of which not all are
   * True and none has failed. Called for different claims side by side (10), for one claim one device after
   * the other, and again after a restart or an error: it must be idempotent. Its errors are logged, and it is
   * tried again with back-off (1 s to 1 min).
   */
  decide(
    claim: ResourceClaim,
    device: DeviceRequestAllocationResult,
    signal: AbortSignal,
  ): Promise<BindingDecision>;
}

/** Milliseconds. */
const pendingRetry = 5000;
const concurrency = 10;
const errorDelays = { baseDelay: 1000, maxDelay: 60_000 } as const;

/**
 * The controller half of a driver whose devices have binding conditions (KEP-5007): the scheduler has
 * allocated a device and waits, up to 10 minutes by default, until all conditions that the device's slice
 * names are True in the claim's status before it binds the pod. This watches claims, asks `decide`, and sets
 * the conditions. Runs until the signal aborts.
 *
 * It needs `resourceclaims` get, list, watch, the rights of `claimStatusWriter` with `arbitrary-node:update`,
 * and for an election `leases` (coordination.k8s.io) get, create, update.
 */
export async function setBindingConditions(options: BindingConditionsOptions): Promise<void> {
  checkDriverName(options.name);
  return whileLeading(options, (signal) => decideUntil(options, signal));
}

async function decideUntil(options: BindingConditionsOptions, signal: AbortSignal): Promise<void> {
  const { name, clock, log } = options;
  const client = withResourceVersions(options.client, clock);
  const resource = client.resource(ResourceClaim);
  const informer = client.informer(ResourceClaim);
  const queue = createWorkQueue({
    name: "binding-conditions",
    clock,
    log,
    concurrency,
    ...errorDelays,
    reconcile,
  });
  const keyOf = ({ metadata }: ResourceClaim): string => `${metadata.namespace}/${metadata.name}`;
  const enqueue = (claim: ResourceClaim): void => {
    if (undecided(claim, name).length > 0) queue.add(keyOf(claim));
  };
  informer.handle({ add: enqueue, update: enqueue });
  try {
    await informer.start(signal);
    await aborted(signal);
  } finally {
    await queue.close();
  }

  async function reconcile(key: string): Promise<void> {
    const claim = informer.get(refOf(key));
    if (claim === undefined || signal.aborted) return;
    const statuses: DeviceStatus[] = [];
    const failures: unknown[] = [];
    for (const device of undecided(claim, name)) {
      try {
        const decision = await options.decide(claim, device, signal);
        const conditions = conditionsFor(device, decision);
        if (conditions.length > 0) statuses.push({ device, conditions });
        if (decision.state === "Pending") queue.addAfter(key, decision.retryAfter ?? pendingRetry);
      } catch (error) {
        failures.push(error);
      }
    }
    if (signal.aborted) return;
    if (statuses.length > 0) {
      const written = await writeClaimStatus(resource, claim.metadata, (fresh) =>
        // A decision for one allocation does not hold for the next one.
        allocationKey(fresh) === allocationKey(claim)
          ? mergeStatus(fresh, name, statuses, clock.now())
          : undefined,
      );
      await informer.until(() => hasReached(informer, written));
    }
    if (failures.length > 0) throw failures[0];
  }
}

function allocationKey({ status }: ResourceClaim): string {
  const { allocationTimestamp, devices } = status?.allocation ?? {};
  return canonicalJSON([allocationTimestamp ?? null, devices?.results ?? []]);
}

/** The driver's devices in the claim that wait for a decision. */
function undecided(claim: ResourceClaim, driver: string): DeviceRequestAllocationResult[] {
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const results = claim.status?.allocation?.devices?.results ?? [];
  return results.filter((result) => {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (result.driver !== driver || bindingConditions.length === 0) return false;
    const status = claim.status?.devices?.find((one) => one.driver === driver && sameDevice(one, result));
    const isTrue = (type: string): boolean =>
      status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
    return !bindingConditions.every(isTrue) && !bindingFailureConditions.some(isTrue);
  });
}

function conditionsFor(device: DeviceRequestAllocationResult, decision: BindingDecision): DeviceCondition[] {
  const { bindingConditions = [], bindingFailureConditions = [] } = device;
  if (decision.state === "Pending") return [];
  if (decision.state === "Ready") {
    const { reason = "Ready", message = "Device is ready" } = decision;
    return bindingConditions.map((type) => ({ type, status: "True", reason, message }));
  }
  const { condition = bindingFailureConditions[0], reason = "Failed", message = "" } = decision;
  if (condition === undefined || !bindingFailureConditions.includes(condition)) {
    throw new Error(
      `device ${device.pool}/${device.device} has no binding failure condition ${JSON.stringify(condition ?? "")}; ` +
        `it has ${bindingFailureConditions.map((one) => JSON.stringify(one)).join(", ") || "none"}`,
    );
  }
  return [{ type: condition, status: "True", reason, message }];
}
