import type { Allocator, Reservation } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { KnownDevice } from "./devices.ts";
import { claimOf, type Shape, takesNothing } from "./shapes.ts";

/** How many more claims of a shape fit at the same time. */
export interface Headroom {
  readonly count: number;
  /**
   * The search was cut off, or nodes share devices in a way that it does not try in every order: more may
   * fit.
   */
  readonly isLowerBound: boolean;
  /** By node. Devices that several nodes can reach count on the first of them. */
  readonly nodes: ReadonlyMap<string, number>;
}

/** Maximum number of claims to try on one node: a device without capacities can be shared without limit. */
const maxPerNode = 256;
/** Maximum number of steps of a search for one more claim, including moves of the previous ones. */
const maxSteps = 20_000;

/**
 * Places claims of the shape node by node until no more fit. If devices compete for counters, or a claim
 * requests several devices, the first solution may block others: then all claims of the node and one more are
 * placed again, until no arrangement is left. Returns undefined for a shape that takes no devices.
 */
export function headroomOf(
  allocator: Allocator,
  nodes: readonly Node[],
  shape: Shape,
  devices: readonly KnownDevice[],
): Headroom | undefined {
  if (takesNothing(shape)) return undefined;
  const isShared = devices.some(({ node }) => node === undefined);
  const isSimple =
    wantsOneKind(shape) && devices.every(({ device }) => device.consumesCounters === undefined);
  const candidates = allocator.candidates([claimOf(shape)]);
  const open = nodes.filter(({ metadata: { name } }) => candidates?.has(name) ?? true);
  const found = new Map<string, number>();
  const held: Placed[] = [];
  let [next, isLowerBound] = [0, isShared && !wantsOneDevice(shape)];
  try {
    for (const node of open) {
      const placed = new Placed(allocator, node, shape, next);
      held.push(placed);
      while (placed.count < maxPerNode && placed.addOne());
      if (!isSimple) while (placed.count > 0 && placed.count < maxPerNode && placed.moveForOneMore());
      isLowerBound ||= placed.gaveUp || placed.count >= maxPerNode;
      if (placed.count > 0) found.set(node.metadata.name, placed.count);
      next += placed.count;
    }
  } finally {
    for (const each of held) each.release();
  }
  const count = [...found.values()].reduce((sum, each) => sum + each, 0);
  return { count, isLowerBound, nodes: found };
}

/**
 * Reports whether all devices that a claim can take are equally good: any choice leaves room for the same
 * number of claims.
 */
const wantsOneKind = ({ requests, constraints }: Shape): boolean =>
  constraints.length === 0 && requests.length === 1 && requests[0]!.exactly !== undefined;

const wantsOneDevice = (shape: Shape): boolean =>
  wantsOneKind(shape) && Number(shape.requests[0]!.exactly?.count ?? 1) === 1;

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
