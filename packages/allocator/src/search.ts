import type { DeviceTaint, DeviceToleration } from "@dray/api/resource/v1";
import type { Features } from "./allocator.ts";
import { AllocationError, type Candidate } from "./inventory.ts";
import { type Alternative, type PreparedClaim, resultsLimit } from "./requests.ts";

/** A device picked for a request. */
export interface Pick {
  readonly alternative: Alternative;
  readonly candidate: Candidate;
}

export interface SearchOptions {
  readonly features: Features;
  readonly claims: readonly PreparedClaim[];
  /** Devices of complete and valid pools, in order. */
  readonly candidates: readonly Candidate[];
  inUse(device: string): boolean;
  selectable(candidate: Candidate, alternative: Alternative, claim: string): boolean;
}

/** One device of one request, in the course of the search. */
interface Place {
  readonly claim: number;
  readonly request: number;
  /** Which of the request's devices. */
  readonly index: number;
  alternative: number;
  /** The next candidate to try. */
  cursor: number;
  picked: Candidate | undefined;
}

/** How many devices are looked at between two questions whether to stop. */
const stopInterval = 64;

/** Depth first, in upstream's order: claims, requests, alternatives, devices. The first solution is the answer. */
export class Search {
  readonly #options: SearchOptions;
  readonly #places: Place[] = [];
  /** For each device picked in this search, the claims that picked it. */
  readonly #picked = new Map<string, number[]>();
  #looked = 0;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** The picks of each claim; null: there is no solution; undefined: stopped, call again to go on. */
  run(shouldStop?: () => boolean): readonly (readonly Pick[])[] | null | undefined {
    if (this.#places.length === 0 && !this.#advance()) return this.#solution();
    for (;;) {
      if (shouldStop !== undefined && ++this.#looked % stopInterval === 0 && shouldStop()) return undefined;
      const place = this.#places.at(-1);
      if (place === undefined) return null;
      if (place.picked !== undefined) this.#unpick(place);
      if (this.#pick(place)) {
        if (!this.#advance()) return this.#solution();
      } else if (!this.#nextAlternative(place)) this.#places.pop();
    }
  }

  #alternative(place: Place): Alternative {
    return this.#options.claims[place.claim]!.requests[place.request]![place.alternative]!;
  }

  /** Opens the place after the last one; false: all requests are served. */
  #advance(): boolean {
    const last = this.#places.at(-1);
    if (last !== undefined && last.index + 1 < this.#alternative(last).count) {
      // Devices of one request ascend, so that no combination is tried twice.
      this.#places.push({ ...last, index: last.index + 1, picked: undefined });
      return true;
    }
    let claim = last?.claim ?? 0;
    let request = last === undefined ? 0 : last.request + 1;
    while (claim < this.#options.claims.length) {
      const requests = this.#options.claims[claim]!.requests;
      if (request < requests.length && !asksForNothing(requests[request]!)) break;
      if (request < requests.length) request++;
      else {
        claim++;
        request = 0;
      }
    }
    if (claim >= this.#options.claims.length) return false;
    this.#places.push({ claim, request, index: 0, alternative: 0, cursor: 0, picked: undefined });
    return true;
  }

  #nextAlternative(place: Place): boolean {
    const alternatives = this.#options.claims[place.claim]!.requests[place.request]!;
    if (place.index > 0 || place.alternative + 1 >= alternatives.length) return false;
    place.alternative++;
    place.cursor = 0;
    return true;
  }

  /** Finds the next device for a place, from its cursor on. Throws AllocationError. */
  #pick(place: Place): boolean {
    const alternative = this.#alternative(place);
    if (place.index === 0 && place.cursor === 0 && !this.#fitsLimit(place, alternative)) return false;
    if (alternative.all !== undefined) {
      // The devices are fixed: the place of number n takes the n-th or nothing.
      if (place.cursor > place.index) return false;
      place.cursor = place.index + 1;
      const candidate = alternative.all[place.index];
      if (candidate === undefined || !this.#free(candidate, alternative, place.claim)) return false;
      return this.#take(place, alternative, candidate);
    }
    const { candidates, claims } = this.#options;
    while (place.cursor < candidates.length) {
      const candidate = candidates[place.cursor++]!;
      if (!this.#free(candidate, alternative, place.claim)) continue;
      if (!this.#options.selectable(candidate, alternative, claims[place.claim]!.name)) continue;
      if (this.#take(place, alternative, candidate)) return true;
    }
    return false;
  }

  #fitsLimit(place: Place, alternative: Alternative): boolean {
    const before = this.#places.filter((other) => other !== place && other.claim === place.claim).length;
    // What the later requests need at least is counted in, or the search would find that out the long way.
    const later = this.#options.claims[place.claim]!.requests.slice(place.request + 1);
    const least = later.map((alternatives) => Math.min(...alternatives.map(({ count }) => count)));
    return before + alternative.count + least.reduce((sum, count) => sum + count, 0) <= resultsLimit;
  }

  /** Admin access shares with everyone but its own claim (KEP-5018). */
  #free(candidate: Candidate, alternative: Alternative, claim: number): boolean {
    const pickers = this.#picked.get(candidate.id);
    if (alternative.adminAccess) return pickers?.includes(claim) !== true;
    return pickers === undefined && !this.#options.inUse(candidate.id);
  }

  #take(place: Place, alternative: Alternative, candidate: Candidate): boolean {
    const { device } = candidate;
    if ((device.consumesCounters ?? []).length > 0) return false;
    if (this.#options.features.deviceTaints && !tolerates(alternative.tolerations, device.taints ?? []))
      return false;
    const { constraints, name } = this.#options.claims[place.claim]!;
    for (let i = 0; i < constraints.length; i++) {
      if (constraints[i]!.add(alternative.request, alternative.subrequest, candidate)) continue;
      for (let k = i - 1; k >= 0; k--) constraints[k]!.remove(alternative.request, alternative.subrequest);
      if (alternative.all === undefined) return false;
      throw new AllocationError(
        `claim ${name}, request ${alternative.subrequest ?? alternative.request}: cannot add device ${candidate.id} because a claim constraint would not be satisfied`,
      );
    }
    place.picked = candidate;
    const pickers = this.#picked.get(candidate.id);
    if (pickers === undefined) this.#picked.set(candidate.id, [place.claim]);
    else pickers.push(place.claim);
    return true;
  }

  #unpick(place: Place): void {
    const alternative = this.#alternative(place);
    const id = place.picked!.id;
    for (const constraint of this.#options.claims[place.claim]!.constraints) {
      constraint.remove(alternative.request, alternative.subrequest);
    }
    const pickers = this.#picked.get(id)!;
    pickers.pop();
    if (pickers.length === 0) this.#picked.delete(id);
    place.picked = undefined;
  }

  #solution(): Pick[][] {
    return this.#options.claims.map((_, claim) =>
      this.#places
        .filter((place) => place.claim === claim)
        .map((place) => ({ alternative: this.#alternative(place), candidate: place.picked! })),
    );
  }
}

/** A count of zero, which no API server stores. */
function asksForNothing(alternatives: readonly Alternative[]): boolean {
  return alternatives.every((alternative) => alternative.all === undefined && alternative.count === 0);
}

/** Whether every taint that keeps pods away is tolerated (KEP-5055). */
export function tolerates(tolerations: readonly DeviceToleration[], taints: readonly DeviceTaint[]): boolean {
  return taints.every((taint) => untolerated(tolerations, taint) === undefined);
}

/** The taint itself where nothing tolerates it and it matters. */
export function untolerated(
  tolerations: readonly DeviceToleration[],
  taint: DeviceTaint,
): DeviceTaint | undefined {
  if (taint.effect !== "NoSchedule" && taint.effect !== "NoExecute") return undefined;
  const tolerated = tolerations.some((toleration) => {
    if (toleration.effect && toleration.effect !== taint.effect) return false;
    if (toleration.key && toleration.key !== taint.key) return false;
    if (toleration.operator === "Exists") return true;
    return (
      (toleration.operator ?? "") in { "": 0, Equal: 0 } && (toleration.value ?? "") === (taint.value ?? "")
    );
  });
  return tolerated ? undefined : taint;
}
