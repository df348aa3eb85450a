import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Client, type Clock, timeText } from "@dray/client";
import { refTo } from "./status.ts";

/** Why a pod is deleted: what its condition DisruptionTarget says (KEP-3329). */
export interface Disruption {
  readonly reason: string;
  readonly message: string;
}

/**
 * Marks the pod as disrupted and deletes it. Returns false if the pod was gone or replaced by then, which is
 * fine.
 */
export async function evict(
  client: Client,
  clock: Clock,
  pod: Pod,
  disruption: Disruption,
): Promise<boolean> {
  return unlessGone(async () => {
    const marked = pod.status?.conditions?.some(
      ({ type, status, reason }) =>
        type === "DisruptionTarget" && status === "True" && reason === disruption.reason,
    );
    if (!marked) await patchStatus(client, pod, { conditions: [disruptionTarget(clock, disruption)] });
    await remove(client, pod, {});
  });
}

/**
 * Deletes a pod that no kubelet will end: it is marked as failed first, because clients that wait for its end
 * read its phase, and finalizers may keep it. Returns false if the pod was gone or replaced by then.
 *
 * Upstream: pkg/controller/podgc/gc_controller.go, markFailedAndDeletePodWithCondition.
 */
export async function failAndDelete(
  client: Client,
  clock: Clock,
  pod: Pod,
  disruption?: Disruption,
): Promise<boolean> {
  return unlessGone(async () => {
    const conditions = disruption === undefined ? {} : { conditions: [disruptionTarget(clock, disruption)] };
    if (!isPodTerminal(pod)) await patchStatus(client, pod, { phase: "Failed", ...conditions });
    await remove(client, pod, { gracePeriodSeconds: 0 });
  });
}

function disruptionTarget(clock: Clock, { reason, message }: Disruption): object {
  const lastTransitionTime = timeText(clock.now());
  return { type: "DisruptionTarget", status: "True", reason, message, lastTransitionTime };
}

async function patchStatus(client: Client, pod: Pod, status: object): Promise<void> {
  const { uid } = pod.metadata;
  const patch = { metadata: { uid }, status };
  await client.resource(Pod).patch(refTo(pod), "strategic", patch, { subresource: "status" });
}

async function remove(
  client: Client,
  pod: Pod,
  options: { readonly gracePeriodSeconds?: number },
): Promise<void> {
  const preconditions = { uid: pod.metadata.uid };
  await client.resource(Pod).delete(refTo(pod), { preconditions, ...options });
}

/** Another pod of the name is a conflict; a patch with another uid is invalid. */
async function unlessGone(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const otherPod = StatusError.is(error, "Conflict") || StatusError.is(error, "Invalid");
    if (!StatusError.is(error, "NotFound") && !otherPod) throw error;
    return false;
  }
}
