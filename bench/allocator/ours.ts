/** Our allocator, filled with an input and asked as a scheduler asks it. */
import { type AllocateResult, type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { claim, type Input } from "./objects.ts";

type Features = ReturnType<typeof allocatorFeatures>;

function featuresOf(names: readonly string[]): Features {
  const ours = names.map((name) => [name[0]!.toLowerCase() + name.slice(1), true] as const);
  const none = allocatorFeatures({ enabled: () => false });
  return { ...none, ...Object.fromEntries(ours) };
}

/** Compiles each selector once: the measurements are of the allocator. */
const environment = deviceEnvironment({ stored: true });

/** An allocator that knows a cluster, and the claims that hold what is held. */
export function filled(
  { features, slices, classes, held }: Omit<Input, "claims">,
  holders: readonly ResourceClaim[] = holdersOf(held),
): Allocator {
  let ids = 0;
  const allocator = createAllocator({
    features: featuresOf(features),
    environment,
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
  });
  for (const object of slices) allocator.update({ kind: "slice", object, deleted: false });
  for (const object of classes) allocator.update({ kind: "class", object, deleted: false });
  for (const object of holders) allocator.update({ kind: "claim", object, deleted: false });
  return allocator;
}

/** One claim for each device that is held. */
export function holdersOf(held: readonly string[]): ResourceClaim[] {
  return held.map((id) => {
    const [driver = "", pool = "", device = ""] = id.split("/");
    const results = [{ request: "r", driver, pool, device }];
    return { ...claim(`holder-of-${id}`, {}), status: { allocation: { devices: { results } } } };
  });
}

export interface Placed {
  readonly node: string | undefined;
  /** Nodes that the allocator was asked about. */
  readonly searched: number;
  readonly result: AllocateResult | undefined;
}

/**
 * The first node that can serve the claims: of the candidates where the index names some, else of all nodes.
 */
export function place(
  allocator: Allocator,
  nodes: ReadonlyMap<string, Node>,
  claims: readonly ResourceClaim[],
): Placed {
  let searched = 0;
  for (const name of allocator.candidates(claims) ?? nodes.keys()) {
    const node = nodes.get(name);
    if (node === undefined) continue;
    searched++;
    const result = allocator.allocate(node, claims);
    if (result.type === "allocated") return { node: name, searched, result };
    if (result.type === "error") throw new Error(result.message);
  }
  return { node: undefined, searched, result: undefined };
}

/** Stores what was placed, as a scheduler does: reserved, seen by the watch, committed. */
export function keep(allocator: Allocator, claims: readonly ResourceClaim[], { result }: Placed): void {
  if (result?.type !== "allocated") throw new Error("the fleet is too full for the benchmark");
  const reservation = allocator.reserve(claims, result.allocations);
  claims.forEach((one, i) => {
    const object = { ...one, status: { allocation: result.allocations[i]! } };
    allocator.update({ kind: "claim", object, deleted: false });
  });
  reservation.commit();
}

/** Turns that the search takes; between any two it asks whether to stop. */
export function turns(allocator: Allocator, node: Node, claims: readonly ResourceClaim[]): number {
  let count = 1;
  const shouldStop = (): boolean => {
    count++;
    return false;
  };
  allocator.allocate(node, claims, { shouldStop });
  return count;
}
