import type { Pod } from "@dray/api/core/v1";
import type { Observed } from "../observed.ts";
import type { PodAction } from "../pod-actions.ts";
import type { PodState } from "../pod-state.ts";

/** Begins to stop a container; the pod is requeued when it has ended. */
export function stopContainer(
  state: PodState,
  pod: Pod,
  { spec, container, graceSeconds, message, replace }: Omit<PodAction & { type: "stop" }, "type">,
  observed: Observed,
): void {
  if (replace) state.replaced.add(container.id);
  state.context.probes.forget(container.id);
  const podIP = observed.sandboxes[0]?.ips[0] ?? "";
  state.stops.begin({ pod, spec, container, graceSeconds, message, podIP });
}
