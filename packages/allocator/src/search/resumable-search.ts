import type { AllocationResult, ResourceSlice } from "@dray/api/resource/v1";
import { untolerated } from "../rules/taints.ts";
import { allocationResult, checkSolution } from "./allocation-result.ts";
import type { Problem } from "./problem.ts";
import { Search, type Solution } from "./search.ts";

/** The result of a search that has ended. */
export type SearchResult =
  | { readonly type: "allocated"; readonly allocations: readonly AllocationResult[] }
  | { readonly type: "refused"; readonly message: string };

export interface ResumableSearchOptions {
  /** Makes the problem from the current state of the cluster. Throws AllocationError. */
  readonly problem: () => Problem;
  /** Reports whether this object is still the current state of its slice. */
  readonly isPublished: (slice: ResourceSlice) => boolean;
  readonly newId: () => string;
  readonly shouldStop: (() => boolean) | undefined;
}

/** A search that can be stopped, and whose solution is still valid when it is returned. */
export class ResumableSearch {
  readonly #options: ResumableSearchOptions;
  #problem: Problem;
  #search: Search;
  /** The version of each pool when the search began; undefined until it is stopped for the first time. */
  #versions: ReadonlyMap<object, number> | undefined;

  /** Throws AllocationError. */
  constructor(options: ResumableSearchOptions) {
    this.#options = options;
    this.#problem = options.problem();
    this.#search = new Search(this.#problem);
  }

  /** Starts or continues; undefined if stopped. Throws AllocationError. */
  run(): SearchResult | undefined {
    const { shouldStop, newId } = this.#options;
    let solution = this.#search.run(shouldStop);
    while (solution && this.#versions !== undefined && !this.#isValid(solution, this.#versions)) {
      this.#problem = this.#options.problem();
      this.#search = new Search(this.#problem);
      this.#versions = versionsOf(this.#problem);
      solution = this.#search.run(shouldStop);
    }
    if (solution === undefined) {
      this.#versions ??= versionsOf(this.#problem);
      return undefined;
    }
    if (solution !== null) return allocated(this.#problem, solution, newId);
    const message = this.#problem.view.invalid
      ? "invalid resource pools were encountered"
      : "cannot allocate all claims";
    return { type: "refused", message };
  }

  /** Reports whether the devices are unchanged, still free, and tolerated. */
  #isValid(solution: Solution, versions: ReadonlyMap<object, number>): boolean {
    return solution
      .flatMap(({ picks }) => picks)
      .every(({ option, position }) => {
        const { state, slice, device, taints } = this.#problem.devices[position]!;
        if (!this.#options.isPublished(slice)) return false;
        if (untolerated(taints, option.alternative.tolerations)) return false;
        // Any allocation in the pool may have changed the remaining counters and capacity.
        const shared = device.consumesCounters !== undefined || device.allowMultipleAllocations === true;
        if (shared && versions.get(state.pool) !== state.pool.version) return false;
        return option.alternative.adminAccess || !state.isOwned;
      });
  }
}

const versionsOf = (problem: Problem): Map<object, number> =>
  new Map(problem.devices.map(({ state }) => [state.pool, state.pool.version]));

/** Builds the allocations when first read: most callers try many nodes and need the allocations of one. */
function allocated(problem: Problem, solution: Solution, newId: () => string): SearchResult {
  checkSolution(problem, solution);
  let allocations: readonly AllocationResult[] | undefined;
  return {
    type: "allocated",
    get allocations() {
      allocations ??= problem.claims.map((claim, i) => allocationResult(problem, claim, solution[i]!, newId));
      return allocations;
    },
  };
}
