/**
 * A cluster without processes: what controllers, the scheduler, kubelets and drivers would do with its
 * objects, step by step, until nothing changes. Independent of how `dray explain` tries changes.
 */
import { type Features, featuresOf, type KubeObject } from "@dray/api";
import type { Event, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodActive, isPodTerminal } from "@dray/api/pod";
import type { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import {
  createOfflineScheduler,
  type OfflineObject,
  type OfflineScheduler,
  type Placement,
} from "@dray/scheduler";
import { labelOfObject } from "../../packages/dray/src/manifests/place.ts";
import { World } from "../../packages/dray/src/manifests/world.ts";
import type { Facts } from "./draft.ts";
import { endPod, startPod } from "./kubelet.ts";

/** The defaults of the release, and groups of pods. */
export const truthFeatures: Features = featuresOf("1.37", new Map([["GenericWorkload", true]]));

/** Milliseconds since the epoch. */
const startTime = Date.parse("2026-01-01T00:00:00Z");
const environment = deviceEnvironment({ stored: true });
const maxRounds = 6;

export const isWaiting = (pod: Pod): boolean =>
  !pod.spec.nodeName && isPodActive(pod) && pod.metadata.deletionTimestamp === undefined;

export class SimulatedCluster {
  readonly objects: Map<string, KubeObject>;
  readonly facts: Facts;
  readonly events: Event[];
  now: number;

  constructor(objects: Iterable<KubeObject>, facts: Facts, now = startTime, events: readonly Event[] = []) {
    this.objects = new Map([...objects].map((object) => [labelOfObject(object), object]));
    this.facts = facts;
    this.now = now;
    this.events = [...events];
  }

  clone(): SimulatedCluster {
    return new SimulatedCluster(
      structuredClone([...this.objects.values()]),
      structuredClone(this.facts),
      this.now,
      this.events,
    );
  }

  all<T extends KubeObject>(kind: string): T[] {
    return [...this.objects.values()].filter((object) => object.kind === kind) as T[];
  }

  find<T extends KubeObject>(kind: string, name: string): T | undefined {
    return this.objects.get(`${kind} ${name}`) as T | undefined;
  }

  set(object: KubeObject): void {
    this.objects.set(labelOfObject(object), object);
  }

  delete(object: KubeObject): void {
    this.objects.delete(labelOfObject(object));
  }

  world(): World {
    const place = { source: { file: "truth", text: "", lineOf: () => undefined }, root: "" };
    return new World([...this.objects.values()].map((object) => ({ object, place })));
  }

  record(pod: Pod, type: string, reason: string, message: string): void {
    const { namespace, name } = pod.metadata;
    this.events.unshift({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${this.events.length}`, namespace },
      involvedObject: { kind: "Pod", namespace, name },
      type,
      reason,
      message,
      lastTimestamp: new Date(this.now).toISOString(),
    } as unknown as Event); // the fields that are read
  }

  /** Lets all components work until nothing changes; the pods of the list are tried before equal ones. */
  async settle(first: string): Promise<void> {
    for (let round = 0; round < maxRounds; round++) {
      this.now += 1_000;
      const before = this.#state();
      this.runControllers();
      await this.#schedule(first);
      for (const pod of this.all<Pod>("Pod")) {
        if (pod.metadata.deletionTimestamp !== undefined) endPod(this, pod);
        else if (pod.spec.nodeName && isPodActive(pod)) startPod(this, pod);
      }
      if (this.#state() === before && !this.#deletePods()) return;
    }
  }

  /** Lets the claim controller and drivers work. */
  runControllers(): void {
    this.#releaseClaims();
    this.#makeClaims();
    this.#reserveClaims();
    this.#attachDevices();
  }

  /** Reports whether there was any to delete. */
  #deletePods(): boolean {
    const found = this.all<Pod>("Pod").filter(
      ({ metadata }) => this.facts.deleted.has(metadata.name) && metadata.deletionTimestamp === undefined,
    );
    const deletionTimestamp = new Date(this.now + 30_000).toISOString();
    for (const pod of found) {
      this.facts.deleted.delete(pod.metadata.name);
      this.set({ ...pod, metadata: { ...pod.metadata, deletionTimestamp } } as unknown as Pod);
    }
    return found.length > 0;
  }

  #state(): string {
    const parts = this.all<Pod>("Pod").map(({ metadata, spec, status }) => [
      metadata.name,
      metadata.deletionTimestamp,
      spec.nodeName,
      status?.phase,
      status?.resourceClaimStatuses,
    ]);
    const claims = this.all<ResourceClaim>("ResourceClaim").map(({ metadata, status }) => [
      metadata.name,
      status?.allocation !== undefined,
      status?.reservedFor?.length,
    ]);
    return JSON.stringify([parts, claims]);
  }

  /** Deallocates claims without users; those of pods that have ended go with them. */
  #releaseClaims(): void {
    const users = this.all<Pod>("Pod").filter((pod) => !isPodTerminal(pod));
    const uids = new Set(users.map(({ metadata }) => metadata.uid));
    for (const claim of this.all<ResourceClaim>("ResourceClaim")) {
      const owner = claim.metadata.ownerReferences?.[0];
      if (owner?.kind === "Pod" && !uids.has(owner.uid)) {
        this.delete(claim);
        continue;
      }
      const { reservedFor = [], allocation: _a, devices: _d, ...status } = claim.status ?? {};
      const left = reservedFor.filter(({ uid }) => uids.has(uid));
      if (left.length === reservedFor.length) continue;
      this.set({
        ...claim,
        status: left.length > 0 ? { ...claim.status, reservedFor: left } : status,
      } as ResourceClaim);
    }
  }

  #makeClaims(): void {
    for (const pod of this.all<Pod>("Pod")) {
      if (!isPodActive(pod)) continue;
      const statuses = [...(pod.status?.resourceClaimStatuses ?? [])];
      for (const { name, resourceClaimTemplateName } of pod.spec.resourceClaims ?? []) {
        if (resourceClaimTemplateName === undefined || statuses.some((each) => each.name === name)) continue;
        const template = this.find<ResourceClaimTemplate>(
          "ResourceClaimTemplate",
          `default/${resourceClaimTemplateName}`,
        );
        if (template === undefined) continue;
        if (this.all("ResourceQuota").some(isFull)) {
          this.record(
            pod,
            "Warning",
            "FailedResourceClaimCreation",
            `PodResourceClaim ${name}: exceeded quota: q`,
          );
          continue;
        }
        const claimName = `${pod.metadata.name}-${name}-x`;
        const { name: podName, uid } = pod.metadata;
        this.set({
          apiVersion: "resource.k8s.io/v1",
          kind: "ResourceClaim",
          metadata: {
            name: claimName,
            namespace: "default",
            uid: `uid-${claimName}`,
            resourceVersion: "1",
            annotations: { "resource.kubernetes.io/pod-claim-name": name },
            ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid, controller: true }],
          },
          spec: structuredClone(template.spec.spec),
        } as unknown as ResourceClaim); // the fields that are read
        statuses.push({ name, resourceClaimName: claimName });
      }
      const status = { ...pod.status, resourceClaimStatuses: statuses };
      if (statuses.length > 0) this.set({ ...pod, status } as Pod);
    }
  }

  /**
   * Reserves claims for pods that were put on a node by hand. Upstream: resourceclaim/controller.go,
   * reserveForPod.
   */
  #reserveClaims(): void {
    for (const pod of this.all<Pod>("Pod")) {
      if (!pod.spec.nodeName || !isPodActive(pod)) continue;
      const { name, uid } = pod.metadata;
      for (const claim of this.claimsOf(pod)) {
        const { allocation, reservedFor = [] } = claim.status ?? {};
        if (allocation === undefined || reservedFor.some((each) => each.uid === uid)) continue;
        const reserved = [...reservedFor, { resource: "pods", name, uid }];
        this.set({ ...claim, status: { ...claim.status, reservedFor: reserved } } as ResourceClaim);
      }
    }
  }

  /** Drivers report that their devices are attached (KEP-5007). */
  #attachDevices(): void {
    for (const claim of this.all<ResourceClaim>("ResourceClaim")) {
      const attached = (claim.status?.allocation?.devices?.results ?? []).filter(
        ({ driver, bindingConditions = [] }) =>
          bindingConditions.length > 0 && !this.facts.detached.has(driver),
      );
      if (attached.length === 0) continue;
      const devices = attached.map(({ driver, pool, device, shareID, bindingConditions = [] }) => ({
        ...{ driver, pool, device, ...(shareID && { shareID }) },
        conditions: bindingConditions.map((type) => ({ type, status: "True" })),
      }));
      this.set({ ...claim, status: { ...claim.status, devices } } as ResourceClaim);
    }
  }

  async #schedule(first: string): Promise<void> {
    const isHeld = (pod: Pod): boolean =>
      this.facts.deadSchedulers.has(pod.spec.schedulerName ?? "") || this.#isAttaching(pod);
    const rank = ({ metadata }: Pod): number => (metadata.name === first ? 0 : 1);
    const waiting = this.all<Pod>("Pod")
      .filter((pod) => isWaiting(pod) && !isHeld(pod))
      .toSorted((a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || rank(a) - rank(b));
    const units = Map.groupBy(waiting, (pod) => pod.spec.schedulingGroup?.podGroupName ?? pod);
    for (const unit of units.values()) {
      // Within its group it comes last: it has to run whatever the order is.
      const pods = unit.toSorted((a, b) => rank(b) - rank(a));
      const scheduler = this.#scheduler();
      const isGroup = pods[0]!.spec.schedulingGroup !== undefined;
      const placements = isGroup ? await scheduler.scheduleGroup(pods) : [await scheduler.schedule(pods[0]!)];
      for (const [i, pod] of pods.entries()) this.#write(scheduler, pod, placements[i]!);
    }
  }

  #scheduler(): OfflineScheduler {
    let made = 0;
    const scheduler = createOfflineScheduler({
      features: truthFeatures,
      newId: () =>
        `00000000-0000-4000-8000-${String(this.now + made++)
          .slice(-12)
          .padStart(12, "0")}`,
      now: () => this.now,
      environment,
      volumes: true,
    });
    for (const object of this.objects.values())
      if (object.kind !== "ResourceQuota") scheduler.add(object as OfflineObject);
    return scheduler;
  }

  /** Its devices are reserved, and their driver has not attached them. */
  #isAttaching(pod: Pod): boolean {
    return this.claimsOf(pod).some(
      (claim) =>
        claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) === true &&
        (claim.status.allocation?.devices?.results ?? []).some(
          ({ driver, bindingConditions = [] }) =>
            bindingConditions.length > 0 && this.facts.detached.has(driver),
        ),
    );
  }

  claimsOf(pod: Pod): ResourceClaim[] {
    return (pod.spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
      const made = pod.status?.resourceClaimStatuses?.find((each) => each.name === name)?.resourceClaimName;
      return this.find<ResourceClaim>("ResourceClaim", `default/${resourceClaimName ?? made}`) ?? [];
    });
  }

  #write(scheduler: OfflineScheduler, pod: Pod, placement: Placement): void {
    if (placement.type !== "placed") {
      this.#writeRefusal(pod, placement);
      return;
    }
    for (const { metadata } of this.claimsOf(pod)) {
      const claim = scheduler.claim("default", metadata.name);
      if (claim !== undefined) this.set(claim);
    }
    const extended = scheduler.extendedClaim(pod);
    if (extended !== undefined) this.set(extended);
    if (this.#isAttaching(pod)) return;
    this.#bindVolumes(pod, placement.node);
    const conditions = [{ type: "PodScheduled", status: "True" }];
    const scheduler_ = pod.spec.schedulerName ?? "default-scheduler";
    this.record(pod, "Normal", "Scheduled", `bound by ${scheduler_}`);
    this.set({
      ...pod,
      spec: { ...pod.spec, nodeName: placement.node },
      status: { ...pod.status, phase: "Pending", conditions },
    } as Pod);
  }

  #writeRefusal(pod: Pod, { type, message }: Exclude<Placement, { type: "placed" }>): void {
    // PreEnqueue says nothing but of gates.
    if (type === "gated" && (pod.spec.schedulingGates ?? []).length === 0) return;
    const reason = type === "gated" ? "SchedulingGated" : "Unschedulable";
    const condition = { type: "PodScheduled", status: "False", reason, message };
    if (type !== "gated") this.record(pod, "Warning", "FailedScheduling", message);
    const { nominatedNodeName, ...status } = { ...pod.status, phase: "Pending", conditions: [condition] };
    const isKept = this.all<Pod>("Pod").some(
      ({ metadata, spec }) =>
        spec.nodeName === nominatedNodeName &&
        (metadata.deletionTimestamp !== undefined || this.facts.deleted.has(metadata.name)),
    );
    this.set({ ...pod, status: isKept ? { ...status, nominatedNodeName } : status } as Pod);
  }

  /** Provisions the volumes that wait for their first consumer. */
  #bindVolumes(pod: Pod, node: string): void {
    for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
      const claim = this.find<PersistentVolumeClaim>(
        "PersistentVolumeClaim",
        `default/${persistentVolumeClaim?.claimName}`,
      );
      if (claim !== undefined && !claim.spec?.volumeName) bindVolume(this, claim, node);
    }
  }
}

const isFull = (quota: KubeObject): boolean => {
  const { hard } = (quota as { status?: { hard?: Readonly<Record<string, string>> } }).status ?? {};
  return hard?.["count/resourceclaims.resource.k8s.io"] === "0";
};

/** Binds a claim to a new volume, which only the node can reach if there is one. */
export function bindVolume(cluster: SimulatedCluster, claim: PersistentVolumeClaim, node?: string): void {
  const name = `pv-${claim.metadata.name}`;
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] };
  const nodeAffinity = { required: { nodeSelectorTerms: [term] } };
  cluster.set({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, uid: name, resourceVersion: "1" },
    spec: {
      ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } },
      storageClassName: claim.spec?.storageClassName ?? "",
      csi: { driver: "csi.example.com", volumeHandle: name },
      ...(node !== undefined && { nodeAffinity }),
    },
    status: { phase: "Bound" },
  } as unknown as PersistentVolume); // the fields that are read
  cluster.set({
    ...claim,
    metadata: {
      ...claim.metadata,
      annotations: { ...claim.metadata.annotations, "pv.kubernetes.io/bind-completed": "yes" },
    },
    spec: { ...claim.spec, volumeName: name },
    status: { phase: "Bound" },
  } as PersistentVolumeClaim);
}
