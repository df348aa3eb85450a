import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import { explainNode } from "./explain/explain.ts";
import { policiesOf } from "./features/policies.ts";
import { Usage } from "./inventory/allocated-state.ts";
import { CandidateIndex } from "./inventory/candidate-nodes.ts";
import { Inventory } from "./inventory/inventory.ts";
import { overdrawn } from "./inventory/overdrawn.ts";
import { AllocationError } from "./rules/allocation-error.ts";
import { type PreparedClaim, prepareClaim } from "./rules/prepared-claims.ts";
import { firstUnmatched, SelectorCache, selectorList } from "./rules/selectors.ts";
import { untolerated } from "./rules/taints.ts";
import { allocationResult, checkSolution } from "./search/allocation-result.ts";
import { Problem } from "./search/problem.ts";
import { Search, type Solution } from "./search/search.ts";
import type { AllocateResult, Allocator, AllocatorOptions } from "./types.ts";

/** Makes an allocator that knows of nothing yet; see `Allocator`. */
export function createAllocator(options: AllocatorOptions): Allocator {
  const { features, newId } = options;
  const policies = policiesOf(features, options.corrections);
  const classes = new Map<string, DeviceClass>();
  const selectors = new SelectorCache(options.evaluated);
  const usage: Usage = new Usage({
    sharing: features.consumableCapacity,
    changed: (state) => {
      for (const node of inventory.nodesOf(state)) index.changed(node);
    },
    overdrawn: (state, share) => overdrawn(inventory.find(state), state, share),
  });
  const inventory: Inventory = new Inventory({
    features,
    policies,
    usage,
    changed: (node) => index.changed(node),
    taintsChanged: () => index.clear(),
  });
  const index: CandidateIndex = new CandidateIndex({ features, policies, inventory });
  /** Rises with every change of a class: claims have to be prepared again. */
  let classesVersion = 0;
  const prepared = new WeakMap<
    ResourceClaim,
    { readonly classes: number; readonly selectors: number; readonly claim: PreparedClaim }
  >();

  function prepare(claim: ResourceClaim): PreparedClaim {
    const known = prepared.get(claim);
    if (known?.classes === classesVersion && known.selectors === selectors.generation) return known.claim;
    const made = prepareClaim(claim, { features, policies, classes, selectors });
    prepared.set(claim, { classes: classesVersion, selectors: selectors.generation, claim: made });
    return made;
  }

  /** Throws AllocationError. */
  function problemOf(node: Node, claims: readonly ResourceClaim[]): Problem {
    const view = inventory.view(node);
    return new Problem({ features, policies, node, view, claims: claims.map(prepare) });
  }

  /** Whether the picks of a search that was stopped may be given still. */
  function stillThere(problem: Problem, solution: Solution, began: Map<object, number>): boolean {
    return solution
      .flatMap(({ picks }) => picks)
      .every(({ option, position }) => {
        const { state, slice, device, taints } = problem.devices[position]!;
        if (!inventory.has(slice)) return false;
        if (untolerated(taints, option.alternative.tolerations)) return false;
        // What else its counters and capacity have to give is not looked at: it may have changed.
        const counted = device.consumesCounters !== undefined || device.allowMultipleAllocations === true;
        if (counted && began.get(state.pool) !== state.pool.version) return false;
        return option.alternative.adminAccess || !state.owned;
      });
  }

  const versionsOf = (problem: Problem): Map<object, number> =>
    new Map(problem.devices.map(({ state }) => [state.pool, state.pool.version]));

  function guarded(run: () => AllocateResult): AllocateResult {
    try {
      return run();
    } catch (error) {
      if (error instanceof AllocationError) return { type: "error", message: error.message };
      throw error;
    }
  }

  return {
    update(event) {
      switch (event.kind) {
        case "slice":
          if (event.deleted) inventory.delete(event.object.metadata.name);
          else inventory.set(event.object);
          break;
        case "class":
          classesVersion++;
          if (event.deleted) classes.delete(event.object.metadata.name);
          else classes.set(event.object.metadata.name, event.object);
          break;
        case "rule":
          inventory.setRule(event.object, event.deleted);
          break;
        case "claim":
          if (event.deleted) usage.delete(event.object);
          else usage.set(event.object);
      }
    },

    allocate(node, claims, { shouldStop } = {}) {
      return guarded(() => {
        let problem = problemOf(node, claims);
        let search = new Search(problem);
        let began: Map<object, number> | undefined;
        const goOn = (): AllocateResult => {
          let picks = search.run(shouldStop);
          while (picks && began !== undefined && !stillThere(problem, picks, began)) {
            problem = problemOf(node, claims);
            search = new Search(problem);
            began = versionsOf(problem);
            picks = search.run(shouldStop);
          }
          if (picks === undefined) {
            began ??= versionsOf(problem);
            return { type: "stopped", resume: () => guarded(goOn) };
          }
          if (picks === null) {
            const message = problem.view.invalid
              ? "invalid resource pools were encountered"
              : "cannot allocate all claims";
            return { type: "refused", message };
          }
          return allocated(problem, picks, newId);
        };
        return goOn();
      });
    },

    candidates: (claims) => index.candidates(claims.map(prepare)),

    reserve: (claims, allocations) => usage.reserve(claims, allocations),

    overdrawn: (claim) => usage.overdrawn(claim),

    device: (node, { driver, pool, device }) => inventory.device(node, driver, pool, device),

    totals(node, className) {
      const own = classes.get(className);
      if (own === undefined) return { devices: 0, taken: 0 };
      const lists = [selectorList(`class ${className}`, own.spec.selectors ?? [], selectors)];
      const devices = inventory
        .view(node)
        .devices.filter((record) => firstUnmatched(lists, record) === undefined);
      return { devices: devices.length, taken: devices.filter(({ state }) => state.taken).length };
    },

    statistics: () => ({ evaluations: selectors.evaluations }),

    explain: (node, claims, options) => explainNode(node, claims, problemOf, options),
  };
}

/** Most callers ask many nodes and want the allocations of one: they are put together when they are asked for. */
function allocated(problem: Problem, solution: Solution, newId: () => string): AllocateResult {
  checkSolution(problem, solution);
  let made: readonly AllocationResult[] | undefined;
  return {
    type: "allocated",
    get allocations() {
      made ??= problem.claims.map((claim, i) => allocationResult(problem, claim, solution[i]!, newId));
      return made;
    },
  };
}
