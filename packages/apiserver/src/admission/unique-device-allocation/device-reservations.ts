import type { KubeObject } from "@dray/api";
import { forbidden } from "../../errors/status.ts";
import type { Reservation } from "../../kinds/strategy.ts";
import type { Storage } from "../../storage/storage.ts";
import { DeviceHolders, type TakenDevice } from "./device-holders.ts";
import { type DeviceUsage, followDevices, unversioned } from "./device-usage.ts";

const claimResource = { group: "resource.k8s.io", resource: "resourceclaims" };

/**
 * Reserves the devices that a write gives to a claim until the watch cache shows whether the claim was
 * stored: of two writes at the same time the second one sees the first.
 *
 * A refusal is 403, not 409: kube-scheduler repeats a write that conflicts with the same devices, five times,
 * and begins anew for any other error, with back-off and a newer cache.
 * Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, bindClaim.
 */
export class DeviceReservations {
  readonly #storage: Storage;
  readonly #usage: DeviceUsage | undefined;
  readonly #holders: DeviceHolders;
  readonly #prefix: string;

  constructor(storage: Storage, usage: DeviceUsage | undefined) {
    const claims = storage.cache(claimResource.resource);
    this.#storage = storage;
    this.#usage = usage;
    this.#holders = new DeviceHolders(claims);
    this.#prefix = claims.prefix;
    if (usage !== undefined) followDevices(storage, usage);
  }

  /** Throws 403 if a write of a claim would give it a device that another claim has. */
  check(namespace: string, name: string, claim: object): void {
    this.#take(`${this.#prefix}${namespace}/${name}`, claim)?.();
  }

  /** Reserves what a write gives to the claim `key`. Throws 403. */
  reserve(key: string, claim: KubeObject): Reservation {
    const end = this.#take(key, claim) ?? (() => {});
    return { commit: end, release: end, fail: () => void this.#storage.settled().then(end) };
  }

  /** Returns what ends the reservation; undefined if nothing is reserved. Throws 403. */
  #take(key: string, claim: object): (() => void) | undefined {
    const gained = this.#holders.gained(key, claim);
    if (gained.length === 0) return undefined;
    const name = key.slice(key.lastIndexOf("/") + 1);
    const taken = this.#holders.taken(gained);
    if (taken !== undefined) throw forbidden(claimResource, name, textOf(taken, this.#prefix));
    const results = gained.map(({ result }) => result);
    const giveBack = this.#usage?.reserve(unversioned(claim), { devices: { results } });
    if (typeof giveBack === "string") throw forbidden(claimResource, name, giveBack);
    const release = this.#holders.reserve(gained);
    return () => {
      release();
      giveBack?.();
    };
  }
}

function textOf({ device, holder, shared }: TakenDevice, prefix: string): string {
  const how = shared ? "is shared by" : "is allocated to";
  return `device ${device} ${how} claim ${holder.slice(prefix.length)}`;
}
