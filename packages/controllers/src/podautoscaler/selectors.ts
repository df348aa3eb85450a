import { type LabelSelection, parseLabelSelector, SelectorError } from "@dray/api";
import type { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import type { Pod } from "@dray/api/core/v1";
import { type EventRecorder, type Informer, refOf } from "@dray/client";
import { type AutoscalerSync, Unscalable } from "./sync.ts";

/** Which pods each autoscaler scales: no two may scale the same. */
export class AutoscalerSelectors {
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  /** By the key of the autoscaler. */
  readonly #selectors = new Map<string, LabelSelection>();

  constructor(pods: Informer<Pod>, recorder: EventRecorder) {
    this.#pods = pods;
    this.#recorder = recorder;
  }

  forget(key: string): void {
    this.#selectors.delete(key);
  }

  podsOf({ metadata }: HorizontalPodAutoscaler, selector: LabelSelection): readonly Pod[] {
    return this.#pods
      .byIndex("namespace", metadata.namespace)
      .filter((pod) => selector.matches(pod.metadata.labels));
  }

  /** The selector of the target, which no other autoscaler may share. */
  selectorOf(key: string, sync: AutoscalerSync, text: string, current: number): LabelSelection {
    const { autoscaler } = sync;
    const fail = (eventReason: string, event: string, reason = eventReason, message = event): never => {
      this.#recorder.event(autoscaler, "Warning", eventReason, event);
      sync.set("ScalingActive", "False", reason, message);
      this.#recorder.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", event);
      sync.finish(current, autoscaler.status?.desiredReplicas ?? 0, false);
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
    this.#selectors.set(key, selector);
    const { namespace } = autoscaler.metadata;
    const selected = this.podsOf(autoscaler, selector);
    const sharing = [...this.#selectors].filter(
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
}
