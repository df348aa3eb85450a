import { type Features, Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, podRequests } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import type { PodClaims } from "./claims.ts";
import { copiesOf } from "./copies.ts";
import { nodesForRequests } from "./device-bound.ts";
import { isBound } from "./units.ts";

/** Resources that every pod takes of its node itself. */
const counted = ["cpu", "memory", "ephemeral-storage"] as const;

/** The pods that have to be placed. */
export interface Placing {
  readonly prepared: PodClaims;
  /** Names of pods that are beyond help. */
  readonly hopeless: ReadonlySet<string>;
  readonly features: Features;
}

/**
 * Returns how many copies of a node any order of placing needs at least: what the pods ask for together, less
 * what the other nodes have free, by what one copy has. Rooms that cannot be used count as free, so that the
 * true number may be higher, but never lower.
 */
export function fewestPossible(world: World, like: string, placing: Placing): number {
  const { prepared, hopeless, features } = placing;
  const { pods, claims } = prepared;
  const all = pods.map(({ object }) => object);
  const waiting = all.filter((pod) => !isBound(pod) && !hopeless.has(nameOf(pod)));
  const bound = all.filter(isBound);
  const nodes = world.all("Node").map(({ object }) => object.status?.allocatable ?? {});
  const copy = world.find("Node", like)?.status?.allocatable ?? {};
  const amount = (text: string | undefined): Quantity => Quantity.parse(text ?? "0");
  const needs = counted.map((resource) => {
    const free = nodes.reduce((sum, each) => sum.add(amount(each[resource])), Quantity.of(0));
    const asked = sumOf(waiting, resource).add(sumOf(bound, resource)).sub(free);
    return ratio(asked, amount(copy[resource]));
  });
  return Math.max(
    ...needs,
    devicesNeeded(world, like, waiting, claims),
    nodesForRequests(world, like, { waiting, claims }, features),
  );
}

const sumOf = (pods: readonly Pod[], resource: string): Quantity =>
  pods.reduce((sum, pod) => sum.add(podRequests(pod).get(resource) ?? Quantity.of(0)), Quantity.of(0));

/** Rounded up; 0 if nothing is asked, or if the copies cannot give it. */
function ratio(asked: Quantity, each: Quantity): number {
  if (asked.sign <= 0 || each.sign <= 0) return 0;
  return Math.ceil(Number(asked.milliValue()) / Number(each.milliValue()));
}

/** Every device counts for every request, unless one can be shared: then their number says nothing. */
function devicesNeeded(
  world: World,
  like: string,
  waiting: readonly Pod[],
  claims: readonly ResourceClaim[],
): number {
  const slices = world.all("ResourceSlice").map(({ object }) => object);
  const devices = slices.flatMap(({ spec }) => spec.devices ?? []);
  if (devices.some(({ allowMultipleAllocations }) => allowMultipleAllocations === true)) return 0;
  const own = copiesOf(world, like, 1).reduce(
    (sum, { object }) =>
      sum +
      (object.kind === "ResourceSlice" && "devices" in object.spec ? (object.spec.devices?.length ?? 0) : 0),
    0,
  );
  const named = new Set(
    waiting.flatMap((pod) => createdPodClaims(pod).map(({ name }) => `${pod.metadata.namespace}/${name}`)),
  );
  const open = claims.filter((claim) => claim.status?.allocation === undefined && named.has(nameOf(claim)));
  const taken = claims.flatMap((claim) => claim.status?.allocation?.devices?.results ?? []);
  const free = devices.length - taken.filter(({ adminAccess }) => adminAccess !== true).length;
  const asked = open.reduce((sum, claim) => sum + minDevices(claim), 0) - free;
  return asked <= 0 || own === 0 ? 0 : Math.ceil(asked / own);
}

/** Returns how many devices the claim takes at least. */
function minDevices({ spec }: ResourceClaim): number {
  const count = (request: { readonly allocationMode?: string; readonly count?: number | bigint }): number =>
    request.allocationMode === "All" ? 1 : Number(request.count ?? 1);
  return (spec.devices?.requests ?? []).reduce((sum, { exactly, firstAvailable = [] }) => {
    if (exactly === undefined) return sum + Math.min(...firstAvailable.map(count), Number.MAX_SAFE_INTEGER);
    return sum + (exactly.adminAccess === true ? 0 : count(exactly));
  }, 0);
}

/**
 * Compares pods so that the largest come first: by their share of a node, in the resource of which it is
 * largest.
 */
export function largestFirst(world: World, like: string, { claims }: PodClaims): (a: Pod, b: Pod) => number {
  const node = world.find("Node", like)?.status?.allocatable ?? {};
  const devices = world
    .slicesOf(like)
    .reduce((sum, { object }) => sum + (object.spec.devices?.length ?? 0), 0);
  const byName = new Map(claims.map((claim) => [nameOf(claim), claim]));
  const sizes = new Map<string, number>();
  const sizeOf = (pod: Pod): number => {
    const known = sizes.get(pod.metadata.uid);
    if (known !== undefined) return known;
    const requests = podRequests(pod);
    const shares = counted.map((resource) => {
      const [asked, has] = [requests.get(resource), node[resource]];
      return asked === undefined || has === undefined
        ? 0
        : Number(asked.milliValue()) / Number(Quantity.parse(has).milliValue());
    });
    const own = createdPodClaims(pod).flatMap(
      ({ name }) => byName.get(`${pod.metadata.namespace}/${name}`) ?? [],
    );
    const taken = own.reduce((sum, claim) => sum + minDevices(claim), 0);
    const size = Math.max(0, ...shares, devices === 0 ? 0 : taken / devices);
    sizes.set(pod.metadata.uid, size);
    return size;
  };
  return (a, b) => sizeOf(b) - sizeOf(a);
}
