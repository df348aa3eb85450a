import type { Container as ContainerSpec, ContainerState, ContainerStatus, Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { shortened } from "../base/text.ts";
import { isRecursivelyReadOnly } from "../containers/mounts.ts";
import type { Container } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { StatusInput } from "./status-input.ts";

/** Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses. */
const resetText = {
  reason: "RestartingAllContainers",
  message: "The container is removed because RestartAllContainers in place",
};

const resetState: ContainerState = { terminated: { ...resetText, exitCode: 137 } };

/** True for a container that was removed to be restarted, and was not started since. */
export function wasReset({ state }: ContainerStatus): boolean {
  return state?.waiting?.reason === resetText.reason;
}

export function succeeded(container: Container): boolean {
  return container.state === "exited" && container.exitCode === 0 && container.reason !== "StartError";
}

export function containerStatus(
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
    // The last report stands if the runtime no longer has the container.
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
 * Health of the devices of a container. For a pod that has ended the last report stands, since its claims are
 * unprepared.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus.
 */
export function allocatedResources(
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
 * Allocated and actual resources of a container; ephemeral containers have none.
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

/** `lastState` of a container whose predecessor was removed to be restarted. */
function stateBeforeReset(
  { config: { name, attempt } }: Container,
  { nextAttempts }: StatusInput,
  old: ContainerStatus | undefined,
): ContainerState {
  const reported =
    old?.lastState?.terminated?.reason === resetText.reason && Number(old.restartCount) === attempt;
  return attempt > 0 && (reported || nextAttempts.get(name) === attempt) ? resetState : {};
}

/**
 * Maximum size of all termination messages of a pod in bytes. Upstream: MaxPodTerminationMessageLogLength.
 */
const maxTerminationMessages = 12 * 1024;

/** Limits texts to what the API server accepts, since they come from drivers, containers and the system. */
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
