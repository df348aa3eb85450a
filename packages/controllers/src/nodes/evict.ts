import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Client, type Clock, timeText } from "@dray/client";
import { refTo } from "../status.ts";

/** Why a pod is deleted: what its condition DisruptionTarget says (KEP-3329). */
export interface Disruption {
  readonly reason: string;
  readonly message: string;
  /** The node is gone, so that nobody else can say that the pod has ended. */
  readonly fail?: boolean;
  /** Without waiting for a kubelet. */
  readonly force?: boolean;
}

/** Marks the pod as disrupted and deletes it; false if it was gone or replaced by then, which is fine. */
export async function evict(
  client: Client,
  clock: Clock,
  pod: Pod,
  disruption: Disruption,
): Promise<boolean> {
  const { uid } = pod.metadata;
  const pods = client.resource(Pod);
  const now = timeText(clock.now());
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: disruption.reason,
    message: disruption.message,
    lastTransitionTime: now,
  };
  const marked = pod.status?.conditions?.some(
    ({ type, status, reason }) => type === condition.type && status === "True" && reason === condition.reason,
  );
  const phase = disruption.fail === true && !isPodTerminal(pod) ? { phase: "Failed" } : {};
  try {
    if (!marked) {
      await pods.patch(
        refTo(pod),
        "strategic",
        { metadata: { uid }, status: { ...phase, conditions: [condition] } },
        { subresource: "status" },
      );
    }
    await pods.delete(refTo(pod), {
      preconditions: { uid },
      ...(disruption.force === true ? { gracePeriodSeconds: 0 } : {}),
    });
    return true;
  } catch (error) {
    const otherPod = StatusError.is(error, "Conflict") || StatusError.is(error, "Invalid");
    if (!StatusError.is(error, "NotFound") && !otherPod) throw error;
    return false;
  }
}
