/**
 * Compares the headroom that `dray top` prints with the most claims that can be allocated one after another.
 */
import type { Allocator } from "@dray/allocator";
import { type Features, featuresOf } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { DeviceRequest, ResourceClaim } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { Random } from "@dray/testing/random";
import { allocatorOf, openNodes } from "../../packages/dray/src/inventory/allocator.ts";
import { Inventory } from "../../packages/dray/src/inventory/inventory.ts";
import { claimOf, type Shape, takesNothing } from "../../packages/dray/src/inventory/shapes.ts";
import { readObjects } from "../../packages/dray/src/manifests/read.ts";
import { Selectors } from "../../packages/dray/src/manifests/selectors.ts";
import { sourceOf } from "../../packages/dray/src/manifests/source.ts";
import type { World } from "../../packages/dray/src/manifests/world.ts";
import type { Manifest } from "./draft.ts";
import { driver, randomFleet } from "./headroom-fleet.ts";

const gates = ["DRAPartitionableDevices", "DRAConsumableCapacity", "DRADeviceTaints", "DRAPrioritizedList"];
const plain = featuresOf("1.37", new Map(gates.map((gate) => [gate, true])));
const withGroups = featuresOf(
  "1.37",
  new Map([...gates, "DRADeviceCompatibilityGroups"].map((gate) => [gate, true])),
);
const environments = new Map(
  [plain, withGroups].map((features) => [features, deviceEnvironment({ stored: true })]),
);

/** The brute force gives up above this number of sets of claims. */
const maxSets = 1_500;

export interface HeadroomResult {
  /** Number of compared answers. */
  readonly compared: number;
  /** Number of those that said `at least`. */
  readonly lowerBounds: number;
  /** Number of answers that are too large for the brute force, or depend on the order of alternatives. */
  readonly skipped: number;
  readonly violations: readonly string[];
}

export function checkHeadroom(seed: number): HeadroomResult {
  const random = new Random(seed);
  const groups = random.chance(0.2);
  const features = groups ? withGroups : plain;
  const objects = randomFleet(random, { groups, common: random.chance(0.4) });
  const world = held(readWorld(objects, features), features);
  const inventory = new Inventory(world, features);
  let [compared, lowerBounds, skipped] = [0, 0, 0];
  const violations: string[] = [];
  for (const shape of inventory.shapes) {
    if (takesNothing(shape)) continue;
    const said = inventory.headroom(shape);
    const most = bruteForce(world, shape, features);
    if (most === undefined) {
      skipped++;
      continue;
    }
    compared++;
    if (said?.isLowerBound === true) lowerBounds++;
    const count = said?.count ?? Number.POSITIVE_INFINITY;
    const sum = said === undefined ? count : [...said.nodes.values()].reduce((all, each) => all + each, 0);
    const isTrue = said?.isLowerBound === true ? count <= most : count === most;
    if (!isTrue || sum !== count)
      violations.push(
        `${shape.kind} ${shape.name}: ${said?.isLowerBound === true ? "at least " : ""}${count} (${sum} on nodes), and ${most} fit`,
      );
  }
  return { compared, lowerBounds, skipped, violations };
}

function readWorld(objects: readonly Manifest[], features: Features): World {
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const { world, problems } = readObjects(
    { sources: [sourceOf("fleet.json", text)], problems: [] },
    { features, namespace: "default", selectors: new Selectors(features), now: "2026-01-01T00:00:00Z" },
  );
  if (problems.length > 0) throw new Error(`an invalid fleet: ${JSON.stringify(problems)}`);
  return world;
}

/** Returns the world with the claims that can be allocated. */
function held(world: World, features: Features): World {
  const allocator = allocatorOf(world, features, environments.get(features));
  const nodes = world.all("Node").map(({ object }) => object);
  const others = world.objects.filter(({ object }) => object.kind !== "ResourceClaim");
  const claims = world.all("ResourceClaim").flatMap((located) => {
    for (const node of nodes) {
      const result = allocator.allocate(node, [located.object]);
      if (result.type !== "allocated") continue;
      allocator.reserve([located.object], result.allocations);
      return [{ ...located, object: { ...located.object, status: { allocation: result.allocations[0]! } } }];
    }
    return [];
  });
  return world.of([...others, ...claims]);
}

/** A claim for certain devices of a node. */
interface Choice {
  readonly node: Node;
  readonly claim: (index: number) => ResourceClaim;
}

/**
 * Tries every set of claims: each claim names its devices, and the allocator says whether it can have them
 * beside the others. Undefined: too many sets, or the order of alternatives matters.
 */
function bruteForce(world: World, shape: Shape, features: Features): number | undefined {
  const allocator = allocatorOf(world, features, environments.get(features));
  const choices = choicesOf(world, shape, allocator);
  if (choices === undefined) return undefined;
  let [best, sets] = [0, 0];
  const visit = (from: number, count: number): void => {
    best = Math.max(best, count);
    for (let i = from; i < choices.length && sets <= maxSets; i++) {
      const { node, claim } = choices[i]!;
      const wanted = claim(count);
      const result = allocator.allocate(node, [wanted]);
      if (result.type !== "allocated") continue;
      sets++;
      const reservation = allocator.reserve([wanted], result.allocations);
      // A choice can be repeated: devices may have several shares.
      visit(i, count + 1);
      reservation.rollback();
    }
  };
  visit(0, 0);
  return sets > maxSets ? undefined : best;
}

function choicesOf(world: World, shape: Shape, allocator: Allocator): readonly Choice[] | undefined {
  const nodes = openNodes(world);
  const isAll = shape.requests.some(({ exactly }) => exactly?.allocationMode === "All");
  // In mode All the node decides; alternatives are tried in their order, which a claim cannot name.
  if (isAll) return nodes.map((node) => ({ node, claim: (index) => claimOf(shape, index) }));
  if (shape.requests.some(({ exactly }) => exactly === undefined)) return undefined;
  const seen = new Set<string>();
  return nodes.flatMap((node) => {
    const perRequest = shape.requests.map((request) => {
      const single = { ...request.exactly, allocationMode: "ExactCount", count: 1 };
      const one = {
        ...shape,
        constraints: [],
        requests: [{ name: "r", exactly: single }] as DeviceRequest[],
      };
      const { claims } = allocator.explain(node, [claimOf(one)], { allDevices: true });
      return subsets(claims[0]!.requests[0]!.suitableDevices ?? [], Number(request.exactly?.count ?? 1));
    });
    return product(perRequest).flatMap((sets): Choice[] => {
      const key = JSON.stringify(sets);
      if (seen.has(key)) return [];
      const pinned = { ...shape, requests: shape.requests.map((request, i) => pin(request, sets[i]!)) };
      const claim = (index: number): ResourceClaim => claimOf(pinned, index);
      if (allocator.allocate(node, [claim(0)]).type !== "allocated") return [];
      seen.add(key);
      return [{ node, claim }];
    });
  });
}

/** Restricts a request to these devices, `driver/pool/device`. */
function pin(request: DeviceRequest, devices: readonly string[]): DeviceRequest {
  const ids = devices.map((device) => JSON.stringify(device.split("/").slice(1).join("-")));
  const expression = `device.attributes["${driver}"].id in [${ids.join(", ")}]`;
  const selectors = [...(request.exactly?.selectors ?? []), { cel: { expression } }];
  return { ...request, exactly: { ...request.exactly!, selectors } };
}

function subsets<T>(list: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return list.flatMap((each, i) => subsets(list.slice(i + 1), size - 1).map((rest) => [each, ...rest]));
}

function product<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>(
    (all, list) => all.flatMap((before) => list.map((each) => [...before, each])),
    [[]],
  );
}
