import { type KubeObject, labelSelectorOf, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodReady } from "@dray/api/pod";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "@dray/api/policy/v1";
import { forbidden, serverError } from "../errors/status.ts";
import { thaw } from "../storage/json.ts";
import type { Context } from "./context.ts";
import { writeOf } from "./write.ts";

/** Maximum number of evictions that the controller has not confirmed yet. */
const maxUnconfirmed = 2000;

/**
 * Takes a disruption from the pod's budget. Throws 429 if none is left, 500 if a pod has several budgets. A
 * pod that is not ready needs no disruption as long as enough others are healthy.
 */
export async function takeDisruption(context: Context, pod: Pod, dryRun: boolean): Promise<void> {
  const budgets = budgetsOf(context, pod);
  const budget = budgets[0];
  if (budget === undefined) return;
  if (budgets.length > 1) {
    throw serverError(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  const enough = currentHealthy >= desiredHealthy && desiredHealthy > 0;
  const free = budget.spec?.unhealthyPodEvictionPolicy === "AlwaysAllow" || enough;
  if (!isPodReady(pod) && free) return;
  checkedDisruptions(budget);
  if (dryRun) return;
  const served = context.resources.get("policy/v1/poddisruptionbudgets");
  if (served === undefined) return;
  const { name, namespace = "" } = budget.metadata;
  const options = { dryRun: false, fieldManager: "", fieldValidation: "Ignore", force: false } as const;
  await context.registry.update(
    { ...writeOf(context, options), served, subresource: "status", namespace, name },
    {
      unchecked: true,
      ownManagers: true,
      change: (current) =>
        withoutDisruption(current as PodDisruptionBudget, pod.metadata.name, context.registry.now()),
    },
  );
}

function budgetsOf({ registry }: Context, pod: Pod): PodDisruptionBudget[] {
  const cache = registry.storage.cache("poddisruptionbudgets");
  return [...cache.range(`${cache.prefix}${pod.metadata.namespace}/`)]
    .map(({ object }) => object as PodDisruptionBudget)
    .filter((budget) => labelSelectorOf(budget.spec?.selector).matches(pod.metadata.labels));
}

/** Returns how many disruptions a budget allows, at least one. Throws 429 and 403. */
function checkedDisruptions({ metadata, status }: PodDisruptionBudget): number {
  const { name, generation = 0 } = metadata;
  const refuse = (message: string, retryAfterSeconds = 0): StatusError =>
    StatusError.of("TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
      causes: [{ reason: "DisruptionBudget", message }],
      ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    });
  if (Number(status?.observedGeneration ?? 0) < Number(generation)) {
    throw refuse(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const resource = { group: "policy", resource: "poddisruptionbudget" };
  const { disruptionsAllowed = 0, disruptedPods = {}, currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  if (disruptionsAllowed < 0) throw forbidden(resource, name, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > maxUnconfirmed) {
    const detail = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(resource, name, detail);
  }
  if (disruptionsAllowed > 0) return disruptionsAllowed;
  const failed = status?.conditions?.find(
    (condition) =>
      condition.type === "DisruptionAllowed" &&
      condition.status === "False" &&
      condition.reason === "SyncFailed",
  );
  throw refuse(
    failed === undefined
      ? `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
      : `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${failed.message}`,
  );
}

/** Returns the budget with one disruption less, which the controller will confirm. Throws 429 and 403. */
function withoutDisruption(current: PodDisruptionBudget, podName: string, now: string): KubeObject {
  const disruptionsAllowed = checkedDisruptions(current) - 1;
  const budget = thaw(current) as PodDisruptionBudget;
  const disruptedPods = { ...budget.status?.disruptedPods, [podName]: now };
  const status: PodDisruptionBudgetStatus = { ...budget.status, disruptionsAllowed, disruptedPods };
  if (status.disruptionsAllowed === 0) {
    const others = (status.conditions ?? []).filter(({ type }) => type !== "DisruptionAllowed");
    const condition = {
      type: "DisruptionAllowed",
      status: "False",
      observedGeneration: status.observedGeneration ?? 0,
      lastTransitionTime: now,
      reason: "InsufficientPods",
      message: "",
    };
    status.conditions = [...others, condition];
  }
  budget.status = status;
  return budget;
}
