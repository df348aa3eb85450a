import type { Event } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { isDone } from "@dray/controllers/objects";
import { currentSlices } from "../inventory/devices.ts";
import { nameOf } from "../manifests/place.ts";
import { checkPools } from "../manifests/pools.ts";
import { counted, names } from "../text/words.ts";
import { isDriverPod, isReady, restartDriver, setOf } from "./driver-pods.ts";
import { type Finding, finding, kubectl, type Snapshot, word } from "./finding.ts";
import { poolsPublishedTwice } from "./publishers.ts";
import { isRecent, lastTime } from "./times.ts";

export function checkSlices(snapshot: Snapshot): Finding[] {
  return [...stale(snapshot), ...outdated(snapshot), ...pools(snapshot)];
}

const poolText = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;

/**
 * Finds slices of missing nodes. Excludes those that the Node owns: the garbage collector deletes them with
 * it.
 */
function stale({ world }: Snapshot): Finding[] {
  return world.all("ResourceSlice").flatMap(({ object: slice }) => {
    const { nodeName, devices = [] } = slice.spec;
    if (nodeName === undefined) return [];
    const node = world.find("Node", nodeName);
    const owner = (slice.metadata.ownerReferences ?? []).find(({ kind }) => kind === "Node");
    const isOther = node !== undefined && owner !== undefined && owner.uid !== node.metadata.uid;
    if (node !== undefined && !isOther) return [];
    const evidence = [
      `spec.nodeName is ${nodeName}, of driver ${slice.spec.driver}`,
      isOther
        ? `metadata.ownerReferences: Node ${owner.name} (uid ${owner.uid}): the node of this name has uid ${node.metadata.uid}`
        : `there is no Node ${nodeName}${owner === undefined ? ", and the slice has no owner that would take it along" : ""}`,
    ];
    const message = `publishes ${counted(devices.length, "device")} of node ${nodeName}, which is gone`;
    return [finding("stale-slice", slice, message, { evidence, fix: [kubectl("delete", slice)] })];
  });
}

function outdated({ world }: Snapshot): Finding[] {
  const current = new Map<string, ResourceSlice>();
  const twice = poolsPublishedTwice(world);
  for (const slice of currentSlices(world)) current.set(poolText(slice), slice);
  return world.all("ResourceSlice").flatMap(({ object: slice }) => {
    const newest = current.get(poolText(slice));
    const { generation } = slice.spec.pool;
    if (
      newest === undefined ||
      twice.has(poolText(slice)) ||
      Number(newest.spec.pool.generation) === Number(generation)
    )
      return [];
    const evidence = [
      `spec.pool.generation is ${generation}; ${newest.metadata.name} has ${newest.spec.pool.generation}`,
    ];
    const fix = [kubectl("delete", slice)];
    return [
      finding("outdated-slice", slice, `belongs to an older generation of pool ${poolText(slice)}`, {
        evidence,
        fix,
      }),
    ];
  });
}

function pools({ world, features }: Snapshot): Finding[] {
  const current = currentSlices(world);
  const twice = poolsPublishedTwice(world);
  return checkPools(world, features).flatMap(({ state, slice: { object }, path, message }) => {
    if (twice.has(poolText(object))) return [];
    const { spec, metadata } = object;
    const evidence = [
      `${path} of ResourceSlice ${metadata.name}`,
      `slices of driver ${spec.driver}, generation ${spec.pool.generation}: ${names(
        current.filter((slice) => poolText(slice) === poolText(object)).map((slice) => slice.metadata.name),
      )}`,
    ];
    // Its driver republishes the pool when it starts.
    const fix = [
      ...(spec.nodeName === undefined
        ? ["kubectl get pods -A -o wide"]
        : restartDriver(world, spec.nodeName, spec.driver)),
      `kubectl get resourceslices --field-selector=spec.driver=${word(spec.driver)}`,
    ];
    return finding(state === "invalid" ? "pool-invalid" : "pool-incomplete", object, message, {
      evidence,
      fix,
    });
  });
}

/** Messages of kubelets about drivers. Upstream: pkg/kubelet/cm/dra/plugin. */
export const notRegistered = /DRA driver (\S+) is not registered/;

/** Finds nodes whose kubelet does not know a driver that publishes devices there. */
export function checkRegistration({ world, now }: Snapshot): Finding[] {
  const events = world.all("Event").map(({ object }) => object);
  const found = new Map<string, { node: string; driver: string; pods: string[]; event: Event }>();
  for (const event of events) {
    if (event.reason !== "FailedPrepareDynamicResources") continue;
    const driver = notRegistered.exec(event.message ?? "")?.[1];
    const { namespace, name, uid, kind } = event.involvedObject;
    if (driver === undefined || kind !== "Pod" || !isRecent(lastTime(event), now)) continue;
    const pod = world.find("Pod", `${namespace}/${name}`);
    // Pods that have started since are not affected.
    if (pod === undefined || pod.metadata.uid !== uid || isDone(pod) || pod.status?.phase === "Running")
      continue;
    const node = pod.spec.nodeName ?? "";
    const key = `${node} ${driver}`;
    const known = found.get(key) ?? { node, driver, pods: [], event };
    found.set(key, { ...known, pods: [...new Set([...known.pods, nameOf(pod)])], event });
  }
  return [...found.values()].flatMap(({ node, driver, pods, event }) => {
    const slices = world
      .all("ResourceSlice")
      .map(({ object }) => object)
      .filter(({ spec }) => spec.driver === driver && spec.nodeName === node);
    if (slices.length === 0) return [];
    const evidence = [
      `ResourceSlice ${names(slices.map(({ metadata }) => metadata.name))} is of driver ${driver} on node ${node}`,
      `the kubelet says of ${names(pods)}, at ${lastTime(event)}: ${event.message}`,
    ];
    const object = { kind: "Node", metadata: { name: node } };
    const message = `publishes devices of driver ${driver}, which is not registered with its kubelet`;
    return [
      finding("driver-not-registered", object, message, {
        evidence,
        fix: restartDriver(world, node, driver),
      }),
    ];
  });
}

/**
 * Finds nodes with devices of a driver that have no pod of it (one that is not ready is another finding). A
 * driver's pods mount the kubelet's plugin registry and a folder of CDI specs. Skips drivers that run without
 * pods.
 */
export function checkDriverPods({ world }: Snapshot): Finding[] {
  const plugins = world
    .all("Pod")
    .map(({ object }) => object)
    .filter((pod) => isDriverPod(pod) && !isDone(pod));
  const drivers = Map.groupBy(
    world.all("ResourceSlice").flatMap(({ object }) => (object.spec.nodeName === undefined ? [] : object)),
    ({ spec }) => spec.driver,
  );
  return [...drivers].flatMap(([driver, slices]) => {
    const nodes = [...new Set(slices.flatMap(({ spec }) => spec.nodeName ?? []))];
    // The sets that run on the driver's nodes: one of them is the driver's.
    const sets = new Set(
      plugins.filter((pod) => isReady(pod) && nodes.includes(pod.spec.nodeName ?? "")).map(setOf),
    );
    if (sets.size === 0) return [];
    return nodes.flatMap((node) => {
      const hasPod = plugins.some((pod) => pod.spec.nodeName === node && sets.has(setOf(pod)));
      // A missing node has another finding.
      if (hasPod || world.find("Node", node) === undefined) return [];
      const evidence = [
        `driver ${driver} publishes devices on ${counted(nodes.length, "node")}, and has ready pods on others`,
        `no pod on node ${node} mounts the kubelet's plugins_registry and a folder of CDI specs`,
      ];
      const object = { kind: "Node", metadata: { name: node } };
      const message = `publishes devices of driver ${driver}, whose pod does not run here`;
      const fix = restartDriver(world, node, driver);
      return [finding("driver-not-running", object, message, { evidence, fix })];
    });
  });
}
