import type { Node } from "@dray/api/core/v1";
import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { AllocateResult, Allocator, AllocatorOptions } from "./allocator.ts";
import { explainRefusal } from "./explain.ts";
import { AllocationError, type Candidate, Inventory, type Pool, reachesDevice } from "./inventory.ts";
import { policiesOf } from "./policies.ts";
import { type Alternative, type PreparedClaim, prepareClaims, type Selecting } from "./requests.ts";
import { allocationResult } from "./result.ts";
import { type Pick, Search } from "./search.ts";
import { SelectorCache } from "./selectors.ts";
import { Usage } from "./usage.ts";

/** Makes an allocator that knows of nothing yet; see `Allocator`. */
export function createAllocator(options: AllocatorOptions): Allocator {
  const { features } = options;
  const policies = policiesOf(features);
  const inventory = new Inventory(features, policies);
  const classes = new Map<string, DeviceClass>();
  const usage = new Usage();
  const selectors = new SelectorCache(policies);

  function selectable(node: Node, candidate: Candidate, alternative: Selecting, claim: string): boolean {
    const { device, slice } = candidate;
    if (!features.deviceBindingAndStatus && (device.bindingConditions ?? []).length > 0) return false;
    if (!selectors.classSelects(alternative.deviceClass, candidate)) return false;
    if (!selectors.requestSelects(alternative.selectors, candidate, claim)) return false;
    return reachesDevice(slice, device, node);
  }

  function start(
    node: Node,
    claims: readonly ResourceClaim[],
  ): { pools: readonly Pool[]; search: Search; prepared: PreparedClaim[] } {
    const pools = inventory.pools(node);
    /** What selectors said of a device, by class and selectors: the search comes back to the same devices. */
    const verdicts = new Map<object, Map<Candidate, boolean>>();
    const cached = (candidate: Candidate, alternative: Alternative, claim: string): boolean => {
      const known = verdicts.get(alternative) ?? new Map<Candidate, boolean>();
      verdicts.set(alternative, known);
      let verdict = known.get(candidate);
      if (verdict === undefined) {
        verdict = selectable(node, candidate, alternative, claim);
        known.set(candidate, verdict);
      }
      return verdict;
    };
    const prepared = prepareClaims(claims, {
      features,
      policies,
      classes,
      pools,
      selectable: (candidate, found, claim) => selectable(node, candidate, found, claim),
    });
    const search = new Search({
      features,
      claims: prepared,
      candidates: pools
        .filter((pool) => !pool.incomplete && pool.invalid === undefined)
        .flatMap((pool) => pool.candidates),
      inUse: (device) => usage.holder(device) !== undefined,
      selectable: cached,
    });
    return { pools, search, prepared };
  }

  /** Whether the picks of a search that was stopped may be given still. */
  function stillThere(picks: readonly (readonly Pick[])[]): boolean {
    return picks.flat().every(({ alternative, candidate }) => {
      const free = alternative.adminAccess || usage.holder(candidate.id) === undefined;
      return free && inventory.has(candidate.slice);
    });
  }

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
          if (event.deleted) classes.delete(event.object.metadata.name);
          else classes.set(event.object.metadata.name, event.object);
          break;
        case "claim":
          if (event.deleted) usage.delete(event.object);
          else usage.set(event.object);
      }
    },

    allocate(node, claims, { shouldStop } = {}) {
      return guarded(() => {
        let { pools, search, prepared } = start(node, claims);
        let stopped = false;
        const goOn = (): AllocateResult => {
          let picks = search.run(shouldStop);
          while (picks && stopped && !stillThere(picks)) {
            ({ pools, search, prepared } = start(node, claims));
            picks = search.run(shouldStop);
          }
          if (picks === undefined) {
            stopped = true;
            return { type: "stopped", resume: () => guarded(goOn) };
          }
          if (picks === null) {
            const invalid = pools.some((pool) => pool.invalid !== undefined);
            const message = invalid
              ? "invalid resource pools were encountered"
              : "cannot allocate all claims";
            return { type: "refused", message };
          }
          const found = picks;
          const allocations = prepared.map((claim, i) =>
            allocationResult(claim, found[i]!, node, features, policies),
          );
          return { type: "allocated", allocations };
        };
        return goOn();
      });
    },

    /** Any node may do: there is no index yet that could rule one out. */
    candidates: () => undefined,

    reserve: (claims, allocations) => usage.reserve(claims, allocations),

    explain: (node, claims) =>
      explainRefusal(node, claims, { features, inventory, classes, usage, selectors }),
  };
}
