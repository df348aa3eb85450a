/** Does what `dray explain` suggests, by the data of the change, on the objects of a cluster. */
import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { Change } from "../../packages/dray/src/explain/data.ts";
import { isWaiting, type SimulatedCluster } from "./cluster.ts";
import type { Manifest, Stored } from "./draft.ts";

export type Part = Pick<Change, "kind" | "text" | "about"> & { readonly changes?: readonly Part[] };
type Doing = (cluster: SimulatedCluster, about: Readonly<Record<string, unknown>>, subject: string) => void;

const text = (value: unknown): string => String(value);
const list = (value: unknown): string[] => value as string[];

/** The subject, and the waiting pods of its group: they have the same spec. */
function podsOf(cluster: SimulatedCluster, subject: string): Pod[] {
  const own = cluster.find<Pod>("Pod", `default/${subject}`)!;
  const group = own.spec.schedulingGroup?.podGroupName;
  if (group === undefined) return [own];
  return cluster
    .all<Pod>("Pod")
    .filter((pod) => pod.spec.schedulingGroup?.podGroupName === group && isWaiting(pod));
}

const editPods = (cluster: SimulatedCluster, subject: string, edit: (spec: Manifest) => void): void => {
  for (const pod of podsOf(cluster, subject)) {
    const copy = structuredClone(pod);
    edit(copy.spec as Manifest);
    cluster.set(copy);
  }
};

/** Edits a claim; one from a template with the template, and with the claims of the group from it. */
function editClaim(
  cluster: SimulatedCluster,
  subject: string,
  name: string,
  edit: (spec: Manifest) => void,
): void {
  const change = <T extends KubeObject>(object: T, spec: (copy: T) => unknown): void => {
    const copy = structuredClone(object);
    edit(spec(copy) as Manifest);
    cluster.set(copy);
  };
  const entries = podsOf(cluster, subject).flatMap((pod) =>
    (pod.spec.resourceClaims ?? []).map((entry) => ({ pod, entry })),
  );
  const nameOf = ({ pod, entry }: (typeof entries)[number]): string | undefined =>
    entry.resourceClaimName ??
    pod.status?.resourceClaimStatuses?.find((each) => each.name === entry.name)?.resourceClaimName;
  const own = entries.find((each) => `default/${nameOf(each)}` === name);
  const template = own?.entry.resourceClaimTemplateName;
  const alike =
    template === undefined ? [] : entries.filter(({ entry }) => entry.resourceClaimTemplateName === template);
  const names = new Set([name, ...alike.map((each) => `default/${nameOf(each)}`)]);
  for (const each of names) {
    const found = cluster.find<ResourceClaim>("ResourceClaim", each);
    if (found !== undefined) change(found, ({ spec }) => spec);
  }
  const made = cluster.find<ResourceClaimTemplate>("ResourceClaimTemplate", `default/${template}`);
  if (made !== undefined) change(made, ({ spec }) => spec.spec);
}

function bodyOf(spec: Manifest, request: string): Manifest {
  const [name, sub] = request.split("/");
  const found = spec.devices.requests.find((each: Manifest) => each.name === name);
  return sub === undefined ? found.exactly : found.firstAvailable.find((each: Manifest) => each.name === sub);
}

function taintOf(given: unknown): Manifest {
  const [, key, , value, effect] = /^([^=:]+)(=([^:]*))?:(\w+)$/.exec(text(given))!;
  return { key, effect, ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }) };
}

const selectorEdit =
  (about: Readonly<Record<string, unknown>>) =>
  (body: Manifest): void => {
    const { selector, replacement } = about;
    body.selectors = (body.selectors ?? []).flatMap((each: Manifest) => {
      if (selector !== undefined && each.cel.expression !== selector) return [each];
      return replacement === undefined ? [] : [{ cel: { expression: replacement } }];
    });
  };

function lowerRequests(spec: Manifest, requests: readonly string[]): void {
  for (const each of requests) {
    const [, container = "", resource = "", amount] = /^([^/]*)\/(.+)=(.+)$/.exec(each)!;
    const all = [...spec.containers, ...(spec.initContainers ?? [])];
    const target = container === "" ? spec : all.find(({ name }) => name === container);
    const { resources = {} } = target;
    target.resources = { ...resources, requests: { ...resources.requests, [resource]: amount } };
    if (resources.limits?.[resource] !== undefined)
      target.resources.limits = { ...resources.limits, [resource]: amount };
  }
}

/** Adds free and untainted copies of a device to a node, as a pool of their own. */
function addDevices(cluster: SimulatedCluster, device: string, node: string, count: number): void {
  const [driver, pool, name] = device.split("/");
  const like = cluster
    .all<Stored>("ResourceSlice")
    .filter(({ spec }) => spec.driver === driver && spec.pool.name === pool)
    .flatMap(({ spec }) => spec.devices ?? [])
    .find((each: Manifest) => each.name === name);
  const { taints: _t, consumesCounters: _c, ...copy } = like;
  const added = `added-${node}-${cluster.all("ResourceSlice").length}`;
  cluster.set({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: added, uid: added, resourceVersion: "1" },
    spec: {
      driver,
      nodeName: node,
      pool: { name: added, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: count }, (_, i) => ({ ...structuredClone(copy), name: `added-${i}` })),
    },
  } as unknown as KubeObject); // a slice
}

const isCondition = ({ key }: Manifest): boolean => key.startsWith("node.kubernetes.io/");

/** Makes a node ready, without the taints of its conditions. */
function recover(node: Stored): void {
  if (node.spec.taints !== undefined)
    node.spec.taints = node.spec.taints.filter((each: Manifest) => !isCondition(each));
  node.status.conditions = [{ type: "Ready", status: "True", reason: "KubeletReady" }];
}

/** Adds an empty copy of a node with its devices, ready and open. */
function addNode(cluster: SimulatedCluster, like: string, number: number): void {
  const name = `added-${like}-${number}`;
  const node = structuredClone(cluster.find<Stored>("Node", like)!);
  node.metadata.name = name;
  (node.metadata as Manifest).uid = name;
  node.metadata.labels = { ...node.metadata.labels, "kubernetes.io/hostname": name };
  delete node.spec.unschedulable;
  recover(node);
  cluster.set(node);
  for (const slice of cluster.all<Stored>("ResourceSlice")) {
    if (slice.spec.nodeName !== like) continue;
    const copy = structuredClone(slice);
    copy.metadata.name = `${copy.metadata.name}-${name}`;
    (copy.metadata as Manifest).uid = copy.metadata.name;
    copy.spec.nodeName = name;
    copy.spec.pool.name = `${copy.spec.pool.name}-${name}`;
    const together = cluster
      .all<Stored>("ResourceSlice")
      .filter(({ spec }) => spec.driver === slice.spec.driver && spec.pool.name === slice.spec.pool.name);
    copy.spec.pool.resourceSliceCount = together.length;
    cluster.set(copy);
  }
}

const doings: Readonly<Record<string, Doing>> = {
  toleration(cluster, about, subject) {
    const toleration = taintOf(about["taint"]);
    const add = (object: Manifest): void => {
      object.tolerations = [...(object.tolerations ?? []), toleration];
    };
    if (about["claim"] === undefined) editPods(cluster, subject, add);
    else
      editClaim(cluster, subject, text(about["claim"]), (spec) => add(bodyOf(spec, text(about["request"]))));
  },
  selector(cluster, about, subject) {
    editClaim(cluster, subject, text(about["claim"]), (spec) =>
      selectorEdit(about)(bodyOf(spec, text(about["request"]))),
    );
  },
  "class-selector"(cluster, about) {
    const copy = structuredClone(cluster.find<Stored>("DeviceClass", text(about["class"]))!);
    selectorEdit(about)(copy.spec);
    cluster.set(copy);
  },
  constraint(cluster, about, subject) {
    editClaim(cluster, subject, text(about["claim"]), ({ devices }) => {
      devices.constraints = devices.constraints.filter(
        ({ matchAttribute, distinctAttribute }: Manifest) =>
          matchAttribute !== about["matchAttribute"] || distinctAttribute !== about["distinctAttribute"],
      );
    });
  },
  capacity(cluster, about, subject) {
    const amounts = (about["amounts"] as string[] | undefined) ?? [`${about["capacity"]}=${about["amount"]}`];
    editClaim(cluster, subject, text(about["claim"]), (spec) => {
      const body = bodyOf(spec, text(about["request"]));
      const requests = Object.fromEntries(amounts.map((each) => each.split("=")));
      body.capacity = { requests: { ...body.capacity?.requests, ...requests } };
    });
  },
  count(cluster, about, subject) {
    editClaim(cluster, subject, text(about["claim"]), (spec) => {
      bodyOf(spec, text(about["request"])).count = about["count"];
    });
  },
  uncordon(cluster, about) {
    const copy = structuredClone(cluster.find<Stored>("Node", text(about["node"]))!);
    delete copy.spec.unschedulable;
    cluster.set(copy);
  },
  "node-ready"(cluster, about) {
    const copy = structuredClone(cluster.find<Stored>("Node", text(about["node"]))!);
    recover(copy);
    cluster.set(copy);
  },
  "node-selector"(cluster, _, subject) {
    editPods(cluster, subject, (spec) => {
      delete spec.nodeSelector;
      delete spec.affinity?.nodeAffinity;
    });
  },
  affinity(cluster, about, subject) {
    editPods(cluster, subject, ({ affinity }) => {
      for (const kind of list(about["affinity"])) delete affinity[kind];
    });
  },
  spread(cluster, _, subject) {
    editPods(cluster, subject, ({ topologySpreadConstraints }) => {
      for (const each of topologySpreadConstraints) each.whenUnsatisfiable = "ScheduleAnyway";
    });
  },
  requests(cluster, about, subject) {
    editPods(cluster, subject, (spec) => lowerRequests(spec, list(about["requests"])));
  },
  "host-port"(cluster, about, subject) {
    editPods(cluster, subject, ({ containers }) => {
      for (const { ports = [] } of containers)
        for (const port of ports)
          if (list(about["ports"]).includes(`${port.hostPort}/${port.protocol ?? "TCP"}`))
            delete port.hostPort;
    });
  },
  "taint-rule"(cluster, about) {
    cluster.objects.delete(`DeviceTaintRule ${about["rule"]}`);
  },
  device(cluster, about) {
    addDevices(cluster, text(about["device"]), text(about["node"]), Number(about["count"]));
  },
  pods(cluster, about) {
    for (const name of list(about["pods"])) cluster.objects.delete(`Pod ${name}`);
  },
  node(cluster, about) {
    for (let i = 0; i < Number(about["count"] ?? 1); i++) addNode(cluster, text(about["like"]), i);
  },
};

export function doChange(cluster: SimulatedCluster, change: Part, subject: string): void {
  if (change.changes !== undefined) {
    for (const part of change.changes) doChange(cluster, part, subject);
    return;
  }
  const doing = doings[change.kind];
  if (doing === undefined) throw new Error(`no way to do ${change.kind}: ${change.text}`);
  doing(cluster, change.about, subject);
}
