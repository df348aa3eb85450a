import type { Kind, KubeObject, NamespacedMeta } from "@dray/api";
import { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import type { Node, Pod, PodTemplateSpec } from "@dray/api/core/v1";
import { isPodActive, isPodTerminal } from "@dray/api/pod";
import {
  controllerOf,
  controllerReference,
  judgeNode,
  podTemplateHash,
  refersTo,
  targetNode,
  templateFor,
} from "@dray/controllers/objects";
import { uidOf } from "../manifests/decode.ts";
import { type Located, labelOfObject, nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

/** A pod, and where it comes from. */
export interface OriginPod extends Located<Pod> {
  /** Whose spec it is: `Pod default/a`, `Deployment default/web`. */
  readonly origin: string;
  /** Where its spec stands in that: `spec`, `spec.template.spec`. */
  readonly path: string;
  /** Why the API server would not accept it, in its words. */
  readonly refusal?: string;
  /** What it names and nobody has given, with what there is. */
  readonly hints?: readonly string[];
}

type Owner = KubeObject & { metadata: NamespacedMeta };

/** What a workload still lacks: a name for each pod, and the template if it is not the workload's own. */
interface Missing {
  readonly name: string;
  readonly template: PodTemplateSpec;
  /** The name says which pod it is; else it may change where it is taken. */
  readonly fixed?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The pods that are there or will be: those that were given, and at the place of each workload those that its
 * controller would make beside the ones it has already. Names that a controller would draw at random are numbered.
 */
export function podsOf(world: World, nodes: readonly Node[]): OriginPod[] {
  const given = world.all("Pod").map(({ object }) => object);
  const taken = new Set(given.map(nameOf));
  const byController = Map.groupBy(given, (pod) => {
    const owner = controllerOf(pod);
    return owner === undefined ? "" : `${owner.kind} ${pod.metadata.namespace}/${owner.name}`;
  });
  /** The pods that the workload manages: by uid where a server has given it one. */
  const managed = (kind: Kind, owner: Owner): Pod[] => {
    const { uid, namespace, name } = owner.metadata;
    const stored = uid !== uidOf(kind.kind, namespace, name);
    return (byController.get(`${kind.kind} ${namespace}/${name}`) ?? []).filter((pod) => {
      const reference = controllerOf(pod)!;
      return refersTo(kind, reference) && (!stored || reference.uid === uid);
    });
  };
  const order = world.all("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job");
  return order.flatMap(({ object, place }): OriginPod[] => {
    const origin = labelOfObject(object);
    if (object.kind === "Pod") return [{ object: object as Pod, place, origin, path: "spec" }];
    const [kind, missing] = missingPods(world, object as Workload, nodes, given, managed);
    return missing.map((each) => {
      const pod = podFrom(kind, object as Owner, each, taken);
      taken.add(nameOf(pod));
      return { object: pod, place, origin, path: "spec.template.spec" };
    });
  });
}

type Workload = DaemonSet | Deployment | Job | ReplicaSet | StatefulSet;
type Managed = (kind: Kind, owner: Owner) => Pod[];

function missingPods(
  world: World,
  workload: Workload,
  nodes: readonly Node[],
  given: readonly Pod[],
  managed: Managed,
): [Kind, Missing[]] {
  switch (workload.kind) {
    case "Deployment":
      return [ReplicaSet, ofDeployment(world, workload as Deployment, given, managed)];
    case "ReplicaSet":
      return [ReplicaSet, ofReplicaSet(world, workload as ReplicaSet, managed)];
    case "StatefulSet":
      return [StatefulSet, ofStatefulSet(workload as StatefulSet, given)];
    case "DaemonSet":
      return [
        DaemonSet,
        ofDaemonSet(workload as DaemonSet, nodes, managed(DaemonSet, workload as DaemonSet)),
      ];
    default:
      return [Job, ofJob(workload as Job, managed(Job, workload as Job))];
  }
}

const active = (pods: readonly Pod[]): number => pods.filter(isPodActive).length;

function numbered(name: string, count: number, template: PodTemplateSpec | undefined): Missing[] {
  if (template === undefined) return [];
  return Array.from({ length: Math.max(0, count) }, (_, i) => ({ name: `${name}-${i}`, template }));
}

/** All ReplicaSets of a Deployment count together: after a rollout there are as many pods as it says. */
function ofDeployment(
  world: World,
  deployment: Deployment,
  given: readonly Pod[],
  managed: Managed,
): Missing[] {
  const { namespace, name } = deployment.metadata;
  const sets = world
    .all("ReplicaSet")
    .map(({ object }) => object)
    .filter((set) => set.metadata.namespace === namespace && deploymentOf(world, set) === deployment);
  // Pods whose ReplicaSet was not given: it is named after the Deployment and the hash that its pods bear.
  const orphans = given.filter((pod) => {
    const owner = controllerOf(pod);
    const hash = pod.metadata.labels?.[podTemplateHash];
    return (
      pod.metadata.namespace === namespace &&
      owner !== undefined &&
      refersTo(ReplicaSet, owner) &&
      owner.name === `${name}-${hash}` &&
      world.find("ReplicaSet", `${namespace}/${owner.name}`) === undefined
    );
  });
  const there = active([...sets.flatMap((set) => managed(ReplicaSet, set)), ...orphans]);
  return numbered(name, (deployment.spec.replicas ?? 1) - there, deployment.spec.template);
}

function deploymentOf(world: World, set: ReplicaSet): Deployment | undefined {
  const owner = controllerOf(set);
  if (owner === undefined || !refersTo(Deployment, owner)) return undefined;
  return world.find("Deployment", `${set.metadata.namespace}/${owner.name}`);
}

function ofReplicaSet(world: World, set: ReplicaSet, managed: Managed): Missing[] {
  if (deploymentOf(world, set) !== undefined) return [];
  const count = (set.spec.replicas ?? 1) - active(managed(ReplicaSet, set));
  return numbered(set.metadata.name, count, set.spec.template);
}

/** Every ordinal has its pod, by name (apps/v1 StatefulSetOrdinals). */
function ofStatefulSet({ metadata, spec }: StatefulSet, given: readonly Pod[]): Missing[] {
  const start = spec.ordinals?.start ?? 0;
  const there = new Set(given.filter((pod) => !isPodTerminal(pod)).map((pod) => nameOf(pod)));
  return Array.from({ length: spec.replicas ?? 1 }, (_, i) => `${metadata.name}-${start + i}`)
    .filter((name) => !there.has(`${metadata.namespace}/${name}`))
    .map((name) => ({
      name,
      fixed: true,
      template: withLabels(spec.template, {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": name.slice(metadata.name.length + 1),
      }),
    }));
}

function ofDaemonSet(set: DaemonSet, nodes: readonly Node[], pods: readonly Pod[]): Missing[] {
  const served = new Set(pods.filter(isPodActive).map(targetNode));
  return nodes
    .filter((node) => !served.has(node.metadata.name) && judgeNode(set, node).run)
    .map(({ metadata: { name } }) => ({
      name: `${set.metadata.name}-${name}`,
      template: templateFor(set, name, set.metadata.uid.slice(0, 8)),
    }));
}

const indexAnnotation = "batch.kubernetes.io/job-completion-index";

/** As many pods as run at once (batch/v1 JobSpec): those that come after them need no room of their own. */
function ofJob({ metadata, spec, status }: Job, pods: readonly Pod[]): Missing[] {
  const ended = status?.conditions?.some(
    (condition) =>
      (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
  );
  if (ended || spec.suspend === true) return [];
  const running = pods.filter(isPodActive);
  const succeeded = Math.max(
    status?.succeeded ?? 0,
    pods.filter((pod) => pod.status?.phase === "Succeeded").length,
  );
  const left = spec.completions === undefined ? Infinity : spec.completions - succeeded;
  const count = Math.max(0, Math.min(spec.parallelism ?? 1, left) - running.length);
  if (spec.completionMode !== "Indexed") return numbered(metadata.name, count, spec.template);
  const done = new Set([
    ...indexes(status?.completedIndexes ?? ""),
    ...pods
      .filter((pod) => isPodActive(pod) || pod.status?.phase === "Succeeded")
      .map((pod) => Number(pod.metadata.annotations?.[indexAnnotation])),
  ]);
  return Array.from({ length: spec.completions ?? 0 }, (_, index) => index)
    .filter((index) => !done.has(index))
    .slice(0, count)
    .map((index) => ({
      name: `${metadata.name}-${index}`,
      template: withLabels(spec.template, { [indexAnnotation]: String(index) }),
      annotations: { [indexAnnotation]: String(index) },
    }));
}

/** `0,2-4` */
function indexes(text: string): number[] {
  return text.split(",").flatMap((part) => {
    const [from, to = from] = part.split("-");
    if (from === undefined || from === "") return [];
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i);
  });
}

function withLabels(template: PodTemplateSpec, labels: Readonly<Record<string, string>>): PodTemplateSpec {
  return {
    ...template,
    metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...labels } },
  };
}

function podFrom(kind: Kind, owner: Owner, missing: Missing, taken: ReadonlySet<string>): Pod {
  const { namespace, creationTimestamp } = owner.metadata;
  let { name } = missing;
  for (let i = 0; !missing.fixed && taken.has(`${namespace}/${name}`); i++) name = `${missing.name}-${i}`;
  const { labels, annotations } = missing.template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name,
      uid: uidOf("Pod", namespace, name),
      resourceVersion: "1",
      creationTimestamp,
      ...(labels && { labels }),
      ...((annotations || missing.annotations) && {
        annotations: { ...annotations, ...missing.annotations },
      }),
      ownerReferences: [controllerReference(kind, owner)],
    },
    // Every pod is given defaults and priorities of its own.
    spec: structuredClone(missing.template.spec),
  };
}
