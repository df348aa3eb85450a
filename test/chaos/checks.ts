import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { devicesGivenTwice } from "../../packages/dray/src/doctor/devices.ts";
import { claimProblem } from "../../packages/dray/src/doctor/pods.ts";
import { claimNames } from "../../packages/dray/src/plan/claims.ts";
import { startedUnprepared } from "./pods.ts";

/** What must hold at every moment, of pods and claims as one look at the server shows them; returns what does not. */
export function broken(pods: readonly Pod[], claims: readonly ResourceClaim[]): string[] {
  return [...sharedDevices(claims), ...unpreparedStarts(pods), ...lostClaims(pods, claims)];
}

/** A device is never allocated twice. */
function sharedDevices(claims: readonly ResourceClaim[]): string[] {
  return devicesGivenTwice(claims).map(
    ({ id, holders }) =>
      `device ${id} is allocated to ${holders.map(({ claim }) => claim.metadata.name).join(" and to ")}`,
  );
}

/** A container never starts before its claims are prepared: the programs of the pods look for their devices. */
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
  const byName = new Map(claims.map((claim) => [claim.metadata.name, claim]));
  return pods
    .filter(({ metadata, status }) => status?.phase === "Running" && metadata.deletionTimestamp === undefined)
    .flatMap((pod) =>
      claimNames(pod).flatMap(({ claim }) => {
        const why = claimProblem(pod, claim, byName.get(claim), undefined);
        return why === undefined ? [] : [`${pod.metadata.name} runs and ${why}`];
      }),
    );
}

/** What was written and acknowledged, and what was asked to go. */
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

  /** What has been acknowledged so far: whoever lists the objects after this must see it. */
  acknowledged(): ReadonlyMap<string, string> {
    return new Map(this.#created);
  }

  /** Of acknowledged objects, those that are missing or another one, and that nobody has asked to go meanwhile. */
  lost(acknowledged: ReadonlyMap<string, string>, pods: readonly Pod[]): string[] {
    const uids = new Map(pods.map(({ metadata }) => [metadata.name, metadata.uid]));
    return [...acknowledged]
      .filter(([name, uid]) => !this.#deleting.has(name) && uids.get(name) !== uid)
      .map(([name]) => `pod ${name} was acknowledged and is ${uids.has(name) ? "another one now" : "gone"}`);
  }
}
