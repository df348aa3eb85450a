import type { Kind } from "@dray/api";
import { DaemonSet, type Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import type { Node, Pod, PodTemplateSpec } from "@dray/api/core/v1";
import { isPodActive, isPodTerminal } from "@dray/api/pod";
import { controllerReference, shouldRunDaemonPod, targetNode, templateFor } from "@dray/controllers/objects";
import { uidOf } from "../manifests/decode.ts";
import { type Located, labelOfObject, nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { Managed, type Owner, type Workload } from "./managed.ts";

/** A pod, and its origin. */
export interface OriginPod extends Located<Pod> {
  /** The object with its spec: `Pod default/a`, `Deployment default/web`. */
  readonly origin: string;
  /** The path of the spec in that object: `spec`, `spec.template.spec`. */
  readonly path: string;
  /** Why the API server would reject it, in its words. */
  readonly refusal?: string;
  /** Missing objects, with similar names. */
  readonly hints?: readonly string[];
}

/** Missing pods of a workload: a name for each pod, and the template if it is not the workload's own. */
interface Missing {
  readonly name: string;
  readonly template: PodTemplateSpec;
  /** The name identifies the pod; otherwise it may change if it is used already. */
  readonly fixed?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Returns the existing and future pods: the given ones, and at the place of each workload those that its
 * controller would create in addition. Random names are numbered instead.
 */
export function podsOf(world: World, nodes: readonly Node[]): OriginPod[] {
  const taken = new Set(world.all("Pod").map(({ object }) => nameOf(object)));
  const managed = new Managed(world);
  const order = world.all("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job");
  return order.flatMap(({ object, place }): OriginPod[] => {
    const origin = labelOfObject(object);
    if (object.kind === "Pod") return [{ object: object as Pod, place, origin, path: "spec" }];
    const [kind, missing] = missingPods(object as Workload, nodes, managed);
    return missing.map((each) => {
      const pod = podFrom(kind, object as Owner, each, taken);
      taken.add(nameOf(pod));
      return { object: pod, place, origin, path: "spec.template.spec" };
    });
  });
}

function missingPods(workload: Workload, nodes: readonly Node[], managed: Managed): [Kind, Missing[]] {
  // Its controller creates no more pods for a workload that is being deleted.
  const isBeingDeleted = workload.metadata.deletionTimestamp !== undefined;
  switch (workload.kind) {
    case "Deployment":
      return [ReplicaSet, isBeingDeleted ? [] : ofDeployment(workload as Deployment, managed)];
    case "ReplicaSet":
      return [ReplicaSet, isBeingDeleted ? [] : ofReplicaSet(workload as ReplicaSet, managed)];
    case "StatefulSet":
      return [StatefulSet, isBeingDeleted ? [] : ofStatefulSet(workload as StatefulSet, managed)];
    case "DaemonSet":
      return [DaemonSet, isBeingDeleted ? [] : ofDaemonSet(workload as DaemonSet, nodes, managed)];
    default:
      return [Job, isBeingDeleted ? [] : ofJob(workload as Job, managed)];
  }
}

const active = (pods: readonly Pod[]): number => pods.filter(isPodActive).length;

/** Maximum number of pods of a workload that are planned: the largest clusters have 150,000 pods. */
const maxPods = 20_000;

const bounded = (count: number): number => Math.min(Math.max(0, count), maxPods);

/** Names the workloads of which only the first pods are planned. */
export function workloadWarnings(world: World): string[] {
  const workloads = world.all("Deployment", "ReplicaSet", "StatefulSet", "Job");
  return workloads.flatMap(({ object }) => {
    const { spec } = object;
    const [field, count = 1] =
      "replicas" in spec
        ? (["replicas", spec.replicas] as const)
        : (["parallelism", parallelism(spec)] as const);
    if (count <= maxPods) return [];
    return [`${labelOfObject(object)}: spec.${field} is ${count}: the first ${maxPods} pods are planned`];
  });
}

const parallelism = (spec: object): number | undefined => (spec as Partial<Job["spec"]>).parallelism;

function numbered(name: string, count: number, template: PodTemplateSpec | undefined): Missing[] {
  if (template === undefined) return [];
  return Array.from({ length: bounded(count) }, (_, i) => ({ name: `${name}-${i}`, template }));
}

/** All ReplicaSets of a Deployment count together: after a rollout its number of replicas is right. */
function ofDeployment(deployment: Deployment, managed: Managed): Missing[] {
  const there = active(managed.ofDeployment(deployment));
  return numbered(
    deployment.metadata.name,
    (deployment.spec.replicas ?? 1) - there,
    deployment.spec.template,
  );
}

function ofReplicaSet(set: ReplicaSet, managed: Managed): Missing[] {
  if (managed.deploymentOf(set) !== undefined) return [];
  const count = (set.spec.replicas ?? 1) - active(managed.pods(ReplicaSet, set));
  return numbered(set.metadata.name, count, set.spec.template);
}

/** Every ordinal has its pod, by name (apps/v1 StatefulSetOrdinals). */
function ofStatefulSet({ metadata, spec }: StatefulSet, managed: Managed): Missing[] {
  const start = spec.ordinals?.start ?? 0;
  return Array.from({ length: bounded(spec.replicas ?? 1) }, (_, i) => `${metadata.name}-${start + i}`)
    .filter((name) => {
      const there = managed.pod(`${metadata.namespace}/${name}`);
      return there === undefined || isPodTerminal(there);
    })
    .map((name) => ({
      name,
      fixed: true,
      template: withLabels(spec.template, {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": name.slice(metadata.name.length + 1),
      }),
    }));
}

function ofDaemonSet(set: DaemonSet, nodes: readonly Node[], managed: Managed): Missing[] {
  const served = new Set(managed.pods(DaemonSet, set).filter(isPodActive).map(targetNode));
  return nodes
    .filter((node) => !served.has(node.metadata.name) && shouldRunDaemonPod(set, node).run)
    .map(({ metadata: { name } }) => ({
      name: `${set.metadata.name}-${name}`,
      template: templateFor(set, name, set.metadata.uid.slice(0, 8)),
    }));
}

const indexAnnotation = "batch.kubernetes.io/job-completion-index";

/** Conditions of a Job that gets no more pods. */
const endsJob: ReadonlySet<string> = new Set(["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"]);

/** As many pods as run at once (batch/v1 JobSpec): later ones need no additional room. */
function ofJob(job: Job, managed: Managed): Missing[] {
  const { metadata, spec, status } = job;
  const ended = status?.conditions?.some(({ type, status }) => endsJob.has(type) && status === "True");
  if (ended || spec.suspend === true) return [];
  const pods = managed.pods(Job, job);
  const running = pods.filter(isPodActive);
  const succeeded = Math.max(
    status?.succeeded ?? 0,
    pods.filter((pod) => pod.status?.phase === "Succeeded").length,
  );
  // Without completions the first success ends the work (batch/v1 JobSpec).
  const left = spec.completions === undefined ? (succeeded > 0 ? 0 : Infinity) : spec.completions - succeeded;
  const count = Math.max(0, Math.min(spec.parallelism ?? 1, left) - running.length);
  if (spec.completionMode !== "Indexed") return numbered(metadata.name, count, spec.template);
  const done = new Set([
    ...indexes(status?.completedIndexes ?? ""),
    ...pods
      .filter((pod) => isPodActive(pod) || pod.status?.phase === "Succeeded")
      .map((pod) => Number(pod.metadata.annotations?.[indexAnnotation])),
  ]);
  return Array.from(
    { length: bounded(Math.min(spec.completions ?? 0, done.size + count)) },
    (_, index) => index,
  )
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
    return Array.from({ length: bounded(Number(to) - Number(from) + 1) }, (_, i) => Number(from) + i);
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
    // Each pod gets its own defaults and priority.
    spec: structuredClone(missing.template.spec),
  };
}
