import type { Features } from "@dray/api";
import { type Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import {
  type Client,
  type Clock,
  createEventRecorder,
  createWorkQueue,
  type EventRecorder,
  type Informer,
  type Log,
  type WorkQueue,
} from "@dray/client";
import { claimNames } from "../dra/claim-names.ts";
import { checkUsable } from "../dra/usable-claim.ts";
import { admit } from "../lifecycle/admission.ts";
import { countsClaims } from "../node/declared-features.ts";
import { PodAddresses } from "./addresses.ts";
import { SimulatedPod, type SimulatedPodContext } from "./pod.ts";

export interface SimulatedPodsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly features: Features;
  readonly nodeAddress: string;
  /** True for the names of simulated nodes. */
  isOurs(node: string): boolean;
  /** The newest version of a Node. */
  node(name: string): Node | undefined;
}

/** Maximum number of pods that are synced concurrently: more would only wait for the API server. */
const concurrency = 64;

/**
 * The pods of all simulated nodes: one watch of bound pods, and one of claims, whatever the number of nodes.
 */
export class SimulatedPods {
  readonly #options: SimulatedPodsOptions;
  readonly #informer: Informer<Pod>;
  readonly #claims: Informer<ResourceClaim>;
  readonly #queue: WorkQueue;
  readonly #events: EventRecorder;
  readonly #context: SimulatedPodContext;
  /** By UID. */
  readonly #pods = new Map<string, SimulatedPod>();
  readonly #byNode = new Map<string, Set<SimulatedPod>>();

  constructor(options: SimulatedPodsOptions) {
    const { client, clock, log, random, features, nodeAddress } = options;
    this.#options = options;
    this.#informer = client.informer(Pod, {
      fieldSelector: "spec.nodeName!=",
      indexes: { claim: claimKeys },
    });
    this.#claims = client.informer(ResourceClaim);
    this.#events = createEventRecorder({ client, clock, log, random, component: "kubelet" });
    this.#queue = createWorkQueue({
      name: "simulated-pods",
      clock,
      log,
      concurrency,
      baseDelay: 200,
      maxDelay: 10_000,
      reconcile: (uid) => this.#reconcile(uid),
    });
    this.#context = {
      ...{ client, clock, log, features, nodeAddress },
      addresses: new PodAddresses(),
      claimProblem: (pod) => this.#claimProblem(pod),
      admit: (pod) => this.#admit(pod),
      requeueAfter: (uid, milliseconds) => this.#queue.addAfter(uid, milliseconds),
      event: (...event) => this.#events.event(...event),
    };
  }

  /** Runs until the signal aborts. Resolves when the initial state is known. */
  async start(signal: AbortSignal): Promise<void> {
    this.#informer.handle({
      add: (pod) => this.#see(pod),
      update: (pod, old) => {
        if (old.metadata.uid !== pod.metadata.uid) this.#forget(old);
        this.#see(pod);
      },
      delete: (pod) => this.#forget(pod),
    });
    const changed = (claim: ResourceClaim): void => this.#claimChanged(claim);
    this.#claims.handle({ add: changed, update: changed });
    await Promise.all([this.#claims.start(signal), this.#informer.start(signal)]);
  }

  /** Resolves when nothing more is written. */
  async stop(): Promise<void> {
    await this.#queue.close();
    await this.#events.flush();
  }

  /** Syncs the pods of a new Node, which may have waited for it. */
  nodeAppeared(node: string): void {
    for (const { pod } of this.#byNode.get(node) ?? []) this.#queue.add(pod.metadata.uid);
  }

  /** Existing pods count at once: their addresses and resources are used. */
  #see(pod: Pod): void {
    const { uid } = pod.metadata;
    const { nodeName = "" } = pod.spec;
    if (!this.#options.isOurs(nodeName)) return;
    if (!this.#pods.has(uid)) {
      const made = new SimulatedPod(pod, this.#context);
      this.#pods.set(uid, made);
      const others = this.#byNode.get(nodeName) ?? new Set();
      this.#byNode.set(nodeName, others.add(made));
    }
    this.#queue.add(uid);
  }

  #forget({ metadata, spec }: Pod): void {
    const pod = this.#pods.get(metadata.uid);
    if (pod === undefined) return;
    pod.forget();
    this.#pods.delete(metadata.uid);
    const others = this.#byNode.get(spec.nodeName ?? "");
    others?.delete(pod);
    if (others?.size === 0) this.#byNode.delete(spec.nodeName ?? "");
  }

  #claimChanged({ metadata }: ResourceClaim): void {
    for (const { metadata: pod } of this.#informer.byIndex("claim", `${metadata.namespace}/${metadata.name}`))
      if (this.#pods.get(pod.uid)?.waitsForClaims) this.#queue.add(pod.uid);
  }

  async #reconcile(uid: string): Promise<void> {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    const { namespace, name } = known.pod.metadata;
    const pod = this.#informer.get({ ...(namespace !== undefined && { namespace }), name });
    if (pod === undefined || pod.metadata.uid !== uid) return;
    // Admission needs the Node: the pod is synced when it is created.
    if (this.#options.node(pod.spec.nodeName ?? "") === undefined && !known.active) return;
    await known.sync(pod);
  }

  /** Upstream: pkg/kubelet/cm/dra/manager.go, prepareResources. */
  #claimProblem(pod: Pod): string | undefined {
    const { namespace } = pod.metadata;
    try {
      for (const claim of claimNames(pod)) {
        const found = this.#claims.get({ ...(namespace !== undefined && { namespace }), name: claim.name });
        if (found === undefined) return `ResourceClaim ${namespace}/${claim.name} is not there`;
        checkUsable(found, this.#options.features, pod, claim);
      }
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #admit(pod: Pod): ReturnType<typeof admit> {
    const { nodeName = "" } = pod.spec;
    const node = this.#options.node(nodeName);
    if (node === undefined) return undefined;
    const others = [...(this.#byNode.get(nodeName) ?? [])].filter(({ active }) => active);
    return admit(
      pod,
      node,
      others.map((other) => other.pod),
      { useClaims: countsClaims(this.#options.features) },
    );
  }
}

/** Claims of a pod that have a name. */
function claimKeys(pod: Pod): readonly string[] {
  try {
    return claimNames(pod).map(({ name }) => `${pod.metadata.namespace}/${name}`);
  } catch {
    return [];
  }
}
