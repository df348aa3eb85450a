import { type Features, untolerated } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { DeviceRequest, ResourceClaim } from "@dray/api/resource/v1";
import { cordonTaint } from "../inventory/allocator.ts";
import { Inventory } from "../inventory/inventory.ts";
import type { Shape } from "../inventory/shapes.ts";
import { jsonText } from "../manifests/json-text.ts";
import { nameOf } from "../manifests/place.ts";
import { World } from "../manifests/world.ts";
import { copiesOf } from "./copies.ts";

type ExactRequest = NonNullable<DeviceRequest["exactly"]>;

/** The devices that waiting pods take at least of those that suit one request. */
interface Demand {
  readonly request: ExactRequest;
  readonly count: number;
}

/** Maximum number of different requests that are counted. */
const maxDemands = 100;

/**
 * Returns how many copies of a node the requests of waiting pods need at least: for equal requests, and for
 * all of one class, the devices that they take at the same time, less those that the cluster can give, by
 * those that a copy can give. Both are the most that can be allocated at once, as if nothing else needed
 * them.
 */
export function nodesForRequests(
  world: World,
  like: string,
  { waiting, claims }: { readonly waiting: readonly Pod[]; readonly claims: readonly ResourceClaim[] },
  features: Features,
): number {
  const named = new Set(
    waiting.flatMap((pod) => createdPodClaims(pod).map(({ name }) => `${pod.metadata.namespace}/${name}`)),
  );
  const open = claims.filter((claim) => claim.status?.allocation === undefined && named.has(nameOf(claim)));
  const requests = open.flatMap(({ spec }) => spec.devices?.requests ?? []).flatMap(exactOf);
  const slices = world.all("ResourceSlice").flatMap(({ object }) => object.spec.devices ?? []);
  const isShared = slices.some(({ allowMultipleAllocations }) => allowMultipleAllocations === true);
  const demands = [
    ...demandsOf(requests, alone),
    // How many claims share a device depends on the capacity that each asks for.
    ...(isShared ? [] : demandsOf(requests, ofClass)),
  ];
  if (demands.length > maxDemands) return 0;
  const copies = copiesOf(world, like, 1);
  const classes = world.all("DeviceClass", "DeviceTaintRule");
  const copy = new Inventory(new World([...classes, ...copies]), features);
  const there = new Inventory(world, features);
  const nodes = openTo(world, waiting);
  const added = copies.flatMap(({ object }) => (object.kind === "Node" ? [object as Node] : []));
  const needs = demands.map(({ request, count }, i) => {
    const shape = shapeOf(request, i);
    const each = roomFor(copy, shape, added);
    if (each === undefined || each === 0) return 0;
    const left = roomFor(there, shape, nodes);
    return left === undefined ? 0 : Math.max(0, Math.ceil((count - left) / each));
  });
  return Math.max(0, ...needs);
}

/** Alternatives may take other devices, and admin access takes none. */
const exactOf = ({ exactly }: DeviceRequest): ExactRequest[] =>
  exactly === undefined || exactly.adminAccess === true ? [] : [exactly];

/** A request for one device like those of the request. */
const alone = (request: ExactRequest): ExactRequest => ({
  ...request,
  allocationMode: "ExactCount",
  count: 1,
});

/** A request for any device of the class, also a tainted one. */
const ofClass = ({ deviceClassName }: ExactRequest): ExactRequest => ({
  deviceClassName,
  allocationMode: "ExactCount",
  count: 1,
  tolerations: [{ operator: "Exists" }],
});

function demandsOf(
  requests: readonly ExactRequest[],
  single: (request: ExactRequest) => ExactRequest,
): Demand[] {
  const equal = Map.groupBy(requests, (request) => jsonText(single(request)));
  return [...equal.values()].map((same) => ({
    request: single(same[0]!),
    count: same.reduce((sum, each) => sum + countOf(each), 0),
  }));
}

const countOf = ({ allocationMode, count }: ExactRequest): number =>
  allocationMode === "All" ? 1 : Number(count ?? 1);

const shapeOf = (request: ExactRequest, index: number): Shape => ({
  kind: "ResourceClaimTemplate",
  name: `bound-${index}`,
  requests: [{ name: "device", exactly: request }],
  constraints: [],
});

/** Undefined: no limit, or more than can be counted. */
function roomFor(inventory: Inventory, shape: Shape, nodes: readonly Node[]): number | undefined {
  const headroom = inventory.headroom(shape, [...nodes]);
  return headroom === undefined || headroom.isLowerBound ? undefined : headroom.count;
}

/** Returns the nodes whose taints some waiting pod tolerates. */
function openTo(world: World, waiting: readonly Pod[]): Node[] {
  const cordon = { key: cordonTaint, effect: "NoSchedule" } as const;
  return world
    .all("Node")
    .map(({ object }) => object)
    .filter(({ spec }) => {
      const taints = [...(spec.taints ?? []), ...(spec.unschedulable === true ? [cordon] : [])];
      return waiting.some(
        (pod) => untolerated(taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]).length === 0,
      );
    });
}
