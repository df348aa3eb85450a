import { isDeepStrictEqual } from "node:util";
import { type LabelSelection, parseLabelSelector, SelectorError, StatusError } from "@dray/api";
import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { Pod } from "@dray/api/core/v1";
import { hasReached, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { writeStatus } from "../status.ts";
import { ScalingHistory } from "./hpa-behavior.ts";
import { metricsOf } from "./hpa-metrics.ts";
import { MetricFailure, proposeReplicas } from "./hpa-proposals.ts";
import { AutoscalerRound } from "./hpa-round.ts";
import { type Scaled, scalesOf } from "./scales.ts";

/** Milliseconds between two looks at the metrics, which cannot be watched. */
const interval = 15_000;
/** How often a size is written that somebody else changes at the same time. */
const maxTries = 5;

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The autoscaler can do nothing; its conditions say why already. */
class Unscalable extends Error {
  override readonly name = "Unscalable";
}

/**
 * Gives workloads as many pods as their metrics ask for (autoscaling/v2), from `metrics.k8s.io` and, where a server
 * has them, the custom and external metrics APIs.
 *
 * Upstream: pkg/controller/podautoscaler.
 */
export async function startHorizontalPodAutoscalerController(
  context: ControllerContext,
): Promise<Controller> {
  const { client, clock, informers, log } = context;
  const autoscalers = informers.of(HorizontalPodAutoscaler);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "horizontal-pod-autoscaler");
  const metrics = metricsOf(client);
  const scales = scalesOf(client);
  const histories = new Map<string, ScalingHistory>();
  /** By the key of the autoscaler: which pods it scales. */
  const selectors = new Map<string, LabelSelection>();
  await synced(context, [autoscalers, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("horizontalpodautoscaler", reconcile);
  autoscalers.handle({
    add: ({ metadata }) => queue.add(keyOf(metadata)),
    update(now, old) {
      // Its own status is no reason to look again.
      if (!isDeepStrictEqual(now.spec, old.spec)) queue.add(keyOf(now.metadata));
    },
    delete({ metadata }) {
      histories.delete(metadata.uid);
      selectors.delete(keyOf(metadata));
    },
  });

  async function reconcile(key: string): Promise<void> {
    const autoscaler = autoscalers.get(refOf(key));
    if (autoscaler === undefined) return;
    // Whatever comes of it: the next look is at its time.
    queue.addAfter(key, interval);
    const round = new AutoscalerRound(autoscaler, clock.now(), context.features.enabled("HPAScaleToZero"));
    try {
      await scale(key, round);
    } catch (error) {
      if (!(error instanceof Unscalable)) throw error;
      log.debug({ autoscaler: key, err: error }, "an autoscaler could not scale");
    }
    try {
      const written = await writeStatus(client, HorizontalPodAutoscaler, autoscaler, round.status);
      if (written !== autoscaler) await autoscalers.until(() => hasReached(autoscalers, written));
    } catch (error) {
      if (!StatusError.is(error, "NotFound"))
        recorder.event(autoscaler, "Warning", "FailedUpdateStatus", textOf(error));
      throw error;
    }
  }

  async function scale(key: string, round: AutoscalerRound): Promise<void> {
    const { autoscaler } = round;
    const { spec, metadata } = autoscaler;
    const target = await findScale(round);
    const current = target.scale.spec?.replicas ?? 0;
    const history = histories.get(metadata.uid) ?? new ScalingHistory(current, round.now);
    histories.set(metadata.uid, history);
    const { minReplicas = 1, maxReplicas } = spec;
    let desired = current;
    let reason = "";
    if (current === 0 && !round.mayLeaveZero) {
      const message = "scaling is disabled since the replica count of the target is zero";
      round.set("ScalingActive", "False", "ScalingDisabled", message);
      if (!round.toZero) round.remove("ScaledToZero");
    } else if (current > maxReplicas) {
      desired = maxReplicas;
      reason = "Current number of replicas above Spec.MaxReplicas";
    } else if (current > 0 && current < minReplicas) {
      desired = minReplicas;
      reason = "Current number of replicas below Spec.MinReplicas";
    } else {
      const wanted = await byMetrics(key, round, target);
      const normal = history.normalize(spec, current, wanted.replicas, round.now);
      round.set("AbleToScale", "True", normal.stability.reason, normal.stability.message);
      const limited = normal.limited ? "True" : "False";
      round.set("ScalingLimited", limited, normal.limit.reason, normal.limit.message);
      desired = normal.replicas;
      if (wanted.replicas > current) reason = `${wanted.name} above target`;
      if (wanted.replicas < current) reason = "All metrics below target";
      if (current === 0 && desired < minReplicas) {
        desired = minReplicas;
        reason ||= "Current number of replicas below Spec.MinReplicas";
      }
    }
    if (desired !== current) {
      await resize(round, target, current, desired, reason);
      history.record(spec, current, desired, round.now);
      round.noteZero(current, desired);
    }
    round.finish(current, desired, desired !== current);
  }

  async function findScale(round: AutoscalerRound): Promise<Scaled> {
    const { namespace } = round.autoscaler.metadata;
    const { apiVersion = "v1", kind, name } = round.autoscaler.spec.scaleTargetRef;
    try {
      const found = await scales.get({ namespace, apiVersion, kind, name });
      const message = "the HPA controller was able to get the target's current scale";
      round.set("AbleToScale", "True", "SucceededGetScale", message);
      return found;
    } catch (error) {
      recorder.event(round.autoscaler, "Warning", "FailedGetScale", textOf(error));
      const message = `the HPA controller was unable to get the target's current scale: ${textOf(error)}`;
      round.set("AbleToScale", "False", "FailedGetScale", message);
      throw new Unscalable(message);
    }
  }

  /** The most that a metric asks for. One that fails keeps pods from being taken away. */
  async function byMetrics(
    key: string,
    round: AutoscalerRound,
    { scale }: Scaled,
  ): Promise<{ readonly replicas: number; readonly name: string }> {
    const { autoscaler } = round;
    const specs = autoscaler.spec.metrics ?? [];
    const current = scale.spec?.replicas ?? 0;
    const selector = selectorOf(key, round, scale.status?.selector ?? "", current);
    const selected = podsOf(autoscaler, selector);
    const scaled = {
      selector: String(selector),
      pods: selected,
      wanted: current,
      present: scale.status?.replicas ?? 0,
      now: round.now,
    };
    const failures: MetricFailure[] = [];
    let most: { replicas: number; name: string } | undefined;
    for (const spec of specs) {
      try {
        const { replicas, name, status } = await proposeReplicas(metrics, autoscaler, spec, scaled);
        round.metrics.push(status);
        if (most === undefined || replicas > most.replicas) most = { replicas, name };
      } catch (error) {
        if (!(error instanceof MetricFailure)) throw error;
        failures.push(error);
        // Readers find the status of a metric by its place.
        round.metrics.push({ type: "" });
        recorder.event(autoscaler, "Warning", error.reason, error.detail);
      }
    }
    const [first] = failures;
    if (first !== undefined && (most === undefined || most.replicas < current)) {
      const message = `the HPA was unable to compute the replica count: ${first.detail}`;
      round.set("ScalingActive", "False", first.reason, message);
      const text = `invalid metrics (${failures.length} invalid out of ${specs.length}), first error is: ${first.message}`;
      recorder.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", text);
      round.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
      throw new Unscalable(text);
    }
    const found = most ?? { replicas: current, name: "" };
    const message = `the HPA was able to successfully calculate a replica count from ${found.name}`;
    round.set("ScalingActive", "True", "ValidMetricFound", message);
    return found;
  }

  function podsOf({ metadata }: HorizontalPodAutoscaler, selector: LabelSelection): readonly Pod[] {
    return pods
      .byIndex("namespace", metadata.namespace)
      .filter((pod) => selector.matches(pod.metadata.labels));
  }

  /** The selector of the target, which no other autoscaler may share. */
  function selectorOf(key: string, round: AutoscalerRound, text: string, current: number): LabelSelection {
    const { autoscaler } = round;
    const fail = (eventReason: string, event: string, reason = eventReason, message = event): never => {
      recorder.event(autoscaler, "Warning", eventReason, event);
      round.set("ScalingActive", "False", reason, message);
      recorder.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", event);
      round.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
      throw new Unscalable(event);
    };
    if (text === "") {
      const message = "the HPA target's scale is missing a selector";
      return fail("SelectorRequired", "selector is required", "InvalidSelector", message);
    }
    let selector: LabelSelection;
    try {
      selector = parseLabelSelector(text);
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      return fail(
        "InvalidSelector",
        `couldn't convert selector into a corresponding internal selector object: ${error.message}`,
      );
    }
    selectors.set(key, selector);
    const { namespace } = autoscaler.metadata;
    const selected = podsOf(autoscaler, selector);
    const sharing = [...selectors].filter(
      ([other, { matches }]) =>
        refOf(other).namespace === namespace && selected.some(({ metadata }) => matches(metadata.labels)),
    );
    if (sharing.length > 1) {
      const names = sharing.map(([other]) => other).slice(0, 2);
      return fail(
        "AmbiguousSelector",
        `pods by selector ${text} are controlled by more than one HPA (e.g. [${names.join(" ")}])`,
      );
    }
    return selector;
  }

  async function resize(
    round: AutoscalerRound,
    target: Scaled,
    current: number,
    desired: number,
    reason: string,
  ): Promise<void> {
    const { autoscaler } = round;
    const { namespace } = autoscaler.metadata;
    const { apiVersion = "v1", kind, name } = autoscaler.spec.scaleTargetRef;
    try {
      for (let tries = 1, found = target; ; tries++) {
        try {
          await scales.set(found, desired);
          break;
        } catch (error) {
          if (!StatusError.is(error, "Conflict") || tries === maxTries) throw error;
          found = await scales.get({ namespace, apiVersion, kind, name });
        }
      }
    } catch (error) {
      const text = `New size: ${desired}; reason: ${reason}; error: ${textOf(error)}`;
      recorder.event(autoscaler, "Warning", "FailedRescale", text);
      const message = `the HPA controller was unable to update the target scale: ${textOf(error)}`;
      round.set("AbleToScale", "False", "FailedUpdateScale", message);
      round.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
      throw new Unscalable(message);
    }
    const message = `the HPA controller was able to update the target scale to ${desired}`;
    round.set("AbleToScale", "True", "SucceededRescale", message);
    recorder.event(autoscaler, "Normal", "SuccessfulRescale", `New size: ${desired}; reason: ${reason}`);
  }

  return queues.controller;
}
