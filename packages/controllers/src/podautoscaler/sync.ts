import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from "@dray/api/autoscaling/v2";
import { timeText } from "@dray/client";
import { withCondition } from "../shared/status.ts";

/** The autoscaler can do nothing; its conditions say why already. */
export class Unscalable extends Error {
  override readonly name = "Unscalable";
}

/** One sync of an autoscaler, and the status that it results in. */
export class AutoscalerSync {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly now: number;
  readonly metrics: MetricStatus[] = [];
  status: HorizontalPodAutoscalerStatus;

  /** Whether scaling to zero is allowed at all (KEP-2021). */
  readonly toZero: boolean;

  constructor(autoscaler: HorizontalPodAutoscaler, now: number, toZero: boolean) {
    this.autoscaler = autoscaler;
    this.now = now;
    this.toZero = toZero;
    this.status = { desiredReplicas: 0, ...autoscaler.status };
  }

  set(type: string, status: "True" | "False", reason: string, message: string): void {
    const condition = { type, status, reason, message };
    const conditions = this.status.conditions ?? [];
    const old = conditions.findIndex((each) => each.type === type);
    const next = withCondition(conditions, condition, timeText(this.now));
    // Each condition keeps its place.
    const changed = next.find((each) => each.type === type);
    this.status = {
      ...this.status,
      conditions: old < 0 || changed === undefined ? next : conditions.with(old, changed),
    };
  }

  remove(type: string): void {
    this.status = {
      ...this.status,
      conditions: (this.status.conditions ?? []).filter((condition) => condition.type !== type),
    };
  }

  /** A metric that does not depend on pods can say that there are to be some again. */
  get #seesBeyondPods(): boolean {
    const metrics = this.autoscaler.spec.metrics ?? [];
    return metrics.some(({ type }) => type === "Object" || type === "External");
  }

  /**
   * The target has no pods because the autoscaler scaled it to zero, not because it was switched off.
   */
  get mayLeaveZero(): boolean {
    const condition = this.status.conditions?.find(({ type }) => type === "ScaledToZero");
    if (!this.toZero || condition?.status !== "True") return false;
    return (this.autoscaler.spec.minReplicas ?? 1) !== 0 || this.#seesBeyondPods;
  }

  /** Sets condition ScaledToZero when the last replica goes. */
  noteZero(current: number, desired: number): void {
    if (!this.toZero) {
      this.remove("ScaledToZero");
      return;
    }
    const mayBe = (this.autoscaler.spec.minReplicas ?? 1) === 0 && this.#seesBeyondPods;
    if (current > 0 && desired === 0 && mayBe) {
      this.set("ScaledToZero", "True", "ScaledToZero", "the HPA controller scaled the workload to zero");
    } else {
      const message = "the HPA controller did not scale the workload to zero";
      this.set("ScaledToZero", "False", "NotScaledToZero", message);
    }
  }

  /** The sizes and the metrics; all that was measured before is gone. */
  finish(current: number, desired: number, rescaled: boolean): void {
    const { lastScaleTime, conditions } = this.status;
    const { generation } = this.autoscaler.metadata;
    this.status = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(rescaled ? { lastScaleTime: timeText(this.now) } : lastScaleTime && { lastScaleTime }),
      ...(current === 0 ? {} : { currentReplicas: current }),
      desiredReplicas: desired,
      ...(this.metrics.length === 0 ? {} : { currentMetrics: this.metrics }),
      ...(conditions === undefined ? {} : { conditions }),
    };
  }
}
