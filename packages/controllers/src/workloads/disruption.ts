import { type IntOrString, labelSelectorOf, StatusError } from "@dray/api";
import { Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { Pod, ReplicationController } from "@dray/api/core/v1";
import type { OwnerReference } from "@dray/api/meta/v1";
import { isPodReady, isPodTerminal } from "@dray/api/pod";
import { PodDisruptionBudget, type PodDisruptionBudgetStatus } from "@dray/api/policy/v1";
import { type EventRecorder, hasReached, keyOf, refOf, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, refersTo } from "../owners.ts";
import { writeStatus } from "../status.ts";
import { ofTotal } from "./int-or-percent.ts";
import { scalesOf } from "./scales.ts";
import { selectorText } from "./selector-text.ts";

/** Milliseconds within which a pod whose eviction was allowed is deleted; after that it counts as healthy again. */
const deletionTimeout = 120_000;
/** Milliseconds after which a pod that was to be disrupted, and was not deleted, no longer says so. */
const staleTimeout = 120_000;

/**
 * Says in the status of each PodDisruptionBudget how many of its pods may be evicted now (policy/v1), and takes back
 * conditions of disruptions that did not come (KEP-3329).
 *
 * Upstream: pkg/controller/disruption.
 */
export async function startDisruptionController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const budgets = informers.of(PodDisruptionBudget);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "controllermanager");
  const sizes = await workloadSizes(context);
  await synced(context, [budgets, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("disruption", reconcile);
  const stale = queues.queue("stale disruptions", (key) => takeBack(key));
  const budgetChanged = (budget: PodDisruptionBudget): void => queue.add(keyOf(budget.metadata));
  budgets.handle({ add: budgetChanged, update: budgetChanged });

  function podChanged(pod: Pod, old?: Pod): void {
    if (old !== undefined && old.metadata.labels !== pod.metadata.labels) podChanged(old);
    const matching = budgets
      .byIndex("namespace", pod.metadata.namespace)
      .filter(({ spec }) => labelSelectorOf(spec.selector).matches(pod.metadata.labels));
    for (const budget of matching) budgetChanged(budget);
    if (matching.length > 1 && old === undefined) {
      const { namespace, name } = pod.metadata;
      const message = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${matching[0]?.metadata.name}" arbitrarily.`;
      recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", message);
    }
    if (untilStale(pod, clock.now()) !== undefined) stale.add(keyOf(pod.metadata));
  }
  pods.handle({ add: (pod) => podChanged(pod), update: podChanged, delete: (pod) => podChanged(pod) });

  async function reconcile(key: string): Promise<void> {
    const budget = budgets.get(refOf(key));
    if (budget === undefined) return;
    try {
      await update(key, budget);
    } catch (error) {
      // Somebody was evicted meanwhile: once more.
      if (StatusError.is(error, "Conflict")) throw error;
      await refuseAll(budget, error);
    }
  }

  async function update(key: string, budget: PodDisruptionBudget): Promise<void> {
    const selector = labelSelectorOf(budget.spec.selector);
    const now = clock.now();
    const covered = pods
      .byIndex("namespace", budget.metadata.namespace)
      .filter(({ metadata }) => selector.matches(metadata.labels));
    if (covered.length === 0) recorder.event(budget, "Normal", "NoPods", "No matching pods found");
    const { expected, desired } = await wanted(budget, covered);
    const { disrupted, next } = stillDisrupted(budget, covered, now, recorder);
    const healthy = covered.filter(
      (pod) =>
        pod.metadata.deletionTimestamp === undefined &&
        disrupted[pod.metadata.name] === undefined &&
        isPodReady(pod),
    ).length;
    const allowed = expected > 0 ? Math.max(0, healthy - desired) : 0;
    const { generation } = budget.metadata;
    await write(budget, {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
      disruptionsAllowed: allowed,
      currentHealthy: healthy,
      desiredHealthy: desired,
      expectedPods: expected,
      conditions: allowedConditions(budget, now, {
        status: allowed > 0 ? "True" : "False",
        reason: allowed > 0 ? "SufficientPods" : "InsufficientPods",
        message: "",
        observedGeneration: generation ?? 0,
      }),
    });
    if (next !== undefined) queue.addAfter(key, next);
  }

  async function write(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus): Promise<void> {
    const written = await writeStatus(client, PodDisruptionBudget, budget, status);
    if (written !== budget) await budgets.until(() => hasReached(budgets, written));
  }

  /** What cannot be computed allows nothing. */
  async function refuseAll(budget: PodDisruptionBudget, error: unknown): Promise<void> {
    const {
      observedGeneration = 0,
      currentHealthy = 0,
      desiredHealthy = 0,
      expectedPods = 0,
    } = budget.status ?? {};
    await write(budget, {
      ...budget.status,
      disruptionsAllowed: 0,
      currentHealthy,
      desiredHealthy,
      expectedPods,
      conditions: allowedConditions(budget, clock.now(), {
        status: "False",
        reason: "SyncFailed",
        message: error instanceof Error ? error.message : String(error),
        observedGeneration,
      }),
    });
  }

  /** How many pods there should be, and how many of them must stay healthy. */
  async function wanted(
    budget: PodDisruptionBudget,
    covered: readonly Pod[],
  ): Promise<{ readonly expected: number; readonly desired: number }> {
    const { maxUnavailable, minAvailable } = budget.spec;
    if (maxUnavailable === undefined && typeof minAvailable !== "string")
      return { expected: covered.length, desired: minAvailable ?? 0 };
    try {
      const { total, unmanaged } = await sizes.total(covered);
      if (unmanaged > 0) {
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selectorText(budget.spec.selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
        recorder.event(budget, "Warning", "UnmanagedPods", message);
      }
      const share = (value: IntOrString | undefined): number => ofTotal(value, total, "up");
      const desired = maxUnavailable === undefined ? share(minAvailable) : total - share(maxUnavailable);
      return { expected: total, desired: Math.max(0, desired) };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const message = `Failed to calculate the number of expected pods: ${text}`;
      recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message);
      throw error;
    }
  }

  async function takeBack(key: string): Promise<void> {
    const pod = pods.get(refOf(key));
    const left = pod && untilStale(pod, clock.now());
    if (pod === undefined || left === undefined) return;
    if (left > 0) return stale.addAfter(key, left);
    const { uid, generation } = pod.metadata;
    const condition = {
      type: "DisruptionTarget",
      status: "False",
      reason: null,
      message: null,
      lastTransitionTime: timeText(clock.now()),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    try {
      const body = { metadata: { uid }, status: { conditions: [condition] } };
      await client.resource(Pod).patch(refOf(key), "strategic", body, { subresource: "status" });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}

/** The condition `DisruptionAllowed` among those that the budget has. */
function allowedConditions(
  { status }: PodDisruptionBudget,
  now: number,
  wanted: { status: string; reason: string; message: string; observedGeneration: number | bigint },
): NonNullable<PodDisruptionBudgetStatus["conditions"]> {
  const type = "DisruptionAllowed";
  const conditions = status?.conditions ?? [];
  const old = conditions.find((condition) => condition.type === type);
  const lastTransitionTime =
    old === undefined || old.status !== wanted.status ? timeText(now) : old.lastTransitionTime;
  const condition = { type, lastTransitionTime, ...wanted };
  return old === undefined
    ? [...conditions, condition]
    : conditions.map((each) => (each === old ? condition : each));
}

/** Pods whose eviction was allowed and that are not being deleted yet; milliseconds until the next is overdue. */
function stillDisrupted(
  budget: PodDisruptionBudget,
  covered: readonly Pod[],
  now: number,
  recorder: EventRecorder,
): { readonly disrupted: Record<string, string>; readonly next?: number } {
  const disrupted: Record<string, string> = {};
  let next: number | undefined;
  for (const pod of covered) {
    const { name, deletionTimestamp } = pod.metadata;
    const since = budget.status?.disruptedPods?.[name];
    if (since === undefined || deletionTimestamp !== undefined) continue;
    const left = Date.parse(since) + deletionTimeout - now;
    if (left <= 0) {
      const { namespace, name: budgetName } = budget.metadata;
      const message = `Pod was expected by PDB ${namespace}/${budgetName} to be deleted but it wasn't`;
      recorder.event(pod, "Warning", "NotDeleted", message);
      continue;
    }
    disrupted[name] = since;
    next = Math.min(next ?? left, left);
  }
  return { disrupted, ...(next === undefined ? {} : { next }) };
}

/** Milliseconds until a disruption that was announced counts as called off; undefined if none was, or it came. */
function untilStale(pod: Pod, now: number): number | undefined {
  if (pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return undefined;
  const condition = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  // The kubelet may take as long as it likes.
  if (condition?.status !== "True" || condition.reason === "TerminationByKubelet") return undefined;
  return Math.max(0, Date.parse(condition.lastTransitionTime ?? "") + staleTimeout - now) || 0;
}

/** How many pods workloads want. */
interface WorkloadSizes {
  /** The sum over the workloads of these pods, and how many of the pods have none. Rejects if one has no size. */
  total(pods: readonly Pod[]): Promise<{ readonly total: number; readonly unmanaged: number }>;
}

async function workloadSizes(context: ControllerContext): Promise<WorkloadSizes> {
  const { informers } = context;
  const deployments = informers.of(Deployment);
  const replicaSets = informers.of(ReplicaSet);
  const statefulSets = informers.of(StatefulSet);
  const replicationControllers = informers.of(ReplicationController);
  const scales = scalesOf(context.client);
  await synced(context, [deployments, replicaSets, statefulSets, replicationControllers]);

  type Sized = { metadata: { uid: string }; spec: { replicas?: number } };
  const sizeOf = (object: Sized | undefined, { uid }: OwnerReference): [string, number] | undefined =>
    object?.metadata.uid === uid ? [uid, object.spec.replicas ?? 1] : undefined;

  /** The uid and the size of what manages a pod; of a ReplicaSet that a Deployment manages, the Deployment's. */
  async function find(owner: OwnerReference, namespace: string): Promise<[string, number] | undefined> {
    const ref = { namespace, name: owner.name };
    if (refersTo(ReplicationController, owner)) return sizeOf(replicationControllers.get(ref), owner);
    if (refersTo(StatefulSet, owner)) return sizeOf(statefulSets.get(ref), owner);
    if (refersTo(ReplicaSet, owner)) {
      const set = replicaSets.get(ref);
      const above = set && controllerOf(set);
      if (above === undefined || set?.metadata.uid !== owner.uid || !refersTo(Deployment, above))
        return sizeOf(set, owner);
      return sizeOf(deployments.get({ namespace, name: above.name }), above);
    }
    try {
      const { scale } = await scales.get({ namespace, ...owner });
      return scale.metadata.uid === owner.uid ? [owner.uid, scale.spec?.replicas ?? 0] : undefined;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      const resource = await scales.unscalable({ namespace, ...owner });
      if (resource === undefined) return undefined;
      throw new Error(`${resource} does not implement the scale subresource`);
    }
  }

  return {
    async total(pods) {
      const found = new Map<string, Promise<[string, number] | undefined>>();
      let unmanaged = 0;
      for (const pod of pods) {
        const owner = controllerOf(pod);
        if (owner === undefined) unmanaged++;
        else if (!found.has(owner.uid)) found.set(owner.uid, find(owner, pod.metadata.namespace));
        if (owner !== undefined && (await found.get(owner.uid)) === undefined)
          throw new Error(`found no controllers for pod "${pod.metadata.name}"`);
      }
      const sizes = new Map((await Promise.all(found.values())).flatMap((size) => (size ? [size] : [])));
      return { total: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged };
    },
  };
}
