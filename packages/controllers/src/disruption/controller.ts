import { labelSelectorOf, matchesIfValid } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { BudgetStatus } from "./budget-status.ts";
import { clearDisruptionTarget, untilStale } from "./stale-disruptions.ts";
import { workloadSizes } from "./workload-sizes.ts";

/**
 * Says in the status of each PodDisruptionBudget how many of its pods may be evicted now (policy/v1), and
 * removes conditions of disruptions that did not come (KEP-3329).
 *
 * Upstream: pkg/controller/disruption.
 */
export async function startDisruptionController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const budgets = informers.of(PodDisruptionBudget);
  const pods = informers.of(Pod);
  const sizes = await workloadSizes(context);
  await synced(context, [budgets, pods]);

  const recorder = recorderOf(context, "controllermanager");
  const status = new BudgetStatus(context, { budgets, pods, sizes, recorder });
  const queues = controllerQueues(context);
  const queue = queues.queue("disruption", async (key) => {
    const budget = budgets.get(refOf(key));
    const next = budget && (await status.reconcile(budget));
    if (next !== undefined) queue.addAfter(key, next);
  });
  const stale = queues.queue("stale_pod_disruption", async (key) => {
    const pod = pods.get(refOf(key));
    const left = pod && untilStale(pod, clock.now());
    if (pod === undefined || left === undefined) return;
    if (left > 0) return stale.addAfter(key, left);
    await clearDisruptionTarget(client, clock, pod);
  });
  const budgetChanged = (budget: PodDisruptionBudget): void => queue.add(keyOf(budget.metadata));
  budgets.handle({ add: budgetChanged, update: budgetChanged });

  function podChanged(pod: Pod, old?: Pod): void {
    if (old !== undefined && old.metadata.labels !== pod.metadata.labels) podChanged(old);
    const matching = budgets
      .byIndex("namespace", pod.metadata.namespace)
      .filter(({ spec }) => matchesIfValid(() => labelSelectorOf(spec.selector), pod.metadata.labels));
    for (const budget of matching) budgetChanged(budget);
    if (matching.length > 1 && old === undefined) {
      const { namespace, name } = pod.metadata;
      const message = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${matching[0]?.metadata.name}" arbitrarily.`;
      recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", message);
    }
    if (untilStale(pod, clock.now()) !== undefined) stale.add(keyOf(pod.metadata));
  }
  pods.handle({ add: (pod) => podChanged(pod), update: podChanged, delete: (pod) => podChanged(pod) });
  return queues.controller;
}
