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
import type { Refusal } from "../types/refusal.ts";
import { podLevelStatus } from "./pod-level-status.ts";
import { type BoundsOptions, podResources } from "./resource-config.ts";

/** A container whose bounds are outdated. */
export interface ResizedContainer {
  readonly spec: ContainerSpec;
  readonly container: Container;
  /** Its policy requires a restart. */
  readonly restart: boolean;
}

/** An event of the pod. */
export interface ResizeEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Resources that are allocated to a pod and its containers. */
interface Allocation {
  /** By name of the container. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** Resources of the pod as a whole (KEP-5419); undefined if it sets none. */
  readonly pod: ResourceRequirements | undefined;
}

/** Actuated resources of a container: its own, and the pod-level ones at that time. */
interface Actuated {
  readonly own: ResourceRequirements;
  readonly pod: ResourceRequirements | undefined;
}

interface Pending {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
  readonly generation: Pod["metadata"]["generation"];
}

/** Resources that can change while a container runs (KEP-1287). */
const resizable = ["cpu", "memory"] as const;
const isResizable = (name: string): boolean => (resizable as readonly string[]).includes(name);

/**
 * Resources that are allocated to a pod, which may differ from its spec: a change of the spec is allocated
 * when it fits the node, and then actuated container by container. There is no checkpoint: the status has
 * what an earlier agent did.
 *
 * Upstream: pkg/kubelet/allocation/allocation_manager.go; pkg/kubelet/kuberuntime/kuberuntime_manager.go,
 * computePodResizeAction.
 */
export class PodResize {
  /** Undefined before the pod was admitted. */
  #allocated: Allocation | undefined;
  /** By container id. */
  readonly #actuated = new Map<string, Actuated>();
  /** Actuated pod-level resources of the sandbox. */
  #actuatedPod: ResourceRequirements | undefined;
  readonly #options: BoundsOptions;
  #pending: Pending | undefined;
  #inProgress: { readonly generation: Pod["metadata"]["generation"]; error?: string } | undefined;

  constructor(options: BoundsOptions) {
    this.#options = options;
  }

  /** Returns the pod with its allocated resources. */
  effective(pod: Pod): Pod {
    const allocated = this.#allocated;
    if (allocated === undefined || !differs(pod, allocated)) return pod;
    const given = (spec: ContainerSpec): ContainerSpec => {
      const resources = allocated.containers.get(spec.name);
      return resources === undefined ? spec : { ...spec, resources };
    };
    return withResources(pod, allocated.pod, given);
  }

  /** True while a change waits for room on the node. */
  get isDeferred(): boolean {
    return this.#pending?.reason === "Deferred";
  }

  /** True while an allocated change is not actuated. */
  get isInProgress(): boolean {
    return this.#inProgress !== undefined;
  }

  /**
   * Allocates the resources of the spec if it may. Returns the event. `fits` checks whether there is room.
   */
  consider(pod: Pod, node: Node, fits: (pod: Pod) => Refusal | undefined): ResizeEvent | undefined {
    this.#allocated ??= this.#allocatedBefore(pod);
    if (!differs(pod, this.#allocated)) {
      this.#pending = undefined;
      return undefined;
    }
    const { generation } = pod.metadata;
    const before = this.#pending;
    this.#pending = refusal(pod, node, fits);
    if (this.#pending === undefined) {
      this.#allocated = allocationOf(pod);
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

  /** Records the resources with which a container was started or updated. */
  started(id: string, { resources = {} }: Pick<ContainerSpec, "resources">, pod: Pod): void {
    this.#actuated.set(id, { own: resources, pod: pod.spec.resources });
  }

  /** Records that the sandbox has the pod-level resources of the pod. */
  settled(pod: Pod): void {
    this.#actuatedPod = pod.spec.resources;
  }

  /** Returns the containers with outdated bounds, those that shrink first. */
  outdated(pod: Pod, containers: ReadonlyMap<string, readonly Container[]>): ResizedContainer[] {
    const found = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((spec) => {
      const [container] = containers.get(spec.name) ?? [];
      if (container?.state !== "running") return [];
      const wanted = { own: spec.resources ?? {}, pod: pod.spec.resources };
      const changed = changes(bounding(this.#actuated.get(container.id) ?? wanted), bounding(wanted));
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

  /** Returns the recorded resources of a container. */
  actual({ id }: Container, { resources = {} }: Pick<ContainerSpec, "resources">): ResourceRequirements {
    return this.#actuated.get(id)?.own ?? resources;
  }

  /** Returns the pod with the actuated resources of its containers. */
  running(pod: Pod, containers: ReadonlyMap<string, readonly Container[]>): Pod {
    const actual = (spec: ContainerSpec): ContainerSpec => {
      const [container] = containers.get(spec.name) ?? [];
      return container?.state === "running" ? { ...spec, resources: this.actual(container, spec) } : spec;
    };
    return withResources(pod, this.#actuatedPod, actual);
  }

  /** Records that a container could not be resized. Returns the event. */
  failed(pod: Pod, error: string): ResizeEvent | undefined {
    const before = this.#inProgress;
    this.#inProgress = { generation: before?.generation ?? pod.metadata.generation, error };
    if (before?.error === error) return undefined;
    return { type: "Warning", reason: "ResizeError", message: text("Pod resize error", pod, error) };
  }

  /** Records that all containers have their allocated resources. Returns the event. */
  completed(pod: Pod): ResizeEvent | undefined {
    if (this.#inProgress === undefined) return undefined;
    this.#inProgress = undefined;
    return { type: "Normal", reason: "ResizeCompleted", message: text("Pod resize completed", pod) };
  }

  /**
   * Upstream: pkg/kubelet/status/status_manager.go, SetPodResizePendingCondition,
   * SetPodResizeInProgressCondition.
   */
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

  /**
   * Returns the resources that an earlier agent allocated, from the pod status; the rest comes from the spec.
   */
  #allocatedBefore(pod: Pod): Allocation {
    const now = allocationOf(pod);
    const whole = podLevelBefore(pod, this.#options);
    const containers = new Map(now.containers);
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    for (const { name, resources, containerID, state } of [...initContainerStatuses, ...containerStatuses]) {
      if (resources === undefined || state?.running === undefined || !containers.has(name)) continue;
      containers.set(name, resources);
      this.#actuated.set(containerID?.replace(/^.*:\/\//, "") ?? "", { own: resources, pod: whole });
    }
    this.#actuatedPod = whole;
    return { containers, pod: whole };
  }
}

function withResources(
  pod: Pod,
  resources: ResourceRequirements | undefined,
  change: (spec: ContainerSpec) => ContainerSpec,
): Pod {
  const { resources: _, initContainers, containers, ...spec } = pod.spec;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(resources !== undefined && { resources }),
      containers: containers.map(change),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(change) }),
    },
  };
}

function allocationOf({ spec }: Pod): Allocation {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    containers: new Map(all.map(({ name, resources = {} }) => [name, resources])),
    pod: spec.resources,
  };
}

/**
 * Returns the pod-level resources from the status, or those of the spec if the status is what they would
 * produce. Amounts of the spec that the status lacks are new.
 */
function podLevelBefore(pod: Pod, options: BoundsOptions): ResourceRequirements | undefined {
  const { resources: wanted } = pod.spec;
  const had = pod.status?.resources;
  if (wanted === undefined || had === undefined) return wanted;
  const { resources: expected } = podLevelStatus(pod, { bounds: podResources(pod, options), options });
  const before = (side: "requests" | "limits"): Record<string, string> =>
    Object.fromEntries(
      Object.entries(wanted[side] ?? {}).flatMap(([name, amount]) => {
        const old = had[side]?.[name];
        if (!isResizable(name) || old === expected?.[side]?.[name]) return [[name, amount]];
        return old === undefined ? [] : [[name, old]];
      }),
    );
  return { ...wanted, requests: before("requests"), limits: before("limits") };
}

/**
 * Returns the resources that bound a container, with the limits of its pod if it has none.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, containerResourcesFromRequirements.
 */
function bounding({ own, pod }: Actuated): ResourceRequirements {
  const limits = Object.fromEntries(
    resizable.flatMap((name) => {
      const limit = own.limits?.[name];
      const amount = limit === undefined || Quantity.parse(limit).sign === 0 ? pod?.limits?.[name] : limit;
      return amount === undefined ? [] : [[name, amount]];
    }),
  );
  return { requests: own.requests ?? {}, limits };
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

function differs(pod: Pod, allocated: Allocation): boolean {
  if (changes(allocated.pod ?? {}, pod.spec.resources ?? {}).length > 0) return true;
  return [...allocationOf(pod).containers].some(
    ([name, wanted]) => changes(allocated.containers.get(name) ?? wanted, wanted).length > 0,
  );
}

/** Returns why a pod cannot have the resources of its spec: never on this node, or not now. */
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
  // Other reasons concern pods that are not admitted yet.
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
