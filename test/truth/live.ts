/**
 * The real scheduler on a real API server with the objects of a simulated cluster: a second judge, which does
 * not share the trials of `dray explain`. It learns of changes by watches, and must try the pod again.
 */
import { randomUUID } from "node:crypto";
import type { Kind, KubeObject } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog } from "@dray/client";
import { startScheduler } from "@dray/scheduler";
import { startApiServer, type TestApiServer } from "@dray/testing/api-server";
import { type FakeClock, fakeClock } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import { type SimulatedCluster, truthFeatures } from "./cluster.ts";
import type { Manifest } from "./draft.ts";

/** In the order in which they are written: claims name the uids of pods. */
const order: readonly string[] = [
  ...["Namespace", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "Node", "DeviceClass"],
  ...["ResourceSlice", "DeviceTaintRule", "PodGroup", "ResourceClaimTemplate", "Pod", "ResourceClaim"],
];
const withStatus: ReadonlySet<string> = new Set([
  ...["Node", "Pod", "ResourceClaim", "PersistentVolume", "PersistentVolumeClaim"],
]);

/** Decision of the scheduler on a pod. */
export interface Outcome {
  /** The pod is bound, or its devices have to be attached, or its volume provisioned. */
  readonly isPlaced: boolean;
  /** Message of the condition PodScheduled. */
  readonly message: string;
}

interface Ref {
  readonly name: string;
  readonly namespace?: string;
}

export class LiveCluster {
  readonly #server: TestApiServer;
  readonly #clock: FakeClock;
  readonly #admin: Client;
  readonly #stop = new AbortController();
  /** The written objects, by label. */
  #known = new Map<string, string>();
  /** Uids of the server by those of the simulation. */
  readonly #uids = new Map<string, string>();
  #stopped: Promise<void> = Promise.resolve();

  private constructor(server: TestApiServer, clock: FakeClock) {
    this.#server = server;
    this.#clock = clock;
    this.#admin = server.admin();
  }

  static async start(cluster: SimulatedCluster): Promise<LiveCluster> {
    const clock = fakeClock(cluster.now);
    const server = await startApiServer({
      clock,
      log: silentLog,
      kubernetesVersion: "1.37",
      featureGates: new Map([["GenericWorkload", true]]),
      runtimeConfig: { "scheduling.k8s.io/v1beta1": true, "resource.k8s.io/v1beta2": true },
      // The objects are as a server has stored them.
      disabledAdmissionPlugins: ["ServiceAccount", "Priority", "TaintNodesByCondition", "ResourceQuota"],
    });
    const live = new LiveCluster(server, clock);
    await live.write(cluster);
    const scheduler = await startScheduler({
      client: server.connect("system:kube-scheduler", "system:masters"),
      clock,
      log: silentLog,
      newId: randomUUID,
      random: () => 0.5,
      features: truthFeatures,
      signal: live.#stop.signal,
    });
    live.#stopped = scheduler.stopped;
    return live;
  }

  /** Makes the objects of the server those of the simulated cluster. */
  async write(cluster: SimulatedCluster): Promise<void> {
    const target = new Map<string, Manifest>();
    for (const [label, object] of cluster.objects)
      if (order.includes(object.kind ?? "")) target.set(label, structuredClone(object));
    const labels = [...target.keys()].toSorted((a, b) => rank(a) - rank(b));
    const changed = labels.filter((label) => this.#known.get(label) !== textOf(target.get(label)));
    // A pod that is made again has another uid: its claims have to name it.
    const again = new Set(
      changed.filter(
        (label) => this.#known.has(label) && /^(Pod|ResourceClaim|ResourceClaimTemplate) /.test(label),
      ),
    );
    for (const label of [...this.#known.keys()]) {
      if (target.has(label) && !again.has(label) && !this.#namesPod(label, again, target)) continue;
      await this.#remove(label);
      if (target.has(label) && !changed.includes(label)) changed.push(label);
    }
    for (const label of changed.toSorted((a, b) => rank(a) - rank(b)))
      await this.#put(label, target.get(label));
  }

  /** Reports whether this is a claim of a pod that is made again. */
  #namesPod(label: string, again: ReadonlySet<string>, target: ReadonlyMap<string, Manifest>): boolean {
    if (!label.startsWith("ResourceClaim ")) return false;
    const text = JSON.stringify(target.get(label) ?? {});
    return [...again].some((pod) => {
      const uid = target.get(pod)?.metadata.uid;
      return pod.startsWith("Pod ") && uid !== undefined && text.includes(`"${uid}"`);
    });
  }

  async #remove(label: string): Promise<void> {
    const { kind, ref } = this.#locate(label, JSON.parse(this.#known.get(label)!));
    const resource = this.#admin.resource(kind);
    await resource.patch(ref, "merge", { metadata: { finalizers: null } });
    await resource.delete(ref, kind.kind === "Pod" ? { gracePeriodSeconds: 0 } : {});
    this.#known.delete(label);
  }

  #locate(label: string, object: Manifest): { kind: Kind<KubeObject>; ref: Ref } {
    const [version, group = ""] = String(object.apiVersion).split("/").toReversed();
    const kind = kindOf(group, version!, object.kind);
    if (kind === undefined) throw new Error(`no kind for ${label}`);
    const { name, namespace } = object.metadata;
    return { kind: kind as unknown as Kind<KubeObject>, ref: { name, ...(namespace && { namespace }) } };
  }

  async #put(label: string, given: Manifest): Promise<void> {
    let text = JSON.stringify(given);
    for (const [old, uid] of this.#uids) text = text.replaceAll(`"${old}"`, `"${uid}"`);
    const { kind, ref } = this.#locate(label, given);
    const { status, ...object } = JSON.parse(text);
    const {
      uid: _,
      resourceVersion: __,
      deletionTimestamp,
      creationTimestamp: ___,
      ...metadata
    } = object.metadata;
    const resource = this.#admin.resource(kind);
    // Nothing but the change may let the pod run.
    if (kind.kind === "Pod") object.spec.preemptionPolicy = "Never";
    const isNew = !this.#known.has(label) && kind.kind !== "Namespace";
    const written = isNew
      ? await resource.create({ ...object, metadata })
      : await this.#replace(kind, ref, object);
    this.#known.set(label, textOf(given));
    if (kind.kind === "Pod") this.#uids.set(given.metadata.uid, written.metadata.uid!);
    // Admission taints a new node; the simulation has its own.
    if (kind.kind === "Node")
      await resource.patch(ref, "merge", { spec: { taints: object.spec.taints ?? null } });
    if (withStatus.has(kind.kind) && status !== undefined)
      await resource.patch(
        ref,
        "merge",
        { status: statusOf(kind.kind, object, status) },
        { subresource: "status" },
      );
    if (deletionTimestamp !== undefined) await resource.delete(ref, {});
  }

  async #replace(kind: Kind<KubeObject>, ref: Ref, { metadata, spec }: Manifest): Promise<KubeObject> {
    const stored = await this.#admin.resource(kind).get(ref);
    const { labels } = metadata;
    const object = {
      ...stored,
      metadata: { ...stored.metadata, ...(labels && { labels }) },
      ...(spec && { spec }),
    };
    return this.#admin.resource(kind).update(object as KubeObject);
  }

  /** Waits until the scheduler has tried one of the pods, or has placed it after a change. */
  async outcome(names: readonly string[], isDone: (outcome: Outcome) => boolean): Promise<Outcome> {
    let seen: Outcome = { isPlaced: false, message: "" };
    const what = (): string => `the scheduler has decided about ${names.join()}: ${JSON.stringify(seen)}`;
    return eventually(what, async () => {
      // Attempts that failed wait for their time.
      this.#clock.advance(1_000);
      for (const name of names) {
        seen = await this.#read(name);
        if (isDone(seen)) return seen;
      }
      return false;
    });
  }

  async #read(name: string): Promise<Outcome> {
    const namespace = "default";
    const pod = await this.#admin.resource(Pod).get({ namespace, name });
    const { items } = await this.#admin.resource(ResourceClaim).list({ namespace });
    const isReserved = items.some(({ status }) =>
      status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid),
    );
    // Its volume is provisioned for the node that is chosen.
    const { items: volumes } = await this.#admin.resource(PersistentVolumeClaim).list({ namespace });
    const isChosen = volumes.some(
      ({ metadata }) => metadata.annotations?.["volume.kubernetes.io/selected-node"] !== undefined,
    );
    const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    return {
      isPlaced: Boolean(pod.spec.nodeName) || isReserved || isChosen,
      message: condition?.message ?? "",
    };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#stopped;
    await this.#server.close();
  }
}

const rank = (label: string): number => order.indexOf(label.split(" ")[0]!);

/** The fields that are written again if they differ. */
const textOf = ({ apiVersion, kind, metadata, spec, status }: Manifest): string =>
  JSON.stringify({
    apiVersion,
    kind,
    metadata: { ...metadata, resourceVersion: undefined },
    spec,
    status: kind === "Pod" ? undefined : status,
  });

/** The scheduler's own words are left to it. */
function statusOf(kind: string, { spec }: Manifest, status: Manifest): Manifest {
  if (kind !== "Pod") return status;
  const { resourceClaimStatuses, extendedResourceClaimStatus, nominatedNodeName } = status;
  return {
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(nominatedNodeName && { nominatedNodeName }),
    ...(spec.nodeName && { phase: status.phase }),
    ...(spec.nodeName && extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  };
}
