import { canonicalJSON, decodeJSON, StatusError } from "@dray/api";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, createWorkQueue, hasReached, type Log, refOf } from "@dray/client";
import { aborted } from "../shared/aborted.ts";
import { checkDriverName } from "../shared/names.ts";
import { withResourceVersions } from "../versions/client.ts";
import { type Election, whileLeading } from "./election.ts";

/** A claim that has given its devices back. */
export interface ReleasedClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** The driver's devices that the claim had, as its status named them. */
  readonly devices: readonly DeviceRequestAllocationResult[];
}

export interface FinalizeClaimsOptions {
  /** Name of the driver. */
  readonly name: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The finalizer on claims; `<name>/clean-up` by default. */
  readonly finalizer?: string;
  /**
   * Which devices of the driver this instance cleans up after, where several share the work; all by default.
   * One instance has to own all devices of an allocation.
   */
  readonly owns?: (device: DeviceRequestAllocationResult) => boolean;
  /** Where more than one instance owns a device, the leader alone cleans up. */
  readonly election?: Election;
  /**
   * Cleans up after a claim that is no longer allocated: no pod uses it, and its devices are unprepared.
   * Until it resolves the claim stays. Called for different claims side by side (10), and again after a
   * restart or an error: it must be idempotent. Its errors are logged, and it is tried again with back-off (1
   * s to 1 min).
   */
  cleanUp(claim: ReleasedClaim, signal: AbortSignal): Promise<void>;
}

const concurrency = 10;
const errorDelays = { baseDelay: 1000, maxDelay: 60_000 } as const;
/** How often a write that meets another is tried again. */
const maxConflicts = 20;

/**
 * Keeps the claims that get devices of a driver, by a finalizer, until the driver has cleaned up after them:
 * what `unprepare` on the node does not do, such as releasing what a central service has for the claim. The
 * devices of a claim are written into an annotation of it, since the allocation is gone by the time of the
 * clean-up. Runs until the signal aborts.
 *
 * A claim that is allocated and deleted before the finalizer is on it goes without a clean-up: where that
 * matters, `prepare` can refuse a claim whose `metadata.finalizers` lack it, which the kubelet asks for
 * again.
 *
 * It needs `resourceclaims` get, list, watch, update, and for an election `leases` (coordination.k8s.io) get,
 * create, update.
 */
export async function finalizeClaims(options: FinalizeClaimsOptions): Promise<void> {
  checkDriverName(options.name);
  return whileLeading(options, (signal) => finalizeUntil(options, signal));
}

async function finalizeUntil(options: FinalizeClaimsOptions, signal: AbortSignal): Promise<void> {
  const { name, clock, log, owns = () => true } = options;
  const finalizer = options.finalizer ?? `${name}/clean-up`;
  const annotation = `${name}/allocated-devices`;
  const client = withResourceVersions(options.client, clock);
  const resource = client.resource(ResourceClaim);
  const informer = client.informer(ResourceClaim);
  const queue = createWorkQueue({
    name: "claim-finalizer",
    clock,
    log,
    concurrency,
    ...errorDelays,
    reconcile,
  });
  const enqueue = (claim: ResourceClaim): void => {
    if (stepOf(claim) !== undefined) queue.add(`${claim.metadata.namespace}/${claim.metadata.name}`);
  };
  informer.handle({ add: enqueue, update: enqueue });
  try {
    await informer.start(signal);
    await aborted(signal);
  } finally {
    await queue.close();
  }

  /** Devices of the driver in the claim; undefined: none. */
  function allocatedTo({ status }: ResourceClaim): Allocation | undefined {
    const { devices, allocationTimestamp } = status?.allocation ?? {};
    const own = (devices?.results ?? []).filter((result) => result.driver === name && owns(result));
    if (own.length === 0) return undefined;
    return { ...(allocationTimestamp !== undefined && { since: allocationTimestamp }), devices: own };
  }

  /** Devices of the claim when the annotation was written. Throws if the annotation is damaged. */
  function recordedIn({ metadata }: ResourceClaim): Allocation | undefined {
    const text = metadata.annotations?.[annotation];
    if (text === undefined) return undefined;
    const recorded = allocationOf(text);
    if (recorded !== undefined) return recorded;
    throw new Error(
      `annotation ${annotation} of claim ${metadata.namespace}/${metadata.name} is damaged: ${text}; clean up by hand, ` +
        `then remove the finalizer ${finalizer}`,
    );
  }

  function stepOf(claim: ResourceClaim): "record" | "clean up" | undefined {
    const current = allocatedTo(claim);
    const text = claim.metadata.annotations?.[annotation];
    const deleted = claim.metadata.deletionTimestamp !== undefined;
    if (!claim.metadata.finalizers?.includes(finalizer))
      return current === undefined || deleted ? undefined : "record";
    // One that had the finalizer from the start, and no device, may go; with `owns` it may be another
    // instance's.
    if (text === undefined)
      return current !== undefined || (deleted && options.owns === undefined) ? "record" : undefined;
    if (current !== undefined && text === canonicalJSON(current)) return undefined;
    return allocationOf(text)?.devices.every(owns) === false ? undefined : "clean up";
  }

  async function reconcile(key: string): Promise<void> {
    const claim = informer.get(refOf(key));
    const step = claim && stepOf(claim);
    if (claim === undefined || step === undefined || signal.aborted) return;
    if (step === "clean up") {
      const { uid, namespace = "", name } = claim.metadata;
      const { devices = [] } = recordedIn(claim) ?? {};
      await options.cleanUp({ uid, namespace, name, devices }, signal);
      if (signal.aborted) return;
      log.info({ claim: key, uid }, "Cleaned up after a claim");
    }
    const recorded = claim.metadata.annotations?.[annotation];
    const written = await write(claim, (fresh) =>
      // The clean-up of one allocation does not count for the next one.
      fresh.metadata.annotations?.[annotation] === recorded && stepOf(fresh) === step
        ? withRecord(fresh, allocatedTo(fresh), { finalizer, annotation })
        : undefined,
    );
    if (written !== undefined) await informer.until(() => hasReached(informer, written));
  }

  /** Undefined if the claim is gone, or nothing is to be written any more. */
  async function write(
    { metadata: { uid, namespace, name } }: ResourceClaim,
    change: (claim: ResourceClaim) => ResourceClaim | undefined,
  ): Promise<ResourceClaim | undefined> {
    for (let conflicts = 0; ; conflicts++) {
      try {
        const fresh = await resource.get({ namespace: namespace ?? "", name });
        const changed = fresh.metadata.uid === uid ? change(fresh) : undefined;
        return changed && (await resource.update(changed));
      } catch (error) {
        if (StatusError.is(error, "NotFound")) return undefined;
        if (!StatusError.is(error, "Conflict") || conflicts >= maxConflicts) throw error;
      }
    }
  }
}

/** Names of the finalizer and of the annotation that a driver puts on its claims. */
interface Marks {
  readonly finalizer: string;
  readonly annotation: string;
}

/** The claim with the marks for its devices; without them where it has none, or is being deleted. */
function withRecord(
  claim: ResourceClaim,
  current: Allocation | undefined,
  { finalizer, annotation }: Marks,
): ResourceClaim {
  const { finalizers = [], annotations = {}, ...metadata } = claim.metadata;
  const { [annotation]: _, ...others } = annotations;
  if (current === undefined) {
    const rest = finalizers.filter((one) => one !== finalizer);
    return { ...claim, metadata: { ...metadata, finalizers: rest, annotations: others } };
  }
  const all = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  const record = { ...others, [annotation]: canonicalJSON(current) };
  return { ...claim, metadata: { ...metadata, finalizers: all, annotations: record } };
}

interface Allocation {
  /** Distinguishes two allocations of one device, where the server writes when each was made. */
  readonly since?: string;
  readonly devices: readonly DeviceRequestAllocationResult[];
}

/** Undefined for a text that this file has not written. */
function allocationOf(text: string): Allocation | undefined {
  try {
    // Written by this program.
    const value = decodeJSON(text) as Allocation;
    return Array.isArray(value.devices) ? value : undefined;
  } catch {
    return undefined;
  }
}
