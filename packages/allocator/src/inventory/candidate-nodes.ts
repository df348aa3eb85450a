import { encodeJSON } from "@dray/api";
import { type DeviceRecord, hasBindingConditions } from "../devices/device-record.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { capacityDemand, fitsBeside } from "../rules/consumable-capacity.ts";
import { type Alternative, maxResults, type PreparedClaim } from "../rules/prepared-claims.ts";
import { fails, firstUnmatched } from "../rules/selectors.ts";
import { consumesCounters } from "../rules/shared-counters.ts";
import { untolerated } from "../rules/taints.ts";
import type { Inventory } from "./inventory.ts";
import type { Pool } from "./pools.ts";

/** Names of nodes, found while they are iterated. */
export interface Candidates extends Iterable<string> {
  has(node: string): boolean;
}

export interface CandidateIndexOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly inventory: Inventory;
}

/** Maximum number of kinds of requests whose counts are cached. */
const maxEntries = 64;
/** The node has changed since it was counted. */
const uncounted = -1;
/** A device of the node fails the attempt, or a pool is invalid: only a search can decide. */
const uncertain = 0x7fff;

/** By node, the number of devices for one kind of request. */
interface Entry {
  readonly alternative: Alternative;
  /** By number of the node. */
  counts: Int16Array;
  /** Whether its selectors match or fail on one of these multi-node devices. */
  multiNode: { readonly devices: readonly DeviceRecord[]; readonly matches: boolean };
}

interface EntryCount {
  readonly entry: Entry;
  readonly count: number;
}

/** Finds the nodes with enough free devices for a request. Counts lazily, and recounts changed nodes only. */
export class CandidateIndex {
  readonly #options: CandidateIndexOptions;
  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #entries = new Map<string, Entry>();

  constructor(options: CandidateIndexOptions) {
    this.#options = options;
  }

  /**
   * Invalidates the counts of a node whose devices have changed, or have been allocated or freed. The index
   * uses only constant properties of multi-node devices.
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

  clear(): void {
    this.#entries.clear();
  }

  /** Returns undefined if the index cannot rule out any node. */
  candidates(claims: readonly PreparedClaim[]): Candidates | undefined {
    const requests = this.#countable(claims);
    const devices = requests && this.#options.inventory.independentDevices();
    if (requests === undefined || devices === undefined) return undefined;
    if (requests.flat().some(({ entry }) => this.#matchesAny(entry, devices))) return undefined;
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
          : requests.every((alternatives) => alternatives.some(({ count }) => count === 0));
      },
      *[Symbol.iterator]() {
        for (let number = 0; number < names.length; number++) if (has(number)) yield names[number]!;
      },
    };
  }

  /**
   * Returns the alternatives of each request; undefined if counts cannot decide, or if every node fails the
   * attempt.
   */
  #countable(claims: readonly PreparedClaim[]): EntryCount[][] | undefined {
    const requests: EntryCount[][] = [];
    for (const claim of claims) {
      if (claim.constraints.some((constraint) => "fault" in constraint)) return undefined;
      let minCount = 0;
      for (const { alternatives } of claim.requests) {
        const entries: EntryCount[] = [];
        for (const alternative of alternatives) {
          if ("fault" in alternative || alternative.all || alternative.derived !== undefined)
            return undefined;
          entries.push({ entry: this.#entry(alternative), count: alternative.count });
        }
        requests.push(entries);
        minCount += Math.min(...entries.map(({ count }) => count));
      }
      if (minCount > maxResults) return undefined;
    }
    return requests;
  }

  #entry(alternative: Alternative): Entry {
    const { lists, adminAccess, tolerations, requirements } = alternative;
    const expressions = lists.map(({ selectors }) => selectors.map(({ expression }) => expression));
    const key = encodeJSON([expressions, adminAccess, tolerations, requirements]);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined && this.#entries.size >= maxEntries) this.#entries.delete(oldest);
      entry = { alternative, counts: new Int16Array(0), multiNode: { devices: [], matches: false } };
      this.#entries.set(key, entry);
    }
    if (entry.counts.length < this.#names.length) {
      const larger = new Int16Array(Math.ceil(this.#names.length * 1.25)).fill(uncounted);
      larger.set(entry.counts);
      entry.counts = larger;
    }
    return entry;
  }

  /** Reports whether the selectors of an entry match or fail on one of the devices. */
  #matchesAny(entry: Entry, devices: readonly DeviceRecord[]): boolean {
    if (entry.multiNode.devices !== devices) {
      const matches = devices.some((record) => {
        const unmatched = firstUnmatched(entry.alternative.lists, record);
        return unmatched === undefined || unmatched.verdict === fails;
      });
      entry.multiNode = { devices, matches };
    }
    return entry.multiNode.matches;
  }

  #count(entry: Entry, number: number): number {
    const cached = entry.counts[number]!;
    if (cached !== uncounted) return cached;
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

  /** Returns 1 if the device can serve the request now, 0 if not, `uncertain` if it fails the attempt. */
  #serves(alternative: Alternative, record: DeviceRecord, pool: Pool | undefined): 0 | 1 | typeof uncertain {
    const { features } = this.#options;
    const { device, state } = record;
    // In the order of the search, which skips allocated devices before it evaluates selectors.
    if (state.isOwned && !alternative.adminAccess) return 0;
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
    return this.#hasCounters(alternative, record, pool) ? 1 : 0;
  }

  #hasCounters(alternative: Alternative, record: DeviceRecord, pool: Pool | undefined): boolean {
    if (!consumesCounters(record.device)) return true;
    if (!this.#options.features.partitionableDevices) return false;
    if (alternative.adminAccess && this.#options.policies.adminAccessIgnoresCounters) return true;
    if (pool?.counters === undefined || record.state.isShared) return true;
    const available = pool.counters.available();
    if (pool.counters.isOverdrawn) return false;
    const { counters, amounts } = pool.counters.consumption(record);
    return counters.every((counter, i) => available[counter]! >= amounts[i]!);
  }
}
