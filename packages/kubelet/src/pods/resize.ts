import { encodeJSON, Quantity } from "@dray/api";
import type {
  Container as ContainerSpec,
  Node,
  Pod,
  PodCondition,
  ResourceRequirements,
} from "@dray/api/core/v1";
import { podRequests } from "@dray/api/pod";
import type { Container } from "../runtime/service.ts";
import type { Refusal } from "./admission.ts";

/** A container that runs with other bounds than it should. */
export interface ResizedContainer {
  readonly spec: ContainerSpec;
  readonly container: Container;
  /** Its policy says that it has to be started anew. */
  readonly restart: boolean;
}

/** An event of the pod. */
export interface ResizeEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

interface Pending {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
  readonly generation: Pod["metadata"]["generation"];
}

/** What can change while a container runs (KEP-1287). */
const resizable = ["cpu", "memory"] as const;

/**
 * The resources that a pod was given, which its spec may no longer say: a change of the spec is taken over when it fits
 * the node, and then done container by container. Nothing is kept on disk: what an earlier agent did stands in the status.
 *
 * Upstream: pkg/kubelet/allocation/allocation_manager.go; pkg/kubelet/kuberuntime/kuberuntime_manager.go,
 * computePodResizeAction.
 */
export class PodResize {
  /** By name of the container; undefined before the pod was admitted. */
  #allocated: Map<string, ResourceRequirements> | undefined;
  /** By container id: with what it runs. */
  readonly #actuated = new Map<string, ResourceRequirements>();
  #pending: Pending | undefined;
  #inProgress: { readonly generation: Pod["metadata"]["generation"]; error?: string } | undefined;

  /** The pod as it was admitted. */
  effective(pod: Pod): Pod {
    const allocated = this.#allocated;
    if (allocated === undefined || !differs(pod, allocated)) return pod;
    const given = (spec: ContainerSpec): ContainerSpec => {
      const resources = allocated.get(spec.name);
      return resources === undefined ? spec : { ...spec, resources };
    };
    return withContainers(pod, given);
  }

  /** True while a change waits for room on the node. */
  get isDeferred(): boolean {
    return this.#pending?.reason === "Deferred";
  }

  /** Takes over what the spec says if it may; answers what is to be told of it. `fits` asks whether there is room. */
  consider(pod: Pod, node: Node, fits: (pod: Pod) => Refusal | undefined): ResizeEvent | undefined {
    this.#allocated ??= allocatedBefore(pod, this.#actuated);
    if (!differs(pod, this.#allocated)) {
      this.#pending = undefined;
      return undefined;
    }
    const { generation } = pod.metadata;
    const before = this.#pending;
    this.#pending = refusal(pod, node, fits);
    if (this.#pending === undefined) {
      this.#allocated = requirementsOf(pod);
      this.#inProgress = { generation };
      return { type: "Normal", reason: "ResizeStarted", message: text("Pod resize started", pod) };
    }
    const { reason, message } = this.#pending;
    if (before?.reason === reason && before.generation === generation) return undefined;
    return {
      type: "Warning",
      reason: `Resize${reason}`,
      message: text(`Pod resize ${reason}`, pod, message),
    };
  }

  /** Notes with what a container was started. */
  started(id: string, { resources = {} }: Pick<ContainerSpec, "resources">): void {
    this.#actuated.set(id, resources);
  }

  /** The containers that run with other bounds than they were given, those that shrink first. */
  outdated(pod: Pod, containers: ReadonlyMap<string, readonly Container[]>): ResizedContainer[] {
    const found = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((spec) => {
      const [container] = containers.get(spec.name) ?? [];
      if (container?.state !== "running") return [];
      const changed = changes(this.actual(container, spec), spec.resources ?? {});
      if (changed.length === 0) return [];
      const policies = spec.resizePolicy ?? [];
      const restart = policies.some(
        ({ resourceName, restartPolicy }) =>
          restartPolicy === "RestartContainer" && changed.some(({ resource }) => resource === resourceName),
      );
      return [{ spec, container, restart, grows: changed.some(({ grows }) => grows) }];
    });
    return found.sort((a, b) => Number(a.grows) - Number(b.grows));
  }

  /** With what a container runs, as far as it was noted. */
  actual({ id }: Container, { resources = {} }: Pick<ContainerSpec, "resources">): ResourceRequirements {
    return this.#actuated.get(id) ?? resources;
  }

  /** The pod with what its containers run with. */
  running(pod: Pod, containers: ReadonlyMap<string, readonly Container[]>): Pod {
    const actual = (spec: ContainerSpec): ContainerSpec => {
      const [container] = containers.get(spec.name) ?? [];
      return container?.state === "running" ? { ...spec, resources: this.actual(container, spec) } : spec;
    };
    return withContainers(pod, actual);
  }

  /** A container could not be given its bounds. Answers what is to be told of it. */
  failed(pod: Pod, error: string): ResizeEvent | undefined {
    const before = this.#inProgress;
    this.#inProgress = { generation: before?.generation ?? pod.metadata.generation, error };
    if (before?.error === error) return undefined;
    return { type: "Warning", reason: "ResizeError", message: text("Pod resize error", pod, error) };
  }

  /** All containers have what they were given. Answers what is to be told of it. */
  completed(pod: Pod): ResizeEvent | undefined {
    if (this.#inProgress === undefined) return undefined;
    this.#inProgress = undefined;
    return { type: "Normal", reason: "ResizeCompleted", message: text("Pod resize completed", pod) };
  }

  /** Upstream: pkg/kubelet/status/status_manager.go, SetPodResizePendingCondition, SetPodResizeInProgressCondition. */
  conditions(): PodCondition[] {
    const observed = (generation: Pod["metadata"]["generation"]) =>
      generation === undefined ? {} : { observedGeneration: generation };
    const list: PodCondition[] = [];
    if (this.#pending !== undefined) {
      const { reason, message, generation } = this.#pending;
      list.push({ type: "PodResizePending", status: "True", reason, message, ...observed(generation) });
    }
    if (this.#inProgress !== undefined) {
      const { error, generation } = this.#inProgress;
      const problem = error === undefined ? {} : { reason: "Error", message: error };
      list.push({ type: "PodResizeInProgress", status: "True", ...problem, ...observed(generation) });
    }
    return list;
  }
}

function withContainers(pod: Pod, change: (spec: ContainerSpec) => ContainerSpec): Pod {
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(change),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(change) }),
    },
  };
}

function requirementsOf({ spec }: Pod): Map<string, ResourceRequirements> {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return new Map(all.map(({ name, resources = {} }) => [name, resources]));
}

/** What containers were given before, as their status says; the rest is new. */
function allocatedBefore(
  pod: Pod,
  actuated: Map<string, ResourceRequirements>,
): Map<string, ResourceRequirements> {
  const allocated = requirementsOf(pod);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  for (const { name, resources, containerID, state } of [...initContainerStatuses, ...containerStatuses]) {
    if (resources === undefined || state?.running === undefined || !allocated.has(name)) continue;
    allocated.set(name, resources);
    actuated.set(containerID?.replace(/^.*:\/\//, "") ?? "", resources);
  }
  return allocated;
}

interface Change {
  readonly resource: string;
  readonly grows: boolean;
}

function changes(from: ResourceRequirements, to: ResourceRequirements): Change[] {
  return (["requests", "limits"] as const).flatMap((side) =>
    resizable.flatMap((resource) => {
      const [before, after] = [from[side]?.[resource], to[side]?.[resource]];
      if (before === after) return [];
      const order = Quantity.parse(after ?? "0").compare(Quantity.parse(before ?? "0"));
      return order === 0 ? [] : [{ resource, grows: order > 0 }];
    }),
  );
}

function differs(pod: Pod, allocated: ReadonlyMap<string, ResourceRequirements>): boolean {
  return [...requirementsOf(pod)].some(
    ([name, wanted]) => changes(allocated.get(name) ?? wanted, wanted).length > 0,
  );
}

/** Why a pod cannot have what its spec says: never on this node, or not now. */
function refusal(pod: Pod, node: Node, fits: (pod: Pod) => Refusal | undefined): Pending | undefined {
  const { generation } = pod.metadata;
  const allocatable = node.status?.allocatable ?? {};
  const requests = podRequests(pod);
  for (const resource of resizable) {
    const wanted = requests.get(resource);
    const capacity = Quantity.parse(allocatable[resource] ?? "0");
    if (wanted === undefined || wanted.compare(capacity) <= 0) continue;
    const amount = (quantity: Quantity): bigint =>
      resource === "cpu" ? quantity.milliValue() : quantity.value();
    const message = `Node didn't have enough capacity: ${resource}, requested: ${amount(wanted)}, capacity: ${amount(capacity)}`;
    return { reason: "Infeasible", message, generation };
  }
  const refused = fits(pod);
  // Other reasons are for pods that are not here yet.
  if (!refused?.reason.startsWith("OutOf")) return undefined;
  return { reason: "Deferred", message: refused.message, generation };
}

/** Upstream: pkg/kubelet/events/resize.go, podResizeMessage. */
function text(what: string, { metadata, spec }: Pod, error?: string): string {
  const all = (list: readonly ContainerSpec[]) =>
    list.map(({ name, resources = {} }) => ({ name, resources }));
  const summary = {
    ...(spec.initContainers?.length ? { initContainers: all(spec.initContainers) } : {}),
    containers: all(spec.containers),
    generation: metadata.generation ?? 0,
    ...(error === undefined ? {} : { error }),
  };
  return `${what}: ${encodeJSON(summary)}`;
}
