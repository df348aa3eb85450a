import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { Pod } from "@dray/api/core/v1";
import { hasReached, keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { writeStatus } from "../shared/status.ts";
import { AutoscalerScaling } from "./scaling.ts";
import { AutoscalerSelectors } from "./selectors.ts";
import { AutoscalerSync, Unscalable } from "./sync.ts";

/** Milliseconds between two reads of metrics, which cannot be watched. */
const interval = 15_000;

/**
 * Gives workloads as many pods as their metrics ask for (autoscaling/v2), from `metrics.k8s.io` and, where a
 * server has them, the custom and external metrics APIs.
 *
 * Upstream: pkg/controller/podautoscaler.
 */
export async function startHorizontalPodAutoscalerController(
  context: ControllerContext,
): Promise<Controller> {
  const { client, clock, features, informers, log } = context;
  const autoscalers = informers.of(HorizontalPodAutoscaler);
  const pods = informers.of(Pod);
  await synced(context, [autoscalers, pods]);

  const recorder = recorderOf(context, "horizontal-pod-autoscaler");
  const selectors = new AutoscalerSelectors(pods, recorder);
  const scaling = new AutoscalerScaling(client, selectors, recorder);
  const queues = controllerQueues(context);
  const queue = queues.queue("horizontalpodautoscaler", async (key) => {
    const autoscaler = autoscalers.get(refOf(key));
    if (autoscaler === undefined) return;
    // The interval holds after errors, too.
    queue.addAfter(key, interval);
    const sync = new AutoscalerSync(autoscaler, clock.now(), features.enabled("HPAScaleToZero"));
    try {
      await scaling.scale(key, sync);
    } catch (error) {
      if (!(error instanceof Unscalable)) throw error;
      log.debug({ autoscaler: key, err: error }, "an autoscaler could not scale");
    }
    await setStatus(sync);
  });
  autoscalers.handle({
    add: ({ metadata }) => queue.add(keyOf(metadata)),
    update(now, old) {
      // A change of the status alone needs no sync.
      if (!isDeepStrictEqual(now.spec, old.spec)) queue.add(keyOf(now.metadata));
    },
    delete(autoscaler) {
      scaling.forget(autoscaler);
      selectors.forget(keyOf(autoscaler.metadata));
    },
  });

  async function setStatus({ autoscaler, status }: AutoscalerSync): Promise<void> {
    try {
      const written = await writeStatus(client, HorizontalPodAutoscaler, autoscaler, status);
      if (written !== autoscaler) await autoscalers.until(() => hasReached(autoscalers, written));
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) {
        const text = error instanceof Error ? error.message : String(error);
        recorder.event(autoscaler, "Warning", "FailedUpdateStatus", text);
      }
      throw error;
    }
  }

  return queues.controller;
}
