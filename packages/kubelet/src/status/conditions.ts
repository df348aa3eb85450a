import type { ContainerStatus, PodCondition } from "@dray/api/core/v1";
import { canRestartAll, isPodTerminal, sidecarsOf } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { shortened } from "../base/text.ts";
import type { StatusInput } from "./status-input.ts";

/** Condition while all containers of a pod are restarted (KEP-5532). */
export const restartingCondition = "AllContainersRestarting";

/** Types of conditions that the agent writes. */
export const ownConditions: ReadonlySet<string> = new Set([
  restartingCondition,
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizePending",
  "PodResizeInProgress",
]);

/** Upstream: pkg/kubelet/status/generate.go, GenerateAllContainersRestartingCondition. */
function restartConditions({ pod, restarting }: StatusInput, phase: string): PodCondition[] {
  const type = restartingCondition;
  if (!canRestartAll(pod.spec)) return [];
  if (isPodTerminal({ status: { phase } }))
    return [{ type, status: "False", reason: phase === "Succeeded" ? "PodCompleted" : "PodFailed" }];
  if (!restarting) return [{ type, status: "False" }];
  const message = "container exited with restart policy rule";
  return [{ type, status: "True", reason: "RestartAllContainersStarted", message }];
}

/** Set with the terminal phase. Upstream: pkg/kubelet/status/status_manager.go, mergePodStatus. */
function disruptionConditions({ failure, ended }: StatusInput): PodCondition[] {
  if (!ended || failure?.isDisruption !== true) return [];
  const message = shortened(failure.message);
  return [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message }];
}

/** Parts of a pod status from which its conditions follow. */
export interface ConditionsInput {
  readonly phase: string;
  /** All init containers have succeeded. */
  readonly initDone: boolean;
  readonly initStatuses: readonly ContainerStatus[];
  readonly statuses: readonly ContainerStatus[];
}

export function podConditions(
  input: StatusInput,
  { phase, initDone, initStatuses, statuses }: ConditionsInput,
): PodCondition[] {
  const { pod } = input;
  const finished = isPodTerminal({ status: { phase } });
  const specs = [...sidecarsOf(pod.spec), ...pod.spec.containers];
  const all = [...initStatuses, ...statuses];
  const unready = specs.filter(({ name }) => all.find((status) => status.name === name)?.ready !== true);
  const notReady = unready.map(({ name }) => name);
  const terminal = { reason: phase === "Succeeded" ? "PodCompleted" : "PodFailed" };
  const readyDetail = finished
    ? { status: "False", ...terminal }
    : notReady.length === 0
      ? { status: "True" }
      : {
          status: "False",
          reason: "ContainersNotReady",
          message: `containers with unready status: [${notReady.join(" ")}]`,
        };
  const gates = (pod.spec.readinessGates ?? [])
    .map(({ conditionType }) => conditionType)
    .filter((type) => pod.status?.conditions?.find((c) => c.type === type)?.status !== "True");
  const incomplete = (pod.spec.initContainers ?? [])
    .map(({ name }) => name)
    .filter((name) => initStatuses.find((status) => status.name === name)?.ready !== true);
  const wanted: PodCondition[] = [
    { type: "PodReadyToStartContainers", status: input.sandboxReady && !finished ? "True" : "False" },
    initDone || phase === "Succeeded"
      ? { type: "Initialized", status: "True", ...(phase === "Succeeded" ? terminal : {}) }
      : {
          type: "Initialized",
          status: "False",
          reason: "ContainersNotInitialized",
          message: `containers with incomplete status: [${incomplete.join(" ")}]`,
        },
    readyDetail.status === "True" && gates.length > 0
      ? {
          type: "Ready",
          status: "False",
          reason: "ReadinessGatesNotReady",
          message: gates
            .map((type) => `corresponding condition of pod readiness gate "${type}" does not exist.`)
            .join(", "),
        }
      : { type: "Ready", ...readyDetail },
    { type: "ContainersReady", ...readyDetail },
    { type: "PodScheduled", status: "True" },
    ...restartConditions(input, phase),
    ...(finished ? [] : (input.resize?.conditions() ?? [])),
    ...disruptionConditions(input),
  ];
  return wanted.map((condition) => {
    const old = pod.status?.conditions?.find(({ type }) => type === condition.type);
    return {
      ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
      ...condition,
      lastTransitionTime:
        old?.status === condition.status && old?.lastTransitionTime !== undefined
          ? old.lastTransitionTime
          : timeText(input.now),
    };
  });
}
