import { encodeJSON } from "@dray/api";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { capacityDemand, fitsBeside } from "../rules/consumable-capacity.ts";
import { type Alternative, type PreparedClaim, resultsLimit } from "../rules/prepared-claims.ts";
import { fails, firstUnmatched } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Inventory } from "./inventory.ts";
import type { Pool } from "./pools.ts";

/** Names of nodes, found one after the other as they are asked for. */
export interface Candidates extends Iterable<string> {
  has(node: string): boolean;
}

export interface CandidateIndexOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly inventory: Inventory;
}

/** Most kinds of requests whose counts are kept. */
const mostEntries = 64;
/** Nobody has counted since something changed. */
const uncounted = -1;
/** A device there fails the attempt, or a pool is invalid: only a search can say what comes of it. */
const uncertain = 0x7fff;

/** How many devices each node has for one kind of request. */
interface Entry {
  readonly alternative: Alternative;
  counts: Int16Array;
  /** Whether its selectors choose one of these devices, or fail. */
  shared: { readonly devices: readonly DeviceRecord[]; readonly some: boolean };
}

/** Which nodes have enough free devices for a request. Counted when asked for, and again only where something changed. */
export class CandidateIndex {
  readonly #options: CandidateIndexOptions;
  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #entries = new Map<string, Entry>();

  constructor(options: CandidateIndexOptions) {
    this.#options = options;
  }

  /**
   * Something came to a node or left it, or was taken or given back there. Of devices that nodes share no more is asked
   * than what never changes.
   */
  changed(node: string): void {
    let number = this.#numbers.get(node);
    if (number === undefined) {
      number = this.#names.length;
      this.#numbers.set(node, number);
      this.#names.push(node);
    }
    for (const entry of this.#entries.values())
      if (number < entry.counts.length) entry.counts[number] = uncounted;
  }

  /** Nothing that was counted holds any more. */
  clear(): void {
    this.#entries.clear();
  }

  /** Undefined: any node may do, or none can be told apart. */
  candidates(claims: readonly PreparedClaim[]): Candidates | undefined {
    const requests: { readonly entry: Entry; readonly count: number }[][] = [];
    for (const claim of claims) {
      if (claim.constraints.some((constraint) => "fault" in constraint)) return undefined;
      let least = 0;
      for (const { alternatives } of claim.requests) {
        const entries: { readonly entry: Entry; readonly count: number }[] = [];
        for (const alternative of alternatives) {
          if ("fault" in alternative || alternative.all || alternative.derived !== undefined)
            return undefined;
          entries.push({ entry: this.#entry(alternative), count: alternative.count });
        }
        requests.push(entries);
        least += Math.min(...entries.map(({ count }) => count));
      }
      // An error, whichever node is asked.
      if (least > resultsLimit) return undefined;
    }
    const shared = this.#options.inventory.shared();
    if (shared === undefined) return undefined;
    if (requests.flat().some(({ entry }) => this.#anyShared(entry, shared))) return undefined;
    const has = (number: number): boolean => {
      let all = true;
      for (const alternatives of requests) {
        let some = false;
        for (const { entry, count } of alternatives) {
          const found = this.#count(entry, number);
          if (found === uncertain) return true;
          some ||= found >= count;
        }
        all &&= some;
      }
      return all;
    };
    const names = this.#names;
    const numbers = this.#numbers;
    return {
      has(node) {
        const number = numbers.get(node);
        return number !== undefined
          ? has(number)
          : requests.every((all) => all.some(({ count }) => count === 0));
      },
      *[Symbol.iterator]() {
        for (let number = 0; number < names.length; number++) if (has(number)) yield names[number]!;
      },
    };
  }

  #entry(alternative: Alternative): Entry {
    const { lists, adminAccess, tolerations, requirements } = alternative;
    const texts = lists.map(({ selectors }) => selectors.map(({ expression }) => expression));
    const key = encodeJSON([texts, adminAccess, tolerations, requirements]);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      if (this.#entries.size >= mostEntries) this.#entries.delete(this.#entries.keys().next().value!);
      entry = { alternative, counts: new Int16Array(0), shared: { devices: [], some: false } };
      this.#entries.set(key, entry);
    }
    if (entry.counts.length < this.#names.length) {
      const larger = new Int16Array(Math.ceil(this.#names.length * 1.25)).fill(uncounted);
      larger.set(entry.counts);
      entry.counts = larger;
    }
    return entry;
  }

  #anyShared(entry: Entry, devices: readonly DeviceRecord[]): boolean {
    if (entry.shared.devices !== devices) {
      const some = devices.some((record) => {
        const unmatched = firstUnmatched(entry.alternative.lists, record);
        return unmatched === undefined || unmatched.verdict === fails;
      });
      entry.shared = { devices, some };
    }
    return entry.shared.some;
  }

  #count(entry: Entry, number: number): number {
    const known = entry.counts[number]!;
    if (known !== uncounted) return known;
    const view = this.#options.inventory.localView(this.#names[number]!);
    let count = 0;
    if (view.invalid) count = uncertain;
    for (let i = 0; i < view.devices.length && count !== uncertain; i++) {
      const served = this.#serves(entry.alternative, view.devices[i]!, view.poolOf[i]);
      if (served === uncertain) count = uncertain;
      else if (count < uncertain - 1) count += served;
    }
    entry.counts[number] = count;
    return count;
  }

  /** 1: the device may serve such a request now; 0: it cannot; `uncertain`: it fails the attempt. */
  #serves(alternative: Alternative, record: DeviceRecord, pool: Pool | undefined): 0 | 1 | typeof uncertain {
    const { features } = this.#options;
    const { device, state } = record;
    // What is in use is passed over before selectors are asked.
    if (state.owned && !alternative.adminAccess) return 0;
    if (!features.deviceBindingAndStatus && hasBindingConditions(device)) return 0;
    const unmatched = firstUnmatched(alternative.lists, record);
    if (unmatched !== undefined) return unmatched.verdict === fails ? uncertain : 0;
    if (features.consumableCapacity) {
      const demand = capacityDemand(record, alternative.requirements, this.#options);
      if (demand.type === "error") return uncertain;
      if (demand.type === "refused") return 0;
      if (!fitsBeside(demand.parts, state.consumed)) return 0;
    }
    if (untolerated(record.taints, alternative.tolerations) !== undefined) return 0;
    return this.#countersLeft(alternative, record, pool) ? 1 : 0;
  }

  #countersLeft(alternative: Alternative, record: DeviceRecord, pool: Pool | undefined): boolean {
    if (!consumesCounters(record.device)) return true;
    if (!this.#options.features.partitionableDevices) return false;
    if (alternative.adminAccess && this.#options.policies.adminAccessIgnoresCounters) return true;
    if (pool?.counters === undefined || record.state.shared) return true;
    const left = pool.counters.available();
    if (pool.counters.overdrawn) return false;
    const { counters, amounts } = pool.counters.consumption(record);
    return counters.every((counter, i) => left[counter]! >= amounts[i]!);
  }
}
