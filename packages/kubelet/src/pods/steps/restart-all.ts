import type { Pod } from "@dray/api/core/v1";
import { restartingCondition } from "../../status/conditions.ts";
import { allContainers } from "../../types/containers.ts";
import type { Observed } from "../observed.ts";
import type { PodAction } from "../pod-actions.ts";
import type { PodState } from "../pod-state.ts";
import { reportStatus } from "./report.ts";

/** Removes all containers, so that they are started anew (KEP-5532). */
export async function resetContainers(
  state: PodState,
  pod: Pod,
  { attempts, ended }: PodAction & { type: "reset" },
  observed: Observed,
): Promise<void> {
  const { probes, runtime } = state.context;
  state.crashes.next(restartingCondition, ended);
  for (const [name, attempt] of attempts) state.nextAttempts.set(name, attempt);
  for (const { name } of allContainers(pod)) {
    state.failedStarts.delete(name);
    state.crashes.forgetAll(`${name}/`);
  }
  for (const { id } of [...observed.containers.values()].flat()) {
    probes.forget(id);
    await runtime.service.removeContainer(id);
  }
  state.restarting = false;
  await reportStatus(state, pod, await state.observe());
}
