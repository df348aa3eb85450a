import { allocatorFeatures, createAllocator } from "@dray/allocator";
import { encodeJSON, type Features, StatusError } from "@dray/api";
import { Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { StorageClass } from "@dray/api/storage/v1";
import { type Client, type Clock, createEventRecorder, type Log, timeText } from "@dray/client";
import { untilAnswered } from "./answered.ts";
import { SchedulerCache, takesRoom } from "./cache.ts";
import { type Decision, SchedulingCycle } from "./cycle.ts";
import type { ClusterEvent, CycleState } from "./framework.ts";
import { diagnosisText, preemptionText } from "./message.ts";
import type { NodeInfo } from "./node-info.ts";
import { ClaimWriter, claimsByDevice } from "./plugins/claim-writer.ts";
import {
  extendedClaimOwner,
  isExtendedClaim,
  preferredClass,
  resourcesOf,
} from "./plugins/extended-resources.ts";
import { defaultPlugins } from "./plugins/index.ts";
import { type QueuedPod, SchedulingQueue } from "./queue.ts";
import { Turn, TurnIsOver } from "./turn.ts";

/** Milliseconds that one attempt may take to evaluate selectors; the next attempt goes on with the results. */
const longestAttempt = 10_000;

export interface SchedulerOptions {
  /** As `system:kube-scheduler`. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Fresh lowercase UUIDs, for shares of devices. */
  readonly newId: () => string;
  /** Between 0 and 1: breaks ties between equally good nodes. */
  readonly random: () => number;
  readonly features: Features;
  /** Which pods are ours, by `spec.schedulerName`; `default-scheduler` if absent. */
  readonly name?: string;
  /** Ends the scheduler. */
  readonly signal: AbortSignal;
}

export interface Scheduler {
  /** Resolves when the signal has aborted and the bindings begun are done. */
  readonly stopped: Promise<void>;
  /** How many pods wait, by the reason why (metric scheduler_pending_pods). */
  pending(): Record<string, number>;
}

/** Starts to schedule; resolves when all caches are complete and the first pods are being tried. */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { client, clock, log, random, features, signal } = options;
  const name = options.name ?? "default-scheduler";
  const recorder = createEventRecorder({ client, clock, log, random, component: name });
  const answered = untilAnswered(clock, signal);
  const claims = client.informer(ResourceClaim, {
    indexes: { device: claimsByDevice, extended: extendedClaimOwner },
  });
  const classes = client.informer(DeviceClass, { indexes: { resource: resourcesOf } });
  const slices = client.informer(ResourceSlice);
  // Releases before that have it in versions that are not served by default.
  const hasRules = features.enabled("DRADeviceTaintRules") && features.version === "1.37";
  const rules = hasRules ? client.informer(DeviceTaintRule) : undefined;
  const nodes = client.informer(Node);
  const pods = client.informer(Pod);
  const namespaces = client.informer(Namespace);
  const volumeClaims = client.informer(PersistentVolumeClaim);
  const volumes = client.informer(PersistentVolume);
  const storageClasses = client.informer(StorageClass);
  const turn = new Turn();
  const allocator = createAllocator({
    newId: options.newId,
    evaluated: (cost) => turn.spend(cost),
    features: allocatorFeatures(features),
  });
  const plugins = defaultPlugins({
    allocator,
    claims: new ClaimWriter({
      client,
      claims,
      untilAnswered: answered,
      clock,
      learned: (object) => allocator.update({ kind: "claim", object, deleted: false }),
    }),
    deviceClass: (className) => classes.get({ name: className }),
    ...(features.enabled("DRAExtendedResource") && {
      extendedClass: (resource: string) => preferredClass(classes.byIndex("resource", resource)),
    }),
    newId: options.newId,
    volumes: {
      claim: (namespace, claim) => volumeClaims.get({ namespace, name: claim }),
      volume: (volume) => volumes.get({ name: volume }),
      storageClass: (storageClass) => storageClasses.get({ name: storageClass }),
    },
    namespaceLabels: (namespace) => namespaces.get({ name: namespace })?.metadata.labels,
    now: () => clock.now(),
    random,
  });
  const cache = new SchedulerCache(features.version);
  const cycle = new SchedulingCycle(plugins, random);
  const queue = new SchedulingQueue(plugins, clock, wake);
  const bindings = new Set<Promise<void>>();
  let synced = false;
  let scheduled = false;
  /** The attempt that is not over yet, and when it began. */
  let unfinished: { readonly entry: QueuedPod; readonly since: number } | undefined;

  function wake(): void {
    if (scheduled || !synced || signal.aborted) return;
    scheduled = true;
    // One pod a turn: events and requests come between them.
    setImmediate(() => {
      scheduled = false;
      if (signal.aborted) return;
      if (unfinished !== undefined && !queue.has(unfinished.entry)) unfinished = undefined;
      const entry = unfinished?.entry ?? queue.pop();
      if (entry === undefined) return;
      scheduleOne(entry);
      wake();
    });
  }

  function notify(event: ClusterEvent): void {
    if (synced) queue.notify(event);
  }

  function track(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => log.error({ err: error }, "a pod could not be handled"))
      .finally(() => bindings.delete(done));
    bindings.add(done);
  }

  function scheduleOne(entry: QueuedPod): void {
    const { pod } = entry;
    const since = unfinished?.since ?? clock.now();
    unfinished = undefined;
    let decision: Decision;
    turn.begin();
    try {
      decision = cycle.decide(pod, cache.nodes);
      if (decision.type === "placed") reserve(pod, decision);
    } catch (error) {
      if (error instanceof TurnIsOver && clock.now() - since < longestAttempt) {
        unfinished = { entry, since };
        return;
      }
      const tooLong = `evaluating the selectors of its claims takes longer than ${longestAttempt / 1000}s; the next attempt goes on`;
      const message = error instanceof TurnIsOver ? tooLong : (error as Error).message;
      track(fail(entry, "SchedulerError", message, []));
      return;
    }
    if (decision.type === "refused") track(refuse(entry, decision));
    else track(bind(entry, decision.node, decision.state));
  }

  function reserve(pod: Pod, { state, node }: Decision & { type: "placed" }): void {
    cache.assume(pod, node.name);
    try {
      for (const plugin of plugins) {
        const rejection = plugin.reserve?.(state, pod, node);
        if (rejection !== undefined) throw new Error(rejection.reasons.join(", "));
      }
    } catch (error) {
      track(giveBack(pod, node, state));
      throw error;
    }
  }

  async function giveBack(pod: Pod, node: NodeInfo, state: CycleState): Promise<void> {
    cache.unassume(pod.metadata.uid);
    for (const plugin of plugins.toReversed()) {
      await plugin
        .unreserve?.(state, pod, node)
        .catch((error: unknown) =>
          log.error({ plugin: plugin.name, err: error }, "cannot take back what was reserved"),
        );
    }
    // What was held may be what another pod waits for.
    notify({ kind: "released" });
  }

  /** The pod as the server has it now; undefined if it is gone. */
  async function newest({ metadata }: Pod): Promise<Pod | undefined> {
    try {
      const found = await answered(() => client.resource(Pod).get(metadata));
      return found.metadata.uid === metadata.uid ? found : undefined;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async function bind(entry: QueuedPod, node: NodeInfo, state: CycleState): Promise<void> {
    const { pod } = entry;
    const { namespace, name: podName, uid } = pod.metadata;
    try {
      for (const plugin of plugins) await plugin.preBind?.(state, pod, node);
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { namespace, name: podName, uid },
        target: { apiVersion: "v1", kind: "Node", name: node.name },
      };
      await answered(() => client.resource(Pod).post({ namespace, name: podName }, "binding", binding));
    } catch (error) {
      const now = await newest(pod).catch((unknown: unknown) => {
        log.warn({ err: unknown }, "cannot read a pod whose binding failed");
        return pod;
      });
      // Our own binding, whose answer was lost; or that of another scheduler.
      const bound = now?.spec.nodeName ?? "";
      if (bound !== node.name) {
        await giveBack(now ?? pod, node, state);
        if (bound === "") await fail(entry, "SchedulerError", (error as Error).message, []);
        return;
      }
    }
    // The entry stays in flight until the watch shows the pod bound: no older state of it starts anew.
    recorder.event(
      pod,
      "Normal",
      "Scheduled",
      `Successfully assigned ${namespace}/${podName} to ${node.name}`,
    );
  }

  async function refuse(entry: QueuedPod, decision: Decision & { type: "refused" }): Promise<void> {
    const { diagnosis, state } = decision;
    const afterwards: string[] = [];
    try {
      for (const plugin of plugins) {
        const message = await plugin.postFilter?.(state, entry.pod, diagnosis.rejections);
        if (message !== undefined) afterwards.push(message);
      }
    } catch (error) {
      return fail(entry, "SchedulerError", (error as Error).message, []);
    }
    for (const each of preemptionText(diagnosis)) afterwards.push(each);
    await fail(entry, "Unschedulable", diagnosisText(diagnosis, afterwards), decision.plugins);
  }

  /** Says on the pod and in an event why it has no node, and lets it wait. */
  async function fail(
    entry: QueuedPod,
    reason: "Unschedulable" | "SchedulerError",
    message: string,
    rejectedBy: readonly string[],
  ): Promise<void> {
    const { pod } = entry;
    // It is gone, or bound by another.
    if (!queue.failed(entry, rejectedBy)) return;
    recorder.event(pod, "Warning", "FailedScheduling", message);
    log.debug({ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, reason }, message);
    try {
      await explain(pod, reason, message);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "cannot write why a pod waits");
    }
  }

  /** Writes the condition PodScheduled, unless the pod has got a node in the meantime. */
  async function explain(pod: Pod, reason: string, message: string): Promise<void> {
    for (let now: Pod | undefined = pod; now !== undefined && ours(now); now = await newest(pod)) {
      const known = now.status?.conditions?.find((condition) => condition.type === "PodScheduled");
      if (known?.status === "False" && known.reason === reason && known.message === message) return;
      const time = timeText(clock.now());
      const condition = {
        type: "PodScheduled",
        status: "False",
        reason,
        message,
        observedGeneration: now.metadata.generation,
        lastProbeTime: null,
        lastTransitionTime: known?.status === "False" ? (known.lastTransitionTime ?? time) : time,
      };
      const { uid, resourceVersion } = now.metadata;
      const patch = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
      try {
        await client.resource(Pod).patch(now.metadata, "strategic", patch, { subresource: "status" });
        return;
      } catch (error) {
        if (StatusError.is(error, "NotFound")) return;
        if (!StatusError.is(error, "Conflict")) throw error;
      }
    }
  }

  const ours = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && pod.spec.schedulerName === name && isPodActive(pod);

  pods.handle({
    add(pod) {
      cache.setPod(pod);
      if (ours(pod)) queue.set(pod, true);
      else if (takesRoom(pod)) notify({ kind: "assigned-pod", pod });
    },
    update(pod, old) {
      cache.setPod(pod);
      if (ours(pod)) queue.set(pod, schedulingChanged(pod, old));
      else queue.delete(pod.metadata.uid);
      const freed = takesRoom(old) && !takesRoom(pod);
      if (freed || (takesRoom(pod) && differ(old.metadata.labels, pod.metadata.labels))) {
        notify({ kind: "assigned-pod", pod });
      }
    },
    delete(pod) {
      cache.removePod(pod.metadata.uid);
      queue.delete(pod.metadata.uid);
      if (takesRoom(pod)) notify({ kind: "assigned-pod", pod });
    },
  });
  nodes.handle({
    add(node) {
      cache.setNode(node);
      notify({ kind: "node", change: "add", name: node.metadata.name });
    },
    update(node, old) {
      cache.setNode(node);
      if (nodeChanged(node, old)) notify({ kind: "node", change: "update", name: node.metadata.name });
    },
    delete: (node) => cache.removeNode(node.metadata.name),
  });
  classes.handle(feed("class"));
  slices.handle(feed("slice"));
  rules?.handle(feed("rule"));
  const volumeCame = (): void => notify({ kind: "volume" });
  for (const informer of [volumeClaims, volumes, storageClasses])
    informer.handle({ add: volumeCame, update: volumeCame });

  /** Hands what there is to allocate to the allocator, and wakes pods for what has come or changed. */
  function feed(kind: "class" | "slice" | "rule") {
    type Fed = DeviceClass | ResourceSlice | DeviceTaintRule;
    // A rule changes what slices offer.
    const event: ClusterEvent = { kind: kind === "class" ? "class" : "slice" };
    const set = (object: Fed): void => {
      allocator.update({ kind, object, deleted: false } as Parameters<typeof allocator.update>[0]);
      notify(event);
    };
    return {
      add: set,
      update: set,
      delete(object: Fed): void {
        allocator.update({ kind, object, deleted: true } as Parameters<typeof allocator.update>[0]);
        // A pool may be valid again without the slice, a device free of a taint without the rule.
        if (kind !== "class") notify(event);
      },
    };
  }

  const claimEvent = ({ metadata }: ResourceClaim, freed: boolean): void =>
    notify({ kind: "claim", namespace: metadata.namespace, name: metadata.name, freed });
  claims.handle({
    add(object) {
      allocator.update({ kind: "claim", object, deleted: false });
      claimEvent(object, false);
    },
    update(object, old) {
      allocator.update({ kind: "claim", object, deleted: false });
      const freed = old.status?.allocation !== undefined && object.status?.allocation === undefined;
      const deletion = old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp;
      if (freed || deletion || differ(old.status, object.status)) claimEvent(object, freed);
    },
    delete(object) {
      allocator.update({ kind: "claim", object, deleted: true });
      // A pod waits until the claim that an earlier attempt made for its extended resources is gone.
      claimEvent(object, object.status?.allocation !== undefined || isExtendedClaim(object));
    },
  });

  await Promise.all(
    [
      claims,
      classes,
      slices,
      ...(rules ? [rules] : []),
      nodes,
      namespaces,
      volumeClaims,
      volumes,
      storageClasses,
      pods,
    ].map((informer) => informer.start(signal)),
  );
  synced = true;
  // Pods that came before what they wait for.
  notify({ kind: "released" });
  wake();

  const stopped = new Promise<void>((resolve) => {
    const stop = async (): Promise<void> => {
      queue.close();
      await Promise.all(bindings);
      await recorder.flush();
      resolve();
    };
    if (signal.aborted) void stop();
    else signal.addEventListener("abort", () => void stop(), { once: true });
  });
  return { stopped, pending: () => queue.counts() };
}

function differ(a: unknown, b: unknown): boolean {
  return a !== b && encodeJSON(a) !== encodeJSON(b);
}

/** Whether the change of a waiting pod may matter to a plugin: its own status conditions do not. */
function schedulingChanged(pod: Pod, old: Pod): boolean {
  return (
    pod.metadata.generation !== old.metadata.generation ||
    differ(pod.metadata.labels, old.metadata.labels) ||
    differ(pod.status?.resourceClaimStatuses, old.status?.resourceClaimStatuses) ||
    differ(pod.spec.schedulingGates, old.spec.schedulingGates)
  );
}

/** Whether the change of a node may matter to a waiting pod: heart-beats do not. */
function nodeChanged(node: Node, old: Node): boolean {
  return (
    differ(node.status?.allocatable, old.status?.allocatable) ||
    differ(node.metadata.labels, old.metadata.labels) ||
    differ(node.spec, old.spec)
  );
}
