import { type IntOrString, labelSelectorOf, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodReady } from "@dray/api/pod";
import { PodDisruptionBudget, type PodDisruptionBudgetStatus } from "@dray/api/policy/v1";
import { type EventRecorder, hasReached, type Informer, timeText } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { scaledValue } from "../shared/int-or-percent.ts";
import { selectorText } from "../shared/selector-text.ts";
import { writeStatus } from "../shared/status.ts";
import type { WorkloadSizes } from "./workload-sizes.ts";

/**
 * Milliseconds within which a pod whose eviction was allowed is deleted; after that it counts as healthy
 * again.
 */
const deletionTimeout = 120_000;

interface Parts {
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly pods: Informer<Pod>;
  readonly sizes: WorkloadSizes;
  readonly recorder: EventRecorder;
}

/** Says in the status of a budget how many of its pods may be evicted now. */
export class BudgetStatus {
  readonly #context: ControllerContext;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #pods: Informer<Pod>;
  readonly #sizes: WorkloadSizes;
  readonly #recorder: EventRecorder;

  constructor(context: ControllerContext, { budgets, pods, sizes, recorder }: Parts) {
    this.#context = context;
    this.#budgets = budgets;
    this.#pods = pods;
    this.#sizes = sizes;
    this.#recorder = recorder;
  }

  /** Returns the milliseconds until the next sync that no event triggers. */
  async reconcile(budget: PodDisruptionBudget): Promise<number | undefined> {
    try {
      return await this.#update(budget);
    } catch (error) {
      // Somebody was evicted meanwhile: once more.
      if (StatusError.is(error, "Conflict")) throw error;
      await this.#refuseAll(budget, error);
      return undefined;
    }
  }

  async #update(budget: PodDisruptionBudget): Promise<number | undefined> {
    const selector = labelSelectorOf(budget.spec.selector);
    const now = this.#context.clock.now();
    const covered = this.#pods
      .byIndex("namespace", budget.metadata.namespace)
      .filter(({ metadata }) => selector.matches(metadata.labels));
    if (covered.length === 0) this.#recorder.event(budget, "Normal", "NoPods", "No matching pods found");
    const { expected, desired } = await this.#wanted(budget, covered);
    const { disrupted, next } = stillDisrupted(budget, covered, now, this.#recorder);
    const healthy = covered.filter(
      (pod) =>
        pod.metadata.deletionTimestamp === undefined &&
        disrupted[pod.metadata.name] === undefined &&
        isPodReady(pod),
    ).length;
    const allowed = expected > 0 ? Math.max(0, healthy - desired) : 0;
    const { generation } = budget.metadata;
    await this.#write(budget, {
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
    return next;
  }

  async #write(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus): Promise<void> {
    const written = await writeStatus(this.#context.client, PodDisruptionBudget, budget, status);
    if (written !== budget) await this.#budgets.until(() => hasReached(this.#budgets, written));
  }

  /** A budget that cannot be computed allows no disruption. */
  async #refuseAll(budget: PodDisruptionBudget, error: unknown): Promise<void> {
    const {
      observedGeneration = 0,
      currentHealthy = 0,
      desiredHealthy = 0,
      expectedPods = 0,
    } = budget.status ?? {};
    await this.#write(budget, {
      ...budget.status,
      disruptionsAllowed: 0,
      currentHealthy,
      desiredHealthy,
      expectedPods,
      conditions: allowedConditions(budget, this.#context.clock.now(), {
        status: "False",
        reason: "SyncFailed",
        message: error instanceof Error ? error.message : String(error),
        observedGeneration,
      }),
    });
  }

  /** Returns how many pods there should be, and how many of them must stay healthy. */
  async #wanted(
    budget: PodDisruptionBudget,
    covered: readonly Pod[],
  ): Promise<{ readonly expected: number; readonly desired: number }> {
    const { maxUnavailable, minAvailable } = budget.spec;
    if (maxUnavailable === undefined && typeof minAvailable !== "string")
      return { expected: covered.length, desired: minAvailable ?? 0 };
    try {
      const { total, unmanaged } = await this.#sizes.total(covered);
      if (unmanaged > 0) {
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selectorText(budget.spec.selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
        this.#recorder.event(budget, "Warning", "UnmanagedPods", message);
      }
      const share = (value: IntOrString | undefined): number => scaledValue(value, total, "up");
      const desired = maxUnavailable === undefined ? share(minAvailable) : total - share(maxUnavailable);
      return { expected: total, desired: Math.max(0, desired) };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const message = `Failed to calculate the number of expected pods: ${text}`;
      this.#recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message);
      throw error;
    }
  }
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

/**
 * Pods whose eviction was allowed and that are not being deleted yet; milliseconds until the next is overdue.
 */
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
