import { consumption, fitsCapacity } from "./capacity.ts";
import { holds } from "./constraints.ts";
import { countersSuffice, groupsAgree, isShared } from "./counters.ts";
import {
  type Alternative,
  AttemptError,
  type Candidate,
  candidatesOf,
  isOn,
  maxResults,
  type Partial,
  type Pick,
  type Pool,
  type PreparedClaim,
  type Question,
  shortName,
  variantOf,
} from "./model.ts";
import { isSelectable } from "./selectors.ts";
import { toleratesAll } from "./taints.ts";

/** An alternative of a request, by the indexes of its claim and request. */
interface Place {
  readonly c: number;
  readonly r: number;
  readonly alternative: Alternative;
}

/** "tooMany": the claim exceeds the maximum number of devices, whichever devices are tried. */
type Outcome = Partial | "failed" | "tooMany";

/** Depth first: claims, requests, alternatives, devices. The first solution is the answer. */
export class Search {
  readonly #question: Question;
  readonly #claims: readonly PreparedClaim[];
  readonly #candidates: readonly Candidate[];

  constructor(question: Question, pools: readonly Pool[], claims: readonly PreparedClaim[]) {
    this.#question = question;
    this.#claims = claims;
    this.#candidates = pools.filter((pool) => pool.state === "usable").flatMap(candidatesOf);
  }

  /** Returns the first solution, or undefined. Throws AttemptError. */
  run(): Partial | undefined {
    const outcome = this.#serve(0, 0, { picks: [], chosen: [] });
    return typeof outcome === "string" ? undefined : outcome;
  }

  /** Serves request number `r` of claim number `c` and all that follow. */
  #serve(c: number, r: number, partial: Partial): Outcome {
    const claim = this.#claims[c];
    if (claim === undefined) return partial;
    const request = claim.requests[r];
    if (request === undefined) {
      const outcome = this.#serve(c + 1, 0, partial);
      return outcome === "tooMany" ? "failed" : outcome;
    }
    if (!request.isList) return this.#place({ c, r, alternative: request.alternatives[0]! }, 0, 0, partial);
    const outcomes = new Set<Outcome>();
    for (const alternative of request.alternatives) {
      const outcome = this.#place({ c, r, alternative }, 0, 0, partial);
      if (typeof outcome !== "string") return outcome;
      outcomes.add(outcome);
    }
    return outcomes.has("failed") ? "failed" : "tooMany";
  }

  /**
   * Finds device number `index` of an alternative, from candidate number `start` on, and then all that
   * follows.
   */
  #place(place: Place, index: number, start: number, partial: Partial): Outcome {
    const { c, r, alternative } = place;
    const { all, count } = alternative;
    if (all?.length === 0) return "failed";
    if (index >= count)
      return this.#serve(c, r + 1, { ...partial, chosen: [...partial.chosen, alternative] });
    if (count - index > maxResults - partial.picks.filter((pick) => pick.alternative.claim === c).length) {
      return "tooMany";
    }
    if (all !== undefined) {
      const pick = this.#tryPick(all[index]!, alternative, partial.picks);
      if (pick === undefined) return "failed";
      return this.#place(place, index + 1, 0, { ...partial, picks: [...partial.picks, pick] });
    }
    for (let i = start; i < this.#candidates.length; i++) {
      const candidate = this.#candidates[i]!;
      if (!this.#isFree(candidate, alternative, partial.picks)) continue;
      if (!isSelectable(this.#question, candidate, alternative, this.#claims[c]!.name)) continue;
      if (!this.#hasCapacity(candidate, alternative, partial.picks)) continue;
      const pick = this.#tryPick(candidate, alternative, partial.picks);
      if (pick === undefined) continue;
      // Devices of one request are picked in ascending order: no combination is tried twice.
      const outcome = this.#place(place, index + 1, i + 1, {
        ...partial,
        picks: [...partial.picks, pick],
      });
      if (outcome !== "failed") return outcome;
    }
    return "failed";
  }

  /** Checks in upstream's order. Returns undefined if the device is refused. Throws AttemptError. */
  #tryPick(candidate: Candidate, alternative: Alternative, picks: readonly Pick[]): Pick | undefined {
    const question = this.#question;
    const { device, slice } = candidate;
    const claim = this.#claims[alternative.claim]!;
    if (!this.#isFree(candidate, alternative, picks)) return undefined;
    if (variantOf(question.features) === "experimental" && (slice.spec.skipNodeOperations ?? []).length > 0) {
      const declared = question.node.status?.declaredFeatures ?? [];
      if (!isOn(question, "OptionalNodeOperations")) return undefined;
      if (!declared.includes("DRAOptionalNodeOperations")) return undefined;
    }
    const consumes = (device.consumesCounters ?? []).length > 0;
    if (consumes && !isOn(question, "PartitionableDevices")) return undefined;
    const charged = consumes && !(this.#isShareable(candidate) && this.#hasShares(candidate, picks));
    if (charged && !groupsAgree(question, candidate, picks)) return undefined;
    if (charged && !countersSuffice(question, candidate, picks)) return undefined;
    if (isOn(question, "DeviceTaints") && !toleratesAll(alternative.spec.tolerations, device.taints)) {
      return undefined;
    }
    const sameClaim = picks.filter((pick) => pick.alternative.claim === alternative.claim);
    for (const constraint of claim.constraints) {
      if (holds(question, constraint, sameClaim, { alternative, candidate })) continue;
      if (alternative.all === undefined) return undefined;
      throw new AttemptError(
        `claim ${claim.name}, request ${shortName(alternative)}: cannot add device ${candidate.id} because a claim constraint would not be satisfied`,
      );
    }
    if (!this.#hasCapacity(candidate, alternative, picks)) return undefined;
    return { alternative, candidate, charged, share: this.#share(candidate, alternative) };
  }

  /**
   * With admin access only the claim itself blocks a device (KEP-5018). Shares are checked by `#hasCapacity`.
   */
  #isFree(candidate: Candidate, alternative: Alternative, picks: readonly Pick[]): boolean {
    const same = picks.filter((pick) => pick.candidate.id === candidate.id && pick.share === undefined);
    if (alternative.adminAccess) return same.every((pick) => pick.alternative.claim !== alternative.claim);
    return same.length === 0 && !(this.#question.allocated?.devices ?? []).includes(candidate.id);
  }

  #isShareable({ device }: Candidate): boolean {
    return isOn(this.#question, "ConsumableCapacity") && device.allowMultipleAllocations === true;
  }

  #hasShares({ id }: Candidate, picks: readonly Pick[]): boolean {
    if (isShared(this.#question.allocated, id)) return true;
    return picks.some((pick) => pick.candidate.id === id && pick.share !== undefined);
  }

  #hasCapacity(candidate: Candidate, alternative: Alternative, picks: readonly Pick[]): boolean {
    if (!isOn(this.#question, "ConsumableCapacity")) return true;
    const { id, device } = candidate;
    const held = this.#question.allocated?.capacity ?? {};
    const others = picks.flatMap((pick) => (pick.candidate.id === id && pick.share ? [pick.share] : []));
    if (Object.hasOwn(held, id)) others.push(new Map(Object.entries(held[id]!)));
    const where = this.#checking(candidate, alternative);
    return fitsCapacity(this.#question, { wanted: alternative.spec.capacity, device }, others, where);
  }

  #share(candidate: Candidate, alternative: Alternative): Map<string, string> | undefined {
    if (!this.#isShareable(candidate)) return undefined;
    const where = this.#checking(candidate, alternative);
    const amounts = consumption(this.#question, alternative.spec.capacity, candidate.device, where);
    return new Map([...amounts].map(([name, amount]) => [name, amount.toString()]));
  }

  #checking({ id }: Candidate, alternative: Alternative): string {
    const claim = this.#claims[alternative.claim]!.name;
    return `claim ${claim}, request ${shortName(alternative)}: checking capacity for device ${id}`;
  }
}
