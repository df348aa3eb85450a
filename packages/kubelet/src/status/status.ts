import type {
  Container as ContainerSpec,
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  ResourceStatus,
} from "@dray/api/core/v1";
import { canRestartAll, isPodTerminal, isSidecar, sidecarsOf } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { shortened } from "../base/text.ts";
import { isRecursivelyReadOnly } from "../containers/mounts.ts";
import { podLevelStatus, type WholePod } from "../resources/pod-level-status.ts";
import type { PodResize } from "../resources/resize.ts";
import type { Container } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { PodEnd } from "../types/pod-end.ts";

/** What a status is made from: the pod, what the runtime has of it, and what the agent knows beside. */
export interface StatusInput {
  readonly pod: Pod;
  readonly now: number;
  /** What the ids of containers begin with: `host`. */
  readonly runtimeName: string;
  readonly nodeAddress: string;
  /** The runtime can make mounts read-only with all that is below them. */
  readonly recursiveReadOnly: boolean;
  /** Absent before there is a sandbox. */
  readonly podIP: string | undefined;
  readonly sandboxReady: boolean;
  /** All containers of the pod, by name, the latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
  /** Why containers wait that do not run. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message?: string }>;
  /** By container id. */
  readonly started: (container: Container) => boolean;
  readonly ready: (container: Container) => boolean;
  /** The health of the devices of a container that is no init container, as `allocatedResourcesStatus` has it. */
  readonly allocatedResources: (container: ContainerSpec) => readonly ResourceStatus[];
  /** With which resources containers run, and what is said of a change; without it they run with those of the pod. */
  readonly resize?: Pick<PodResize, "actual" | "conditions">;
  /** What the pod as a whole has; absent where that is not reported. */
  readonly whole?: WholePod;
  /** All containers are stopped and removed, to be started anew. */
  readonly restarting: boolean;
  /** By name, of containers that were removed to be restarted: which attempt the next one is. */
  readonly nextAttempts: ReadonlyMap<string, number>;
  /** Set by the agent when it ended the pod: DeadlineExceeded, OutOfcpu, ... */
  readonly failure: PodEnd | undefined;
  /** No container of the pod will be started any more. */
  readonly ending: boolean;
  /** Nothing of the pod runs any more and everything is cleaned up. */
  readonly ended: boolean;
}

/** The status of a pod as the agent reports it. Fields that others own (claims, nominated node) are not in it. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, podIP, nodeAddress } = input;
  const before = pod.status;
  const initContainers = pod.spec.initContainers ?? [];
  const initialized = initContainers.every((spec) => {
    const [latest] = input.containers.get(spec.name) ?? [];
    if (latest === undefined) return false;
    return isSidecar(spec) ? input.started(latest) || latest.state === "exited" : succeeded(latest);
  });
  const anyMain = pod.spec.containers.some(
    ({ name }) => input.containers.has(name) || input.nextAttempts.has(name),
  );
  const initDone = initialized || anyMain;
  const initStatuses = initContainers.map((spec) =>
    containerStatus(spec, input, "PodInitializing", before?.initContainerStatuses),
  );
  // Whether the sandbox is there or not. Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses.
  const waitsFor = initContainers.length > 0 ? "PodInitializing" : "ContainerCreating";
  const statuses = pod.spec.containers.map((spec) => ({
    ...containerStatus(spec, input, waitsFor, before?.containerStatuses),
    ...allocatedResources(spec, input),
  }));
  const phase = podPhase(input, initDone);
  const conditions = podConditions(input, phase, initDone, initStatuses, statuses);
  return {
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase,
    conditions,
    ...reasonOf(input),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    startTime: before?.startTime ?? timeText(input.now),
    ...(input.whole === undefined ? {} : podLevelStatus(pod, input.whole)),
    ...(initContainers.length === 0 ? {} : { initContainerStatuses: initStatuses }),
    containerStatuses: statuses,
    ...((pod.spec.ephemeralContainers ?? []).length === 0
      ? {}
      : {
          ephemeralContainerStatuses: (pod.spec.ephemeralContainers ?? []).map((spec) => {
            const old = before?.ephemeralContainerStatuses;
            // Nobody asks whether one is ready or has started.
            const { started: _, ...status } = containerStatus(spec, input, waitsFor, old);
            return { ...status, ready: false };
          }),
        }),
  };
}

/**
 * Why the pod has failed; not before the phase is terminal (upstream: pkg/kubelet/status/status_manager.go,
 * mergePodStatus). What an earlier agent has reported of it stays.
 */
function reasonOf({ pod, failure, ended }: StatusInput): Pick<PodStatus, "reason" | "message"> {
  if (!ended) return {};
  if (failure !== undefined) return { reason: failure.reason, message: shortened(failure.message) };
  if (!isPodTerminal(pod)) return {};
  const { reason, message } = pod.status ?? {};
  return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

/**
 * The status of a pod that its node did not admit: nothing but the refusal.
 * Upstream: pkg/kubelet/kubelet.go, rejectPod.
 */
export function rejectedStatus(
  { metadata, status }: Pod,
  refusal: { readonly reason: string; readonly message: string },
  now: number,
): PodStatus {
  return {
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    phase: "Failed",
    reason: refusal.reason,
    message: shortened(refusal.message),
    startTime: status?.startTime ?? timeText(now),
    conditions: [],
  };
}

/** Says that all containers of a pod are restarted (KEP-5532). */
export const restartingCondition = "AllContainersRestarting";

/** Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses. */
const resetText = {
  reason: "RestartingAllContainers",
  message: "The container is removed because RestartAllContainers in place",
};
const resetState: ContainerState = { terminated: { ...resetText, exitCode: 137 } };

/** True for a container that was removed to be restarted, and has not been started since. */
export function wasReset({ state }: ContainerStatus): boolean {
  return state?.waiting?.reason === resetText.reason;
}

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

function succeeded(container: Container): boolean {
  return container.state === "exited" && container.exitCode === 0 && container.reason !== "StartError";
}

function containerStatus(
  spec: StartableContainer,
  input: StatusInput,
  initialReason: string,
  before: readonly ContainerStatus[] | undefined,
): ContainerStatus {
  const [latest, previous] = input.containers.get(spec.name) ?? [];
  const waiting = input.waiting.get(spec.name);
  const old = before?.find(({ name }) => name === spec.name);
  const base = {
    name: spec.name,
    restartCount: latest?.config.attempt ?? old?.restartCount ?? 0,
    image: spec.image ?? "",
    imageID: latest?.imageRef ?? "",
    ...((spec.volumeMounts ?? []).length === 0
      ? {}
      : {
          volumeMounts: (spec.volumeMounts ?? []).map((mount) => ({
            name: mount.name,
            mountPath: mount.mountPath,
            ...(mount.readOnly
              ? {
                  readOnly: true,
                  recursiveReadOnly: isRecursivelyReadOnly(mount, input.recursiveReadOnly)
                    ? "Enabled"
                    : "Disabled",
                }
              : {}),
          })),
        }),
  };
  if (latest === undefined && input.nextAttempts.has(spec.name) && !input.ended)
    return {
      ...base,
      restartCount: (input.nextAttempts.get(spec.name) ?? 1) - 1,
      ready: false,
      started: false,
      state: bounded({ waiting: waiting ?? resetText }, input.pod),
      lastState: resetState,
    };
  if (latest === undefined) {
    // What an earlier agent reported stands where the runtime has forgotten the container.
    if (old?.state?.terminated !== undefined && (input.ending || input.ended))
      return { ...old, ready: false, started: false };
    return {
      ...base,
      ready: false,
      started: false,
      state: bounded({ waiting: waiting ?? { reason: initialReason } }, input.pod),
    };
  }
  const started = latest.state === "running" && input.started(latest);
  const isInit = (input.pod.spec.initContainers ?? []).some(({ name }) => name === spec.name);
  const state: ContainerState =
    latest.state === "exited" && waiting !== undefined && !input.ending
      ? { waiting }
      : latest.state === "created"
        ? { waiting: waiting ?? { reason: "ContainerCreating" } }
        : stateOf(latest, input);
  const last = state.terminated === undefined && latest.state === "exited" ? latest : previous;
  return {
    ...base,
    containerID: `${input.runtimeName}://${latest.id}`,
    ...resourceStatus(spec, latest, input),
    ...userStatus(latest),
    ready: isInit && !isSidecar(spec) ? succeeded(latest) : started && input.ready(latest),
    started,
    state: bounded(state, input.pod),
    lastState:
      last === undefined || last.state !== "exited"
        ? stateBeforeReset(latest, input, old)
        : bounded(stateOf(last, input), input.pod),
  };
}

/**
 * The health of the devices that the container has been given. Of a pod that has ended the last report stands: its
 * claims are unprepared by then.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus.
 */
function allocatedResources(
  spec: ContainerSpec,
  input: StatusInput,
): Pick<ContainerStatus, "allocatedResourcesStatus"> {
  const before = input.pod.status?.containerStatuses?.find(({ name }) => name === spec.name);
  const now = input.ended ? (before?.allocatedResourcesStatus ?? []) : input.allocatedResources(spec);
  return { ...(now.length === 0 ? {} : { allocatedResourcesStatus: [...now] }) };
}

/** Upstream: pkg/kubelet/kubelet_pods.go, convertContainerStatusUser (KEP-3619). */
function userStatus({ user }: Container): Pick<ContainerStatus, "user"> {
  if (user === undefined) return {};
  const { uid, gid, groups } = user;
  return { user: { linux: { uid, gid, supplementalGroups: [...groups] } } };
}

/**
 * What a container was given and what it has; ephemeral containers are given nothing.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, convertContainerStatusResources.
 */
function resourceStatus(
  spec: StartableContainer,
  latest: Container,
  { pod, resize }: StatusInput,
): Pick<ContainerStatus, "resources" | "allocatedResources"> {
  const { initContainers = [], containers } = pod.spec;
  const own = [...initContainers, ...containers].find(({ name }) => name === spec.name);
  if (own === undefined) return {};
  const { requests } = own.resources ?? {};
  return {
    resources: (latest.state === "running" ? resize?.actual(latest, own) : undefined) ?? own.resources ?? {},
    ...(requests === undefined ? {} : { allocatedResources: requests }),
  };
}

/** What stands for the container before this one if that was removed to be restarted. */
function stateBeforeReset(
  { config: { name, attempt } }: Container,
  { nextAttempts }: StatusInput,
  old: ContainerStatus | undefined,
): ContainerState {
  const reported =
    old?.lastState?.terminated?.reason === resetText.reason && Number(old.restartCount) === attempt;
  return attempt > 0 && (reported || nextAttempts.get(name) === attempt) ? resetState : {};
}

/** All termination messages of a pod together have so many bytes. Upstream: MaxPodTerminationMessageLogLength. */
const maxTerminationMessages = 12 * 1024;

/** The state with texts that the API server accepts: they come from drivers, containers and the system. */
function bounded({ waiting, terminated, ...state }: ContainerState, { spec }: Pod): ContainerState {
  const limit = Math.floor(
    maxTerminationMessages / (spec.containers.length + (spec.initContainers ?? []).length),
  );
  const last = terminated?.message;
  return {
    ...state,
    ...(waiting === undefined ? {} : { waiting }),
    ...(waiting?.message === undefined
      ? {}
      : { waiting: { ...waiting, message: shortened(waiting.message) } }),
    ...(terminated === undefined ? {} : { terminated }),
    ...(terminated === undefined || last === undefined || Buffer.byteLength(last) <= limit
      ? {}
      : { terminated: { ...terminated, message: Buffer.from(last).subarray(0, limit).toString() } }),
  };
}

function stateOf(container: Container, { runtimeName }: StatusInput): ContainerState {
  const { startedAt, finishedAt, exitCode, reason, message, id } = container;
  if (container.state === "running") return { running: { startedAt: timeText(startedAt ?? 0) } };
  return {
    terminated: {
      exitCode: exitCode ?? 0,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      startedAt: timeText(startedAt ?? container.createdAt),
      finishedAt: timeText(finishedAt ?? container.createdAt),
      containerID: `${runtimeName}://${id}`,
    },
  };
}

/** A terminal phase is told only when everything has ended and claims are unprepared: others build on it. */
function podPhase(input: StatusInput, initDone: boolean): string {
  const { pod, failure, containers, ended } = input;
  const latest = pod.spec.containers.map(({ name }) => containers.get(name)?.[0]);
  if (ended) {
    if (isPodTerminal(pod)) return pod.status?.phase ?? "";
    const good = latest.every((container) => container !== undefined && succeeded(container));
    return failure === undefined && good ? "Succeeded" : "Failed";
  }
  // One that waits to be started for the first time: pending unless another has been.
  const begun =
    latest.some((container) => container !== undefined && container.state !== "created") ||
    pod.spec.containers.some(({ name }) => input.nextAttempts.has(name));
  return initDone && begun ? "Running" : "Pending";
}

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

/** Upstream: pkg/kubelet/status/status_manager.go, mergePodStatus: it comes with the terminal phase. */
function disruptionConditions({ failure, ended }: StatusInput): PodCondition[] {
  if (!ended || failure?.isDisruption !== true) return [];
  const message = shortened(failure.message);
  return [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message }];
}

function podConditions(
  input: StatusInput,
  phase: string,
  initDone: boolean,
  initStatuses: readonly ContainerStatus[],
  statuses: readonly ContainerStatus[],
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
