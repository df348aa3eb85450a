import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { type Client, type Clock, timeText } from "@dray/client";
import type { RetryUnanswered } from "../framework/retry-unanswered.ts";

export interface PodStatusOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly retry: RetryUnanswered;
  /** Whether the pod waits for a node from this scheduler. */
  readonly isOurs: (pod: Pod) => boolean;
}

/** Why a pod has no node. */
export interface Refusal {
  readonly reason: "Unschedulable" | "SchedulerError";
  readonly message: string;
  /** Undefined leaves the nomination as it is. */
  readonly nominatedNode?: string;
}

/** Reads and writes the status of pods. */
export class PodStatusWriter {
  readonly #options: PodStatusOptions;

  constructor(options: PodStatusOptions) {
    this.#options = options;
  }

  /** The pod as the server has it now; undefined if it is gone. */
  async newest({ metadata }: Pod): Promise<Pod | undefined> {
    const { client, retry } = this.#options;
    try {
      const found = await retry(() => client.resource(Pod).get(metadata));
      return found.metadata.uid === metadata.uid ? found : undefined;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Writes the condition PodScheduled and the nomination, unless the pod has got a node in the meantime. */
  async refuse(pod: Pod, { reason, message, nominatedNode }: Refusal): Promise<void> {
    const { client, clock, isOurs } = this.#options;
    for (let now: Pod | undefined = pod; now !== undefined && isOurs(now); now = await this.newest(pod)) {
      const known = now.status?.conditions?.find((condition) => condition.type === "PodScheduled");
      const nominates =
        nominatedNode !== undefined && nominatedNode !== (now.status?.nominatedNodeName ?? "");
      const isReported = known?.status === "False" && known.reason === reason && known.message === message;
      if (isReported && !nominates) return;
      const time = timeText(clock.now());
      const condition = {
        type: "PodScheduled",
        status: "False",
        reason,
        message,
        observedGeneration: now.metadata.generation,
        lastProbeTime: null,
        lastTransitionTime: known?.status === "False" ? (known.lastTransitionTime ?? time) : time,
      };
      const status = {
        conditions: [condition],
        ...(nominates && { nominatedNodeName: nominatedNode || null }),
      };
      if (await this.#patch(client, now, status)) return;
    }
  }

  /** Removes the nomination. */
  async clearNomination(pod: Pod): Promise<void> {
    const { client, isOurs } = this.#options;
    for (let now: Pod | undefined = pod; now !== undefined && isOurs(now); now = await this.newest(pod)) {
      if (!now.status?.nominatedNodeName) return;
      if (await this.#patch(client, now, { nominatedNodeName: null })) return;
    }
  }

  /** False: the pod has changed in the meantime. */
  async #patch(client: Client, pod: Pod, status: object): Promise<boolean> {
    const { uid, resourceVersion } = pod.metadata;
    const patch = { metadata: { uid, resourceVersion }, status };
    try {
      await client.resource(Pod).patch(pod.metadata, "strategic", patch, { subresource: "status" });
      return true;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return true;
      if (!StatusError.is(error, "Conflict")) throw error;
      return false;
    }
  }
}
