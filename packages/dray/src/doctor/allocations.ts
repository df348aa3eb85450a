import { allocatorFeatures, createAllocator } from "@dray/allocator";
import { matchesNodeSelector, Quantity } from "@dray/api";
import type { Node, NodeSelector } from "@dray/api/core/v1";
import type {
  AllocationResult,
  Device,
  DeviceRequest,
  DeviceRequestAllocationResult,
  DeviceTaint,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import { type DeviceEnvironment, deviceEnvironment } from "@dray/cel";
import { currentSlices, deviceId, idOf, resultsOf } from "../inventory/devices.ts";
import { mergeClaims } from "../plan/explain.ts";
import { requestLines } from "../plan/reason.ts";
import { counted, names } from "../text/words.ts";
import { type Finding, finding, type Snapshot } from "./finding.ts";
import { freeDevices } from "./release.ts";

/**
 * Checks for each claim that the allocator would give it exactly its devices. The allocator sees only these
 * devices of the pools, each marked with its request. The feature gates at that time are unknown, so all are
 * on. Taints count if they were set before the allocation.
 */
export function checkAllocations(snapshot: Snapshot): Finding[] {
  const { world } = snapshot;
  const slices = currentSlices(world);
  const reach = new ReachableNodes(snapshot);
  // One for all claims: most of them use the same selectors.
  const environment = deviceEnvironment({ stored: true });
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  const published = new Set(
    slices.flatMap(({ spec }) =>
      (spec.devices ?? []).map(({ name }) => deviceId(spec.driver, spec.pool.name, name)),
    ),
  );
  return world.all("ResourceClaim").flatMap(({ object: claim }) => {
    const results = resultsOf(claim);
    const allocation = claim.status?.allocation;
    // Unpublished devices are another finding.
    if (
      allocation === undefined ||
      results.length === 0 ||
      !results.every((result) => published.has(idOf(result)))
    )
      return [];
    const wanted = new Set(results.map(({ driver, pool }) => `${driver}/${pool}`));
    const own = [...wanted].flatMap((pool) => pools.get(pool) ?? []);
    return checkAllocation(claim, allocation, own, { reach, snapshot, environment });
  });
}

const domain = "doctor.dray.dev";

interface AllocationScene {
  readonly reach: ReachableNodes;
  readonly snapshot: Snapshot;
  readonly environment: DeviceEnvironment;
}

function checkAllocation(
  claim: ResourceClaim,
  allocation: AllocationResult,
  slices: readonly ResourceSlice[],
  { reach, snapshot, environment }: AllocationScene,
): Finding[] {
  const results = resultsOf(claim);
  const nodes = reach.of(allocation.nodeSelector);
  const report = (message: string, evidence: readonly string[]): Finding[] => {
    const fix = freeDevices(claim, snapshot.world);
    const who =
      "another scheduler or a person has allocated it, or what it was allocated by has changed since";
    return [finding("wrong-allocation", claim, message, { evidence: [...evidence, who], fix })];
  };
  const missing = missingClasses(claim, snapshot);
  if (missing.length > 0)
    return report("has devices of a class that does not exist", [
      `there is no DeviceClass ${names(missing)}`,
    ]);
  const unknown = results.filter(({ request }) => requestOf(claim, request) === undefined);
  if (unknown.length > 0)
    return report(
      "has devices for requests that it does not have",
      unknown.map(({ request }) => `request ${request}`),
    );
  const [node] = nodes;
  if (node === undefined)
    return report("is for nodes that do not exist", [
      `status.allocation.nodeSelector: ${JSON.stringify(allocation.nodeSelector)} matches no node`,
    ]);
  const marks = new Map(
    [...new Set(results.map(({ request }) => request))].map((name, i) => [name, `r${i}`]),
  );
  const allocator = createAllocator({
    features: allocatorFeatures({ enabled: () => true }),
    environment,
    newId: () => "00000000-0000-4000-8000-000000000000",
  });
  const allocatedAt = allocation.allocationTimestamp;
  const deleted = false;
  for (const slice of slices)
    allocator.update({ kind: "slice", object: onlyGiven(slice, results, marks, allocatedAt), deleted });
  for (const { object } of snapshot.world.all("DeviceClass"))
    allocator.update({ kind: "class", object, deleted });
  for (const { object } of snapshot.world.all("DeviceTaintRule"))
    if (isBefore(object.spec.taint, allocatedAt)) allocator.update({ kind: "rule", object, deleted });
  const bare = markedClaim(claim, results, marks);
  const answer = allocator.allocate(node, [bare]);
  if (answer.type === "error") return report("would not get these devices", [answer.message]);
  if (answer.type !== "allocated") {
    const [refusal] = mergeClaims([allocator.explain(node, [bare])]);
    const lines = refusal?.requests.flatMap((request) => requestLines(refusal.claim, request, 1)) ?? [];
    const why = lines.map((line) => line.trim()).filter((line) => !line.includes(domain));
    return report(`would not get these devices on node ${node.metadata.name}`, why);
  }
  const given = answer.allocations[0]!;
  const more = results.length - (given.devices?.results ?? []).length;
  if (more > 0)
    return report(`has ${counted(more, "device")} more than it asks for`, results.map(resultText));
  const amounts = wrongAmounts(results, given.devices?.results ?? []);
  if (amounts.length > 0) return report("consumes other amounts than it asks for", amounts);
  const reachable = new Set(reach.of(given.nodeSelector).map(({ metadata }) => metadata.name));
  const beyond = nodes.map(({ metadata }) => metadata.name).filter((name) => !reachable.has(name));
  if (beyond.length === 0) return [];
  return report("lets its pods run on nodes that do not have its devices", [
    `status.allocation.nodeSelector matches ${names(beyond)}; the devices are on ${names([...reachable])}`,
  ]);
}

const resultText = ({ request, driver, pool, device }: DeviceRequestAllocationResult): string =>
  `request ${request}: ${deviceId(driver, pool, device)}`;

/** Caches the nodes of node selectors: many claims have the same one. */
class ReachableNodes {
  readonly #nodes: readonly Node[];
  readonly #known = new Map<string, readonly Node[]>();

  constructor({ world }: Snapshot) {
    this.#nodes = world.all("Node").map(({ object }) => object);
  }

  of(selector: NodeSelector | undefined): readonly Node[] {
    if (selector === undefined) return this.#nodes;
    const key = JSON.stringify(selector);
    let nodes = this.#known.get(key);
    if (nodes === undefined) {
      nodes = this.#nodes.filter((node) => matchesNodeSelector(selector, node));
      this.#known.set(key, nodes);
    }
    return nodes;
  }
}

const mainName = (request: string): string => request.split("/")[0]!;

function requestOf(claim: ResourceClaim, name: string): DeviceRequest | undefined {
  const [main, sub] = name.split("/");
  const request = (claim.spec.devices?.requests ?? []).find((one) => one.name === main);
  if (sub === undefined) return request?.exactly === undefined ? undefined : request;
  return request?.firstAvailable?.some((one) => one.name === sub) ? request : undefined;
}

function missingClasses(claim: ResourceClaim, { world }: Snapshot): string[] {
  const used = new Set(resultsOf(claim).map(({ request }) => request));
  const classes = (claim.spec.devices?.requests ?? []).flatMap(({ name, exactly, firstAvailable = [] }) =>
    exactly !== undefined
      ? exactly.deviceClassName
      : firstAvailable.flatMap((sub) => (used.has(`${name}/${sub.name}`) ? sub.deviceClassName : [])),
  );
  return [...new Set(classes)].filter((name) => world.find("DeviceClass", name) === undefined);
}

/** The claim with the alternatives that were chosen, each of which requests its devices. */
function markedClaim(
  claim: ResourceClaim,
  results: readonly DeviceRequestAllocationResult[],
  marks: ReadonlyMap<string, string>,
): ResourceClaim {
  const taken = new Set(results.map(({ request }) => request));
  const mark = (name: string): { cel: { expression: string } }[] => {
    const attribute = marks.get(name);
    return attribute === undefined
      ? []
      : [{ cel: { expression: `"${attribute}" in device.attributes["${domain}"]` } }];
  };
  const requests = (claim.spec.devices?.requests ?? []).map((request): DeviceRequest => {
    const { name, exactly, firstAvailable } = request;
    if (exactly !== undefined)
      return {
        ...request,
        exactly: { ...exactly, selectors: [...(exactly.selectors ?? []), ...mark(name)] },
      };
    const subs = (firstAvailable ?? [])
      .filter((sub) => taken.has(`${name}/${sub.name}`))
      .map((sub) => ({ ...sub, selectors: [...(sub.selectors ?? []), ...mark(`${name}/${sub.name}`)] }));
    return { ...request, firstAvailable: subs.length > 0 ? subs : (firstAvailable ?? []) };
  });
  const { status: _, ...rest } = claim;
  return { ...rest, spec: { ...claim.spec, devices: { ...claim.spec.devices, requests } } };
}

/** A slice with the allocated devices, and the taints at that time. */
function onlyGiven(
  slice: ResourceSlice,
  results: readonly DeviceRequestAllocationResult[],
  marks: ReadonlyMap<string, string>,
  allocatedAt: string | undefined,
): ResourceSlice {
  const { driver, pool, devices } = slice.spec;
  const given = (devices ?? []).flatMap((device): Device[] => {
    const requests = results.filter((result) => idOf(result) === deviceId(driver, pool.name, device.name));
    if (requests.length === 0) return [];
    const own = requests.map(({ request }) => [`${domain}/${marks.get(request)}`, { bool: true }]);
    const taints = (device.taints ?? []).filter((taint) => isBefore(taint, allocatedAt));
    return [{ ...device, taints, attributes: { ...device.attributes, ...Object.fromEntries(own) } }];
  });
  return { ...slice, spec: { ...slice.spec, ...(devices !== undefined && { devices: given }) } };
}

/** Times are in whole seconds: within the same second the order is unknown. */
function isBefore(taint: DeviceTaint | undefined, allocatedAt: string | undefined): boolean {
  const timeAdded = taint?.timeAdded;
  if (timeAdded === undefined || allocatedAt === undefined) return false;
  return Date.parse(timeAdded) < Date.parse(allocatedAt);
}

/** Returns shares whose consumption differs from the allocator's. */
function wrongAmounts(
  stored: readonly DeviceRequestAllocationResult[],
  given: readonly DeviceRequestAllocationResult[],
): string[] {
  const key = ({ request, driver, pool, device }: DeviceRequestAllocationResult): string =>
    `${mainName(request)} ${deviceId(driver, pool, device)}`;
  const wanted = new Map(given.map((result) => [key(result), result]));
  return stored.flatMap((result) => {
    if (result.shareID === undefined) return [];
    const other = wanted.get(key(result))?.consumedCapacity ?? {};
    const own = result.consumedCapacity ?? {};
    return [...new Set([...Object.keys(own), ...Object.keys(other)])].flatMap((name) => {
      const [has, asks] = [own[name], other[name]];
      if (has !== undefined && asks !== undefined && Quantity.parse(has).equals(Quantity.parse(asks)))
        return [];
      return [
        `${resultText(result)}: consumes ${has ?? "nothing"} of ${name}, and asks for ${asks ?? "nothing"}`,
      ];
    });
  });
}
