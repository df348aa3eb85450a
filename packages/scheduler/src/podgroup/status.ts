import { type Kind, StatusError } from "@dray/api";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { type Client, type Clock, timeText } from "@dray/client";
import type { RetryUnanswered } from "../framework/retry-unanswered.ts";

/** Result for a group: whether enough of its pods have a node. */
export interface GroupOutcome {
  readonly status: "True" | "False";
  readonly reason: "Scheduled" | "Unschedulable" | "SchedulerError";
  readonly message: string;
}

export interface GroupStatusOptions {
  /** In the version that the release serves. */
  readonly kind: Kind<PodGroup>;
  readonly client: Client;
  readonly clock: Clock;
  readonly retry: RetryUnanswered;
}

/** Writes the condition PodGroupInitiallyScheduled (1.36: PodGroupScheduled), which stays once it is true. */
export class GroupStatusWriter {
  readonly #options: GroupStatusOptions;

  constructor(options: GroupStatusOptions) {
    this.#options = options;
  }

  async write(group: PodGroup, { status, reason, message }: GroupOutcome): Promise<void> {
    const { kind, client, clock, retry } = this.#options;
    const type = kind.version === "v1alpha2" ? "PodGroupScheduled" : "PodGroupInitiallyScheduled";
    const { generation, uid } = group.metadata;
    const known = group.status?.conditions?.find((condition) => condition.type === type);
    if (known?.status === "True" && status !== "True") return;
    const isSame =
      known?.status === status &&
      known.reason === reason &&
      known.message === message &&
      known.observedGeneration === generation;
    if (isSame) return;
    const time = timeText(clock.now());
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : time;
    const condition = { type, status, reason, message, observedGeneration: generation, lastTransitionTime };
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    const write = { subresource: "status" };
    try {
      await retry(() => client.resource(kind).patch(group.metadata, "strategic", patch, write));
    } catch (error) {
      // It is gone, or another one now.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }
}
