import { StatusError } from "@dray/api";
import type { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import type { Client, EventRecorder } from "@dray/client";
import { type Scaled, scalesOf } from "../shared/scales.ts";
import { ScalingHistory } from "./behavior.ts";
import { metricsOf } from "./metrics-client.ts";
import { MetricFailure, proposeReplicas } from "./proposals.ts";
import type { AutoscalerSelectors } from "./selectors.ts";
import { type AutoscalerSync, Unscalable } from "./sync.ts";

/** Maximum number of writes of a size that another client changes at the same time. */
const maxTries = 5;

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Gives the target of an autoscaler the size that its metrics ask for. */
export class AutoscalerScaling {
  readonly #metrics: ReturnType<typeof metricsOf>;
  readonly #scales: ReturnType<typeof scalesOf>;
  readonly #selectors: AutoscalerSelectors;
  readonly #recorder: EventRecorder;
  /** By the uid of the autoscaler. */
  readonly #histories = new Map<string, ScalingHistory>();

  constructor(client: Client, selectors: AutoscalerSelectors, recorder: EventRecorder) {
    this.#metrics = metricsOf(client);
    this.#scales = scalesOf(client);
    this.#selectors = selectors;
    this.#recorder = recorder;
  }

  forget({ metadata }: HorizontalPodAutoscaler): void {
    this.#histories.delete(metadata.uid);
  }

  /** Throws Unscalable, with conditions that say why, if the autoscaler can do nothing. */
  async scale(key: string, sync: AutoscalerSync): Promise<void> {
    const { autoscaler } = sync;
    const { spec, metadata } = autoscaler;
    const target = await this.#findScale(sync);
    const current = target.scale.spec?.replicas ?? 0;
    const history = this.#histories.get(metadata.uid) ?? new ScalingHistory(current, sync.now);
    this.#histories.set(metadata.uid, history);
    const { minReplicas = 1, maxReplicas } = spec;
    let desired = current;
    let reason = "";
    if (current === 0 && !sync.mayLeaveZero) {
      const message = "scaling is disabled since the replica count of the target is zero";
      sync.set("ScalingActive", "False", "ScalingDisabled", message);
      if (!sync.toZero) sync.remove("ScaledToZero");
    } else if (current > maxReplicas) {
      desired = maxReplicas;
      reason = "Current number of replicas above Spec.MaxReplicas";
    } else if (current > 0 && current < minReplicas) {
      desired = minReplicas;
      reason = "Current number of replicas below Spec.MinReplicas";
    } else {
      const wanted = await this.#byMetrics(key, sync, target);
      const normal = history.normalize(spec, current, wanted.replicas, sync.now);
      sync.set("AbleToScale", "True", normal.stability.reason, normal.stability.message);
      const limited = normal.limited ? "True" : "False";
      sync.set("ScalingLimited", limited, normal.limit.reason, normal.limit.message);
      desired = normal.replicas;
      if (wanted.replicas > current) reason = `${wanted.name} above target`;
      if (wanted.replicas < current) reason = "All metrics below target";
      if (current === 0 && desired < minReplicas) {
        desired = minReplicas;
        reason ||= "Current number of replicas below Spec.MinReplicas";
      }
    }
    if (desired !== current) {
      await this.#resize(sync, target, desired, reason);
      history.record(spec, current, desired, sync.now);
      sync.noteZero(current, desired);
    }
    sync.finish(current, desired, desired !== current);
  }

  async #findScale(sync: AutoscalerSync): Promise<Scaled> {
    const { namespace } = sync.autoscaler.metadata;
    const { apiVersion = "v1", kind, name } = sync.autoscaler.spec.scaleTargetRef;
    try {
      const found = await this.#scales.get({ namespace, apiVersion, kind, name });
      const message = "the HPA controller was able to get the target's current scale";
      sync.set("AbleToScale", "True", "SucceededGetScale", message);
      return found;
    } catch (error) {
      this.#recorder.event(sync.autoscaler, "Warning", "FailedGetScale", textOf(error));
      const message = `the HPA controller was unable to get the target's current scale: ${textOf(error)}`;
      sync.set("AbleToScale", "False", "FailedGetScale", message);
      throw new Unscalable(message);
    }
  }

  /** The most that a metric asks for. One that fails keeps pods from being taken away. */
  async #byMetrics(
    key: string,
    sync: AutoscalerSync,
    { scale }: Scaled,
  ): Promise<{ readonly replicas: number; readonly name: string }> {
    const { autoscaler } = sync;
    const specs = autoscaler.spec.metrics ?? [];
    const current = scale.spec?.replicas ?? 0;
    const selector = this.#selectors.selectorOf(key, sync, scale.status?.selector ?? "", current);
    const selected = this.#selectors.podsOf(autoscaler, selector);
    const scaled = {
      selector: String(selector),
      pods: selected,
      wanted: current,
      present: scale.status?.replicas ?? 0,
      now: sync.now,
    };
    const failures: MetricFailure[] = [];
    let most: { replicas: number; name: string } | undefined;
    for (const spec of specs) {
      try {
        const { replicas, name, status } = await proposeReplicas(this.#metrics, autoscaler, spec, scaled);
        sync.metrics.push(status);
        if (most === undefined || replicas > most.replicas) most = { replicas, name };
      } catch (error) {
        if (!(error instanceof MetricFailure)) throw error;
        failures.push(error);
        // Readers find the status of a metric by its place.
        sync.metrics.push({ type: "" });
        this.#recorder.event(autoscaler, "Warning", error.reason, error.detail);
      }
    }
    const [first] = failures;
    if (first !== undefined && (most === undefined || most.replicas < current)) {
      const message = `the HPA was unable to compute the replica count: ${first.detail}`;
      sync.set("ScalingActive", "False", first.reason, message);
      const text = `invalid metrics (${failures.length} invalid out of ${specs.length}), first error is: ${first.message}`;
      this.#recorder.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", text);
      sync.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
      throw new Unscalable(text);
    }
    const found = most ?? { replicas: current, name: "" };
    const message = `the HPA was able to successfully calculate a replica count from ${found.name}`;
    sync.set("ScalingActive", "True", "ValidMetricFound", message);
    return found;
  }

  async #resize(sync: AutoscalerSync, target: Scaled, desired: number, reason: string): Promise<void> {
    const { autoscaler } = sync;
    const { namespace } = autoscaler.metadata;
    const { apiVersion = "v1", kind, name } = autoscaler.spec.scaleTargetRef;
    try {
      for (let tries = 1, found = target; ; tries++) {
        try {
          await this.#scales.set(found, desired);
          break;
        } catch (error) {
          if (!StatusError.is(error, "Conflict") || tries === maxTries) throw error;
          found = await this.#scales.get({ namespace, apiVersion, kind, name });
        }
      }
    } catch (error) {
      const text = `New size: ${desired}; reason: ${reason}; error: ${textOf(error)}`;
      this.#recorder.event(autoscaler, "Warning", "FailedRescale", text);
      const message = `the HPA controller was unable to update the target scale: ${textOf(error)}`;
      sync.set("AbleToScale", "False", "FailedUpdateScale", message);
      const current = target.scale.spec?.replicas ?? 0;
      sync.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
      throw new Unscalable(message);
    }
    const message = `the HPA controller was able to update the target scale to ${desired}`;
    sync.set("AbleToScale", "True", "SucceededRescale", message);
    this.#recorder.event(
      autoscaler,
      "Normal",
      "SuccessfulRescale",
      `New size: ${desired}; reason: ${reason}`,
    );
  }
}
