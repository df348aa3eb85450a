import { deviceDemands } from "@dray/api/quota";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { idOf, isRepelling, type KnownDevice, resultsOf, taintText } from "../inventory/devices.ts";
import type { Headroom } from "../inventory/headroom.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { classShape, type Shape, shapeKey } from "../inventory/shapes.ts";
import type { JudgedDevice, State, Unit } from "../inventory/units.ts";
import { nameOf } from "../manifests/place.ts";

/** The plain data of `dray top`; its schema is schema/top.json. */
export interface DeviceRow {
  /** `driver/pool/device` */
  readonly device: string;
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
  /** null: several nodes can reach it. */
  readonly node: string | null;
  readonly state: State;
  readonly health: string | null;
  readonly taints: readonly string[];
  readonly heldBy: readonly {
    readonly claim: string;
    readonly request: string;
    readonly adminAccess: boolean;
    readonly consumedCapacity: Readonly<Record<string, string>> | null;
    readonly pods: readonly string[];
  }[];
  /** Why it is unavailable; null: it is available. */
  readonly reason: string | null;
  /** Devices that share counters with it: only some of them can be allocated. */
  readonly sharesCountersWith: readonly string[];
}

export function deviceRows(units: readonly Unit[]): DeviceRow[] {
  return units.flatMap(({ devices }) => devices.map((device) => deviceRow(device, devices)));
}

export function deviceRow(device: JudgedDevice, unit: readonly JudgedDevice[]): DeviceRow {
  const { id, driver, pool, node, state, health, taints, holders } = device;
  return {
    device: id,
    driver,
    pool,
    name: device.device.name,
    node: node ?? null,
    state,
    health: health?.health ?? null,
    taints: taints.filter(isRepelling).map(taintText),
    heldBy: holders.map(({ claim, request, adminAccess, consumedCapacity, pods }) => ({
      claim,
      request,
      adminAccess,
      consumedCapacity: consumedCapacity ?? null,
      pods,
    })),
    reason: reasonOf(device),
    sharesCountersWith: unit.filter((other) => other !== device).map((other) => other.id),
  };
}

function reasonOf({ state, use, poolProblem, holders, taints }: JudgedDevice): string | null {
  switch (state) {
    case "free":
    case "partly":
      return null;
    case "waste":
      return "no class and no template chooses it, as far as it is left";
    case "allocated":
      return `allocated to claim ${holders.map(({ claim }) => claim).join(", ")}`;
    case "tainted":
      return `taint ${taints.filter(isRepelling).map(taintText).join(", ")}`;
    default:
      return poolProblem ?? use.refusal?.cause ?? "no node reaches it";
  }
}

/** Returns the sums of counts. */
export function sumOfCounts(rows: readonly Counts[]): Counts {
  const sum = (key: keyof Counts): number => rows.reduce((total, row) => total + row[key], 0);
  return {
    ...{ units: sum("units"), free: sum("free"), partly: sum("partly"), allocated: sum("allocated") },
    ...{ tainted: sum("tainted"), waste: sum("waste"), unusable: sum("unusable") },
    ...{ unhealthy: sum("unhealthy"), devices: sum("devices") },
  };
}

/** Numbers of hardware units: devices that share counters count once. */
export interface Counts {
  readonly units: number;
  readonly free: number;
  readonly partly: number;
  readonly allocated: number;
  readonly tainted: number;
  readonly waste: number;
  readonly unusable: number;
  readonly unhealthy: number;
  /** Number of published devices. */
  readonly devices: number;
}

export function countsOf(units: readonly Unit[]): Counts {
  const count = (state: State): number => units.filter((unit) => unit.state === state).length;
  return {
    units: units.length,
    free: count("free"),
    partly: count("partly"),
    allocated: count("allocated"),
    tainted: count("tainted"),
    waste: count("waste"),
    unusable: count("unusable"),
    unhealthy: units.filter(({ isUnhealthy }) => isUnhealthy).length,
    devices: units.reduce((sum, { devices }) => sum + devices.length, 0),
  };
}

export interface NodeRow extends Counts {
  /** null: devices that several nodes can reach. */
  readonly node: string | null;
  /** Claims with devices of the node. */
  readonly claims: readonly string[];
}

/** Returns a row for each of these nodes, and for nodes that only devices name. */
export function nodeRows(nodes: readonly string[], units: readonly Unit[]): NodeRow[] {
  const names = nodes.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const byNode = Map.groupBy(units, ({ node }) => node);
  const named = new Set(names);
  const others = [...byNode.keys()].filter((node) => node !== undefined && !named.has(node));
  return [...names, ...others, undefined].flatMap((node): NodeRow[] => {
    const own = byNode.get(node) ?? [];
    if (node === undefined && own.length === 0) return [];
    const claims = own.flatMap(({ devices }) =>
      devices.flatMap(({ holders }) => holders.map(({ claim }) => claim)),
    );
    return [{ node: node ?? null, ...countsOf(own), claims: [...new Set(claims)] }];
  });
}

export interface HeadroomData {
  readonly count: number;
  /** More may fit: the search did not try all arrangements. */
  readonly isLowerBound: boolean;
  readonly nodes: Readonly<Record<string, number>>;
}

export interface ClassRow {
  readonly class: string;
  /** Hardware units with a part that the class can still get. */
  readonly free: number;
  /** Devices, or shares, of claims with the class. */
  readonly allocated: number;
  /** Devices of the class in claims without an allocation. */
  readonly pending: number;
  /** Claims for one device; null: no limit. */
  readonly headroom: HeadroomData | null;
}

export interface TemplateRow {
  readonly template: string;
  readonly classes: readonly string[];
  /** null: no limit. */
  readonly headroom: HeadroomData | null;
}

export function classRows(inventory: Inventory, isWanted: (shape: Shape) => boolean): ClassRow[] {
  const { world, units } = inventory;
  const claims = world.all("ResourceClaim").map(({ object }) => object);
  const allocated = countBy(claims.flatMap((claim) => allocatedClasses(claim)));
  const pending = pendingByClass(claims);
  return inventory.shapes
    .filter((shape) => shape.kind === "DeviceClass" && isWanted(shape))
    .map((shape) => ({
      class: shape.name,
      free: units.filter(({ devices }) => hasUse(devices, shape)).length,
      allocated: allocated.get(shape.name) ?? 0,
      pending: pending.get(shape.name) ?? 0,
      headroom: headroomData(inventory.headroom(classShape(shape.name))),
    }));
}

const hasUse = (devices: readonly JudgedDevice[], shape: Shape): boolean =>
  devices.some(({ use }) => use.shapes.has(shapeKey(shape)));

export function templateRows(inventory: Inventory, isWanted: (shape: Shape) => boolean): TemplateRow[] {
  return inventory.shapes
    .filter((shape) => shape.kind === "ResourceClaimTemplate" && isWanted(shape))
    .map((shape) => ({
      template: shape.name,
      classes: [...new Set(requestedClasses(shape.requests).map(({ deviceClass }) => deviceClass))],
      headroom: headroomData(inventory.headroom(shape)),
    }));
}

export function headroomData(headroom: Headroom | undefined): HeadroomData | null {
  if (headroom === undefined) return null;
  return { ...headroom, nodes: Object.fromEntries(headroom.nodes) };
}

/** Returns the class and the number of devices of each request; of all alternatives. "All" counts as one. */
export function requestedClasses(
  requests: Shape["requests"],
): { readonly request: string; readonly deviceClass: string; readonly count: number }[] {
  return deviceDemands({ devices: { requests: [...requests] } })
    .flatMap(({ alternatives }) => alternatives)
    .map(({ name, deviceClass, count }) => ({
      request: name,
      deviceClass,
      count: count === "All" ? 1 : Number(count),
    }));
}

/** Returns the class of each device of a claim. */
export function allocatedClasses(claim: ResourceClaim): string[] {
  const classes = new Map(
    requestedClasses(claim.spec.devices?.requests ?? []).map(({ request, deviceClass }) => [
      request,
      deviceClass,
    ]),
  );
  return resultsOf(claim).flatMap(({ request }) => classes.get(request) ?? []);
}

/** Returns how many devices of each class claims wait for; of the first alternatives. */
function pendingByClass(claims: readonly ResourceClaim[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spec, status } of claims) {
    if (status?.allocation !== undefined) continue;
    for (const request of spec.devices?.requests ?? []) {
      const [first] = requestedClasses([request]);
      if (first === undefined) continue;
      const { deviceClass, count } = first;
      counts.set(deviceClass, (counts.get(deviceClass) ?? 0) + Math.max(count, 0));
    }
  }
  return counts;
}

function countBy(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

export interface ClaimRow {
  /** `namespace/name` */
  readonly claim: string;
  readonly state: "pending" | "allocated" | "reserved" | "deleting";
  readonly classes: readonly string[];
  readonly devices: readonly string[];
  readonly nodes: readonly string[];
  readonly pods: readonly string[];
  /** RFC 3339; null: of a manifest. */
  readonly created: string | null;
}

export function claimRows(
  claims: readonly ResourceClaim[],
  known: ReadonlyMap<string, KnownDevice>,
): ClaimRow[] {
  return claims
    .map((claim): ClaimRow => {
      const ids = resultsOf(claim).map(idOf);
      const requested = requestedClasses(claim.spec.devices?.requests ?? []);
      return {
        claim: nameOf(claim),
        state: stateOfClaim(claim),
        classes: [...new Set(requested.map(({ deviceClass }) => deviceClass))],
        devices: ids,
        nodes: [...new Set(ids.flatMap((id) => known.get(id)?.node ?? []))],
        pods: (claim.status?.reservedFor ?? []).map(({ name }) => `${claim.metadata.namespace}/${name}`),
        created: claim.metadata.creationTimestamp ?? null,
      };
    })
    .toSorted((a, b) => (a.claim < b.claim ? -1 : 1));
}

export function stateOfClaim({ metadata, status }: ResourceClaim): ClaimRow["state"] {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status?.allocation === undefined) return "pending";
  return (status.reservedFor ?? []).length > 0 ? "reserved" : "allocated";
}

export interface NamespaceRow {
  readonly namespace: string;
  readonly claims: number;
  readonly pending: number;
  /** Whole devices of its claims. */
  readonly devices: number;
  /** Shares of devices. */
  readonly shares: number;
  /** Devices and shares by class. */
  readonly classes: Readonly<Record<string, number>>;
}

export function namespaceRows(claims: readonly ResourceClaim[]): NamespaceRow[] {
  const byNamespace = Map.groupBy(claims, ({ metadata }) => metadata.namespace);
  return [...byNamespace]
    .map(([namespace, own]): NamespaceRow => ({ namespace, ...usageOf(own) }))
    .toSorted((a, b) => (a.namespace < b.namespace ? -1 : 1));
}

/** Returns what the claims have together. */
export function usageOf(claims: readonly ResourceClaim[]): Omit<NamespaceRow, "namespace"> {
  const results = claims.flatMap(resultsOf).filter(({ adminAccess }) => adminAccess !== true);
  return {
    claims: claims.length,
    pending: claims.filter(({ status }) => status?.allocation === undefined).length,
    devices: results.filter(({ shareID }) => shareID === undefined).length,
    shares: results.filter(({ shareID }) => shareID !== undefined).length,
    classes: Object.fromEntries(countBy(claims.flatMap(allocatedClasses))),
  };
}
