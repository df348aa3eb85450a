import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { AllocationError } from "./devices/allocation-error.ts";
import { explainNode } from "./explain/explain.ts";
import type { ExplainOptions, Explanation } from "./explain/explanation.ts";
import type { Features } from "./features/features.ts";
import { type Policies, policiesOf } from "./features/policies.ts";
import { AllocatedState } from "./inventory/allocated-state.ts";
import { CandidateIndex, type Candidates } from "./inventory/candidate-nodes.ts";
import { Inventory } from "./inventory/inventory.ts";
import { overdrawnReason } from "./inventory/overdrawn.ts";
import type { Overdrawn, Reservation } from "./inventory/reservation.ts";
import { AttributeValues } from "./rules/attribute-values.ts";
import { ClaimCache } from "./rules/claim-cache.ts";
import { firstUnmatched, SelectorCache, selectorList } from "./rules/selectors.ts";
import { Problem } from "./search/problem.ts";
import { ResumableSearch } from "./search/resumable-search.ts";
import type { AllocateResult, Allocator, AllocatorEvent, AllocatorOptions } from "./types.ts";

/** Makes an allocator for an empty cluster. */
export function createAllocator(options: AllocatorOptions): Allocator {
  const allocator = new StructuredAllocator(options);
  // Bound functions: callers may destructure the allocator or replace a method.
  return {
    update: (event) => allocator.update(event),
    allocate: (node, claims, options) => allocator.allocate(node, claims, options),
    candidates: (claims) => allocator.candidates(claims),
    reserve: (claims, allocations) => allocator.reserve(claims, allocations),
    overdrawn: (claim) => allocator.overdrawn(claim),
    device: (node, id) => allocator.device(node, id),
    totals: (node, className) => allocator.totals(node, className),
    statistics: () => allocator.statistics(),
    explain: (node, claims, options) => allocator.explain(node, claims, options),
  };
}

class StructuredAllocator implements Allocator {
  readonly #features: Features;
  readonly #policies: Policies;
  readonly #newId: () => string;
  readonly #selectors: SelectorCache;
  readonly #values: AttributeValues;
  readonly #claims: ClaimCache;
  readonly #allocated: AllocatedState;
  readonly #inventory: Inventory;
  readonly #index: CandidateIndex;

  constructor(options: AllocatorOptions) {
    const { features } = options;
    const policies = policiesOf(features, options.corrections);
    this.#features = features;
    this.#policies = policies;
    this.#newId = options.newId;
    this.#selectors = new SelectorCache(
      options.environment ?? deviceEnvironment({ stored: true }),
      options.evaluated,
    );
    this.#values = new AttributeValues(features.listTypeAttributes);
    this.#claims = new ClaimCache({ features, policies, selectors: this.#selectors });
    this.#allocated = new AllocatedState({
      consumableCapacity: features.consumableCapacity,
      changed: (state) => {
        for (const node of this.#inventory.nodesOf(state)) this.#index.changed(node);
      },
      overdrawn: (state, share) => overdrawnReason(this.#inventory.find(state), state, share),
    });
    this.#inventory = new Inventory({
      features,
      policies,
      allocated: this.#allocated,
      changed: (node) => this.#index.changed(node),
      taintsChanged: () => this.#index.clear(),
    });
    this.#index = new CandidateIndex({ features, policies, inventory: this.#inventory });
  }

  update(event: AllocatorEvent): void {
    switch (event.kind) {
      case "slice":
        if (event.deleted) this.#inventory.delete(event.object.metadata.name);
        else this.#inventory.set(event.object);
        break;
      case "class":
        this.#claims.setClass(event.object, event.deleted);
        break;
      case "rule":
        this.#inventory.setRule(event.object, event.deleted);
        break;
      case "claim":
        if (event.deleted) this.#allocated.delete(event.object);
        else this.#allocated.set(event.object);
    }
  }

  allocate(
    node: Node,
    claims: readonly ResourceClaim[],
    { shouldStop }: { shouldStop?: () => boolean } = {},
  ): AllocateResult {
    let search: ResumableSearch | undefined;
    const run = (): AllocateResult => {
      try {
        search ??= new ResumableSearch({
          problem: () => this.#problem(node, claims),
          isPublished: (slice) => this.#inventory.has(slice),
          newId: this.#newId,
          shouldStop,
        });
        return search.run() ?? { type: "stopped", resume: run };
      } catch (error) {
        if (error instanceof AllocationError) return { type: "error", message: error.message };
        throw error;
      }
    };
    return run();
  }

  candidates(claims: readonly ResourceClaim[]): Candidates | undefined {
    return this.#index.candidates(claims.map((claim) => this.#claims.prepare(claim)));
  }

  reserve(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): Reservation {
    return this.#allocated.reserve(claims, allocations);
  }

  overdrawn(claim: ResourceClaim): Overdrawn | undefined {
    return this.#allocated.overdrawn(claim);
  }

  device(
    node: Node,
    { driver, pool, device }: Pick<DeviceRequestAllocationResult, "driver" | "pool" | "device">,
  ): Device | undefined {
    return this.#inventory.device(node, driver, pool, device);
  }

  totals(node: Node, className: string): { readonly devices: number; readonly allocated: number } {
    const deviceClass = this.#claims.class(className);
    if (deviceClass === undefined) return { devices: 0, allocated: 0 };
    const { selectors = [] } = deviceClass.spec;
    const lists = [selectorList(`class ${className}`, selectors, this.#selectors)];
    const devices = this.#inventory
      .view(node)
      .devices.filter((record) => firstUnmatched(lists, record) === undefined);
    return {
      devices: devices.length,
      allocated: devices.filter(({ state }) => state.isAllocated).length,
    };
  }

  statistics(): { readonly evaluations: number } {
    return { evaluations: this.#selectors.evaluations };
  }

  explain(node: Node, claims: readonly ResourceClaim[], options?: ExplainOptions): Explanation {
    return explainNode(node, claims, (node, claims) => this.#problem(node, claims), options);
  }

  /** Throws AllocationError. */
  #problem(node: Node, claims: readonly ResourceClaim[]): Problem {
    return new Problem({
      features: this.#features,
      policies: this.#policies,
      selectors: this.#selectors,
      values: this.#values,
      node,
      view: this.#inventory.view(node),
      claims: claims.map((claim) => this.#claims.prepare(claim)),
    });
  }
}
