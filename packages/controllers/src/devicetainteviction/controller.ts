import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { hasClaims, isPodTerminal } from "@dray/api/pod";
import { type DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Informer, keyOf, refOf, type WorkQueue } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { evict } from "../shared/evict.ts";
import { poolKey } from "../shared/pools.ts";
import { servedTaintRules } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { refTo } from "../shared/status.ts";
import { type Eviction, selects, selectsByExpression } from "./evictions.ts";
import { type EvictedPods, followRules, statusPeriod } from "./rule-status.ts";
import { type TaintCaches, TaintState } from "./taint-state.ts";

const controllerName = "device-taint-eviction-controller";

/**
 * Deletes pods whose devices have NoExecute taints that their claims do not tolerate (any more), and reports
 * in the status of each DeviceTaintRule what it does (KEP-5055).
 *
 * Upstream: pkg/controller/devicetainteviction.
 */
export async function startDeviceTaintEvictionController(
  context: ControllerContext,
  served: ServedResources,
): Promise<Controller> {
  const { features, informers } = context;
  const queues = controllerQueues(context);
  if (!features.enabled("DRADeviceTaints")) return queues.controller;
  const kind = servedTaintRules(context, served);
  const rules = kind === undefined ? undefined : informers.of(kind);
  const caches = {
    pods: informers.of(Pod),
    claims: informers.of(ResourceClaim),
    slices: informers.of(ResourceSlice),
    ...(rules === undefined ? {} : { rules }),
  };
  await synced(context, Object.values(caches));

  const state = new TaintState(caches, features.enabled("DRAWorkloadResourceClaims"));
  const evicted: EvictedPods = new Map();
  const statusQueue =
    kind === undefined || rules === undefined
      ? undefined
      : followRules(context, queues, { kind, rules, state, evicted, manager: controllerName });
  const evictions = new PodEvictions(context, { pods: caches.pods, state, evicted, statusQueue });
  const queue = queues.queue("device-taint-eviction/pods", (key) => evictions.reconcile(key, queue));
  followCauses(caches, state, queue, (pod) => evictions.forget(pod));
  rules?.handle({
    add(rule) {
      if (!selectsByExpression(rule)) return;
      const { name } = rule.metadata;
      context.log.warn(
        { rule: name },
        "a DeviceTaintRule with deviceClassName or selectors has no effect: use driver, pool or device",
      );
    },
  });
  return queues.controller;
}

/** Adds each pod for which something has changed. */
function followCauses(
  { pods, claims, slices, rules }: TaintCaches,
  state: TaintState,
  queue: WorkQueue,
  forget: (pod: Pod) => void,
): void {
  const claimChanged = (claim: ResourceClaim): void => {
    for (const pod of state.usersOf(claim)) queue.add(keyOf(pod.metadata));
  };
  const poolChanged = ({ spec }: ResourceSlice): void => {
    claims.byIndex("pool", poolKey(spec.driver, spec.pool.name)).forEach(claimChanged);
  };
  const set = (slice: ResourceSlice): void => {
    if (state.pools.set(slice)) poolChanged(slice);
  };
  slices.handle({
    add: set,
    update(slice, old) {
      // Another object of the same name may belong to another pool.
      if (poolKey(slice.spec.driver, slice.spec.pool.name) !== poolKey(old.spec.driver, old.spec.pool.name)) {
        if (state.pools.delete(old)) poolChanged(old);
      }
      set(slice);
    },
    delete(slice) {
      if (state.pools.delete(slice)) poolChanged(slice);
    },
  });
  const ruleChanged = (rule: DeviceTaintRule): void => {
    if (rule.spec.taint?.effect !== "NoExecute") return;
    for (const claim of claims.list()) {
      const results = claim.status?.allocation?.devices?.results ?? [];
      if (results.some(({ driver, pool, device }) => selects(rule, driver, pool, device)))
        claimChanged(claim);
    }
  };
  rules?.handle({
    add: ruleChanged,
    update(rule, old) {
      if (rule.metadata.generation === old.metadata.generation && rule.metadata.uid === old.metadata.uid)
        return;
      ruleChanged(old);
      ruleChanged(rule);
    },
    delete: ruleChanged,
  });
  claims.handle({
    add: claimChanged,
    update(claim, old) {
      claimChanged(old);
      claimChanged(claim);
    },
    delete: claimChanged,
  });
  const podChanged = (pod: Pod): void => {
    if (pod.spec.nodeName && hasClaims(pod)) queue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: podChanged, update: podChanged, delete: forget });
}

interface EvictionsOptions {
  readonly pods: Informer<Pod>;
  readonly state: TaintState;
  /** Is raised for each pod that is deleted. */
  readonly evicted: EvictedPods;
  /** Queue of the names of rules whose condition may have to change. */
  readonly statusQueue: WorkQueue | undefined;
}

/** Deletes pods when their eviction is due. */
class PodEvictions {
  readonly #context: ControllerContext;
  readonly #given: EvictionsOptions;
  readonly #recorder: ReturnType<typeof recorderOf>;
  /** The uids of pods whose deletion is awaited. */
  readonly #pending = new Set<string>();

  constructor(context: ControllerContext, given: EvictionsOptions) {
    this.#context = context;
    this.#given = given;
    this.#recorder = recorderOf(context, controllerName);
  }

  forget({ metadata }: Pod): void {
    this.#pending.delete(metadata.uid);
  }

  async reconcile(key: string, queue: WorkQueue): Promise<void> {
    const { pods, state } = this.#given;
    const pod = pods.get(refOf(key));
    if (pod === undefined) return;
    const { uid, deletionTimestamp } = pod.metadata;
    const eviction = state.podEviction(pod);
    if (eviction === undefined) {
      if (this.#pending.delete(uid) && deletionTimestamp === undefined && !isPodTerminal(pod))
        this.#recorder.event(pod, "Normal", "DeviceTaintManagerEviction", "Cancelling deletion");
      return;
    }
    this.#pending.add(uid);
    this.#noteRules(eviction);
    const delay = eviction.at - this.#context.clock.now();
    if (delay > 0) return queue.addAfter(key, delay);
    await this.#evict(pod, eviction);
    this.#pending.delete(uid);
  }

  async #evict(cached: Pod, eviction: Eviction): Promise<void> {
    const { client, clock, metrics } = this.#context;
    const { pods, evicted } = this.#given;
    const { uid } = cached.metadata;
    const pod = await this.#current(cached);
    if (pod === undefined) return;
    this.#recorder.event(pod, "Normal", "DeviceTaintManagerEviction", "Marking for deletion");
    const deleted = await evict(client, clock, pod, {
      reason: "DeletionByDeviceTaintManager",
      message: "Device Taint manager: deleting due to NoExecute taint",
    });
    if (!deleted) return;
    metrics.count("device_taint_eviction_controller_pod_deletions_total");
    metrics.observe(
      "device_taint_eviction_controller_pod_deletion_duration_seconds",
      (clock.now() - eviction.at) / 1000,
    );
    for (const rule of eviction.rules.keys()) evicted.set(rule, (evicted.get(rule) ?? 0) + 1);
    this.#noteRules(eviction);
    // A pod that the cache shows as it was before would be counted twice.
    await pods.until(() => {
      const now = pods.get(refTo(cached));
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }

  #noteRules({ rules }: Eviction): void {
    // Not at once: more pods may follow.
    for (const { metadata } of rules.values()) this.#given.statusQueue?.addAfter(metadata.name, statusPeriod);
  }

  /** The pod as it is now, if it is the same and not being deleted yet. */
  async #current(cached: Pod): Promise<Pod | undefined> {
    try {
      const pod = await this.#context.client.resource(Pod).get(refTo(cached));
      const same = pod.metadata.uid === cached.metadata.uid;
      return same && pod.metadata.deletionTimestamp === undefined ? pod : undefined;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }
}
