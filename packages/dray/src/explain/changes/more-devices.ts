import type { Allocator, Check } from "@dray/allocator";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import { allocatorOf } from "../../inventory/allocator.ts";
import { currentSlices, deviceId } from "../../inventory/devices.ts";
import { classShape, type Shape, singleClaims } from "../../inventory/shapes.ts";
import { nameOf } from "../../manifests/place.ts";
import { counted } from "../../text/words.ts";
import type { Change, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts } from "./attempts.ts";

/** Checks that a suitable device fails only because it is in use or tainted. */
const afterSelectors: ReadonlySet<Check> = new Set([
  "in-use",
  "capacity",
  "compatibility-group",
  "counter",
  "taint",
  "constraint",
]);

/** Maximum number of added devices. */
const maxDevices = 16;
/** Maximum number of nodes to add devices to. */
const maxNodes = 3;
const pool = "more-devices";

/** Tries more devices of the requested kind, on the most promising nodes. */
export async function moreDevices(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const changes: Change[] = [];
  const done = new Set<string>();
  const allocator = allocatorOf(trial.world, trial.features, trial.environment);
  const asked = nodes
    .slice(0, maxNodes)
    .flatMap(({ node, claims }) =>
      claims.flatMap(({ claim, requests }) => requests.map((request) => ({ node, claim, request }))),
    );
  for (const { node, claim, request } of asked) {
    const key = `${claim} ${request.request}`;
    if (done.has(key) || request.wanted === 0) continue;
    const like = deviceLike(trial, allocator, shapeOf(trial, claim, request), nodes);
    if (like === undefined) continue;
    const lacking = Math.min(maxDevices, Math.max(1, request.wanted - request.suitable));
    const pods = trial.members.length + trial.rivals.flatMap((unit) => unit.pods).length;
    for (const count of new Set([1, lacking, Math.min(maxDevices, request.wanted * pods)])) {
      const landing = await attempts.ask("device", () => trial.with([sliceOf(like, node, count)]));
      if (landing === null) continue;
      done.add(key);
      const id = deviceId(like.slice.spec.driver, like.slice.spec.pool.name, like.device.name);
      const text = `${counted(count, "more device")} like ${id} on node ${node}`;
      // Another request of the same kind has got the same.
      if (changes.some((each) => each.text === text)) break;
      changes.push({
        kind: "device",
        text,
        ...landing,
        about: { claim, request: request.request, device: id, node, count },
      });
      break;
    }
  }
  return changes;
}

interface Like {
  readonly device: Device;
  readonly slice: ResourceSlice;
}

/**
 * Returns the shape of the request, or of one alternative; an extended resource is any device of its class.
 */
function shapeOf(
  trial: Trial,
  claimName: string,
  { request: name, deviceClass }: NodeData["claims"][number]["requests"][number],
): Shape {
  const claim = trial.open.find((each) => nameOf(each) === claimName);
  if (claim === undefined) return classShape(deviceClass);
  const [wanted, sub] = name.split("/");
  const requests = (claim.spec.devices?.requests ?? [])
    .filter((request) => request.name === wanted)
    .map((request) =>
      sub === undefined
        ? request
        : { ...request, firstAvailable: request.firstAvailable?.filter((each) => each.name === sub) },
    ) as Shape["requests"];
  return { kind: "ResourceClaimTemplate", name: "like", requests, constraints: [] };
}

/** Returns a device that the shape would take if it were free; the most promising nodes come first. */
function deviceLike(
  trial: Trial,
  allocator: Allocator,
  shape: Shape,
  nodes: readonly NodeData[],
): Like | undefined {
  const singles = singleClaims(shape);
  for (const { node } of nodes) {
    const object = trial.world.find("Node", node);
    if (object === undefined) continue;
    for (const single of singles) {
      const { claims } = allocator.explain(object, [single], { allDevices: true });
      const ids = claims.flatMap((each) =>
        each.requests.flatMap(({ suitableDevices = [], refused }) => [
          ...suitableDevices,
          ...refused.filter(({ check }) => afterSelectors.has(check)).flatMap(({ devices }) => devices),
        ]),
      );
      const found = ids[0] === undefined ? undefined : deviceOf(trial, ids[0]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function deviceOf(trial: Trial, id: string): Like | undefined {
  for (const slice of currentSlices(trial.world)) {
    const { driver, pool, devices = [] } = slice.spec;
    const device = devices.find((each) => deviceId(driver, pool.name, each.name) === id);
    if (device !== undefined) return { device, slice };
  }
  return undefined;
}

/** Returns a slice with a new pool of copies of the device, free and without taints. */
function sliceOf({ device, slice }: Like, node: string, count: number): ResourceSlice {
  const { taints: _t, consumesCounters: _c, nodeName: _n, nodeSelector: _s, allNodes: _a, ...copy } = device;
  const name = `${node}-${pool}`;
  return {
    ...slice,
    metadata: { ...slice.metadata, name, uid: name },
    spec: {
      driver: slice.spec.driver,
      nodeName: node,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: count }, (_, i) => ({ ...copy, name: `more-${i}` })),
    },
  };
}
