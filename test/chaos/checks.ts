import { featuresOf } from "@dray/api";
import type { Pod, ResourceQuota } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { isReservedForPod } from "@dray/controllers/objects";
import { checkCapacity, checkCounters, devicesGivenTwice } from "../../packages/dray/src/doctor/devices.ts";
import { claimProblem } from "../../packages/dray/src/doctor/pods.ts";
import { devicesOf } from "../../packages/dray/src/inventory/devices.ts";
import { World } from "../../packages/dray/src/manifests/world.ts";
import { startedUnprepared } from "./pods.ts";

/** Objects that were read together. */
export interface Look {
  /** Pods that were the same before and after the claims were read. */
  readonly pods: readonly Pod[];
  readonly claims: readonly ResourceClaim[];
  readonly slices: readonly ResourceSlice[];
}

/**
 * Checks the invariants that hold at every moment; returns the violations. Where schedulers of one name
 * compete without a lease, one may give up the claim of a pod that the other is about to bind, as upstream.
 */
export function broken({ pods, claims, slices }: Look, schedulersCompete: boolean): string[] {
  return [
    ...sharedDevices({ pods, claims, slices }),
    ...unpreparedStarts(pods),
    ...(schedulersCompete ? [] : lostClaims(pods, claims)),
  ];
}

/**
 * A device, a share of its capacity and a counter are never given twice. Two schedulers may write the same
 * device into two claims; the one that sees it gives up before it binds its pod. So claims of pods with a
 * node count.
 */
function sharedDevices({ pods, claims, slices }: Look): string[] {
  const placed = Map.groupBy(
    pods.filter(({ spec }) => spec.nodeName),
    ({ metadata }) => metadata.namespace,
  );
  const used = claims.filter((claim) =>
    placed
      .get(claim.metadata.namespace!)
      ?.some(
        (pod) =>
          isReservedForPod(pod, claim, true) &&
          createdPodClaims(pod).some(({ name }) => name === claim.metadata.name),
      ),
  );
  const place = { source: { file: "the cluster" } };
  const world = new World([...used, ...slices].map((object) => ({ object, place })) as never);
  const devices = devicesOf(world, featuresOf());
  return [
    ...devicesGivenTwice(used).map(
      ({ id, holders }) =>
        `device ${id} is allocated to ${holders.map(({ claim }) => claim.metadata.name).join(" and to ")}`,
    ),
    ...[...checkCapacity({ world }, devices), ...checkCounters({ world }, devices)].map(
      ({ message, evidence }) => `${message}: ${evidence.join("; ")}`,
    ),
  ];
}

/**
 * A container never starts before its claims are prepared: the programs of the pods look for their devices.
 */
function unpreparedStarts(pods: readonly Pod[]): string[] {
  return pods.flatMap(({ metadata, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
      .filter(({ state, lastState }) =>
        [state, lastState].some((one) => one?.terminated?.exitCode === startedUnprepared),
      )
      .map(({ name }) => `container ${name} of ${metadata.name} started without its devices`),
  );
}

/** A claim of a running pod is allocated, and reserved for it. */
function lostClaims(pods: readonly Pod[], claims: readonly ResourceClaim[]): string[] {
  const key = (namespace: string | undefined, name: string): string => `${namespace}/${name}`;
  const byName = new Map(claims.map((claim) => [key(claim.metadata.namespace, claim.metadata.name), claim]));
  return pods
    .filter(({ metadata, status }) => status?.phase === "Running" && metadata.deletionTimestamp === undefined)
    .flatMap((pod) =>
      createdPodClaims(pod).flatMap(({ name }) => {
        const why = claimProblem(pod, name, byName.get(key(pod.metadata.namespace, name)), undefined);
        return why === undefined ? [] : [`${pod.metadata.name} runs and ${why}`];
      }),
    );
}

/** Namespaces with more claims than their quota allows. */
export function beyondQuota(quotas: readonly ResourceQuota[], claims: readonly ResourceClaim[]): string[] {
  return quotas.flatMap(({ metadata, spec }) => {
    const limit = spec?.hard?.["count/resourceclaims.resource.k8s.io"];
    const own = claims.filter((claim) => claim.metadata.namespace === metadata.namespace);
    return limit === undefined || own.length <= Number(limit)
      ? []
      : [`namespace ${metadata.namespace} has ${own.length} claims, and a quota of ${limit}`];
  });
}

/** Acknowledged writes, and requested deletions. */
export class Ledger {
  readonly #created = new Map<string, string>();
  readonly #uncertain = new Set<string>();
  readonly #deleting = new Set<string>();

  created(name: string, uid: string): void {
    this.#created.set(name, uid);
  }

  /** No answer came: it may be there or not. */
  uncertain(name: string): void {
    this.#uncertain.add(name);
  }

  /** From the moment that a deletion is asked for, it may be gone. */
  deleting(name: string): void {
    this.#deleting.add(name);
  }

  /** Names that are there or may be, and that nobody has asked to go. */
  get names(): string[] {
    return [...this.#created.keys(), ...this.#uncertain].filter((name) => !this.#deleting.has(name));
  }

  /** The objects acknowledged so far: every later list must contain them. */
  acknowledged(): ReadonlyMap<string, string> {
    return new Map(this.#created);
  }

  /**
   * Of acknowledged objects, those that are missing or another one, and that nobody has asked to go
   * meanwhile.
   */
  lost(acknowledged: ReadonlyMap<string, string>, pods: readonly Pod[]): string[] {
    const uids = new Map(pods.map(({ metadata }) => [metadata.name, metadata.uid]));
    return [...acknowledged]
      .filter(([name, uid]) => !this.#deleting.has(name) && uids.get(name) !== uid)
      .map(([name]) => `pod ${name} was acknowledged and is ${uids.has(name) ? "another one now" : "gone"}`);
  }
}
