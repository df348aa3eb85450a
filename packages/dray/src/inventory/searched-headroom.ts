import type { Allocator, Reservation } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { claimOf, type Shape } from "./shapes.ts";

export interface SearchedHeadroom {
  readonly count: number;
  /** Every arrangement on each node alone has been tried. */
  readonly isComplete: boolean;
  readonly nodes: ReadonlyMap<string, number>;
}

/** Maximum number of claims to try on one node: a device without capacities can be shared without limit. */
const maxPerNode = 256;
/** Maximum number of steps of a search for one more claim, including moves of the previous ones. */
const maxSteps = 20_000;

/**
 * Places claims of the shape node by node until no more fit. If devices compete for counters, or a claim
 * requests several devices, the first solution may block others: then all claims of the node and one more are
 * placed again, until no arrangement is left.
 */
export function searchedHeadroom(
  allocator: Allocator,
  nodes: readonly Node[],
  shape: Shape,
): SearchedHeadroom {
  const found = new Map<string, number>();
  const held: Placed[] = [];
  let [count, isComplete] = [0, true];
  try {
    for (const node of nodes) {
      const placed = new Placed(allocator, node, shape, count);
      held.push(placed);
      while (placed.count < maxPerNode && placed.addOne());
      while (placed.count > 0 && placed.count < maxPerNode && placed.moveForOneMore());
      isComplete &&= !placed.gaveUp && placed.count < maxPerNode;
      if (placed.count > 0) found.set(node.metadata.name, placed.count);
      count += placed.count;
    }
  } finally {
    for (const each of held) each.release();
  }
  return { count, isComplete, nodes: found };
}

/** Claims of one shape on one node, reserved in the allocator. */
class Placed {
  readonly #allocator: Allocator;
  readonly #node: Node;
  readonly #shape: Shape;
  readonly #first: number;
  #claims: ResourceClaim[] = [];
  #allocations: AllocationResult[] = [];
  #reservations: Reservation[] = [];
  gaveUp = false;

  /** `first`: the number of the first claim, unique over all nodes. */
  constructor(allocator: Allocator, node: Node, shape: Shape, first: number) {
    this.#allocator = allocator;
    this.#node = node;
    this.#shape = shape;
    this.#first = first;
  }

  get count(): number {
    return this.#claims.length;
  }

  /** Places one more claim if it fits beside the others. */
  addOne(): boolean {
    const claim = claimOf(this.#shape, this.#first + this.count);
    const allocations = this.#allocate([claim]);
    if (allocations === undefined) return false;
    this.#hold([claim], allocations);
    return true;
  }

  /** Places all claims again with one more, if an arrangement exists. */
  moveForOneMore(): boolean {
    const claims = [...this.#claims, claimOf(this.#shape, this.#first + this.count)];
    const before = [this.#claims, this.#allocations] as const;
    this.release();
    const allocations = this.#allocate(claims);
    if (allocations === undefined) this.#hold(...before);
    else this.#hold(claims, allocations);
    return allocations !== undefined;
  }

  /** Releases all devices. */
  release(): void {
    for (const each of this.#reservations) each.rollback();
    [this.#claims, this.#allocations, this.#reservations] = [[], [], []];
  }

  #allocate(claims: readonly ResourceClaim[]): readonly AllocationResult[] | undefined {
    let steps = 0;
    const result = this.#allocator.allocate(this.#node, claims, { shouldStop: () => ++steps > maxSteps });
    this.gaveUp ||= result.type === "stopped";
    return result.type === "allocated" ? result.allocations : undefined;
  }

  #hold(claims: readonly ResourceClaim[], allocations: readonly AllocationResult[]): void {
    this.#reservations.push(this.#allocator.reserve(claims, allocations));
    this.#claims = [...this.#claims, ...claims];
    this.#allocations = [...this.#allocations, ...allocations];
  }
}
