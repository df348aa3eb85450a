import type { KubeObject } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { controllerOf } from "@dray/controllers/objects";
import type { World } from "../manifests/world.ts";
import { isDriverPod } from "./driver-pods.ts";

/** A part of a driver: its plugin on the nodes, its controller, its webhook. */
export interface DriverProgram {
  /** The DaemonSet, Deployment or StatefulSet; the pod itself, where it has none. */
  readonly owner: Pick<KubeObject, "kind" | "metadata">;
  readonly pods: readonly Pod[];
  /** Set where the owner is a DaemonSet. */
  readonly daemonSet?: DaemonSet;
}

/** The labels by which charts and manifests mark what belongs together. */
const instanceLabels = ["app.kubernetes.io/instance", "app.kubernetes.io/part-of", "app.kubernetes.io/name"];

/**
 * Returns the programs of drivers: pods that mount the plugin registry and a folder of CDI specs, and those
 * in their namespaces that share a label with them which says that they were installed together.
 */
export function driverPrograms(world: World): DriverProgram[] {
  const sets = world.all("DaemonSet").map(({ object }) => object);
  const plugins = [
    ...sets.map(({ metadata, spec }) => ({ ...spec.template, namespace: metadata.namespace })),
    ...world.all("Pod").map(({ object }) => ({ ...object, namespace: object.metadata.namespace })),
  ].filter(isDriverPod);
  const marks = new Set(plugins.flatMap(({ namespace, metadata }) => marksOf(namespace, metadata?.labels)));
  const own = world
    .all("Pod")
    .map(({ object }) => object)
    .filter(
      (pod) =>
        isDriverPod(pod) ||
        marksOf(pod.metadata.namespace, pod.metadata.labels).some((mark) => marks.has(mark)),
    );
  const programs = Map.groupBy(own, (pod) => {
    const { kind, metadata } = ownerOf(pod);
    return `${kind} ${metadata.namespace}/${metadata.name}`;
  });
  const of = ({ metadata }: DaemonSet): string => `DaemonSet ${metadata.namespace}/${metadata.name}`;
  const daemonSets = new Map(
    sets.filter(({ spec }) => isDriverPod(spec.template)).map((set) => [of(set), set]),
  );
  // A set whose pods cannot be created has none.
  const keys = new Set([...daemonSets.keys(), ...programs.keys()]);
  return [...keys].flatMap((key) => {
    const daemonSet = daemonSets.get(key);
    const pods = programs.get(key) ?? [];
    const owner = daemonSet ?? (pods[0] && ownerOf(pods[0]));
    return owner === undefined ? [] : { owner, pods, ...(daemonSet !== undefined && { daemonSet }) };
  });
}

const marksOf = (namespace: string, labels: Readonly<Record<string, string>> = {}): string[] =>
  instanceLabels.flatMap((key) => (labels[key] === undefined ? [] : `${namespace} ${key}=${labels[key]}`));

/** Upstream: pkg/controller/deployment names a ReplicaSet `DEPLOYMENT-HASH`. */
function ownerOf(pod: Pod): Pick<KubeObject, "kind" | "metadata"> {
  const { kind, name } = controllerOf(pod) ?? {};
  if (kind === undefined || name === undefined || kind === "Node") return pod;
  const { namespace, labels } = pod.metadata;
  const hash = labels?.["pod-template-hash"];
  const isDeployment = kind === "ReplicaSet" && hash !== undefined && name.endsWith(`-${hash}`);
  const metadata = {
    namespace,
    name: isDeployment ? name.slice(0, -hash.length - 1) : name,
  } as KubeObject["metadata"];
  return { kind: isDeployment ? "Deployment" : kind, metadata };
}
