import {
  type ContainerStatus,
  type Container as CriContainer,
  ContainerState as CriContainerState,
  type ContainerStats as CriContainerStats,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
} from "@dray/rpc/cri/v1";
import type { Container, ContainerState, ContainerStats, Sandbox } from "../service.ts";
import { containerIdentity, sandboxIdentity } from "./labels.ts";

/** Converts nanoseconds to milliseconds since the epoch. */
const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds / 1000n) / 1000;

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** As `milliseconds`; undefined for 0, which means "not yet". */
const time = (nanoseconds: bigint): number | undefined =>
  nanoseconds === 0n ? undefined : milliseconds(nanoseconds);

/** Converts a sandbox. Its addresses come from its status, which is requested while it is ready. */
export function observedSandbox(
  { id, metadata, state, createdAt, labels }: PodSandbox,
  status: PodSandboxStatus | undefined,
): Sandbox {
  const { ip = "", additionalIps = [] } = status?.network ?? {};
  return {
    id,
    config: sandboxIdentity(labels, metadata?.attempt ?? 0),
    ips: [ip, ...additionalIps.map((each) => each.ip)].filter((each) => each !== ""),
    ready: state === PodSandboxState.SANDBOX_READY,
    createdAt: milliseconds(createdAt),
  };
}

const states = new Map<CriContainerState, ContainerState>([
  [CriContainerState.CONTAINER_CREATED, "created"],
  [CriContainerState.CONTAINER_RUNNING, "running"],
]);

/** Exit code of a container whose own is unknown, as after a SIGKILL. */
const unknownExitCode = 137;

/**
 * Converts a container. One in an unknown state counts as exited.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, toKubeContainerStatus.
 */
export function observedContainer({ podSandboxId }: CriContainer, status: ContainerStatus): Container {
  const config = containerIdentity(status.labels, status.annotations);
  const state = states.get(status.state) ?? "exited";
  const exited = state === "exited";
  const known = status.state !== CriContainerState.CONTAINER_UNKNOWN;
  const reason = known ? status.reason : "ContainerStatusUnknown";
  return {
    id: status.id,
    sandboxId: podSandboxId,
    config,
    state,
    imageRef: status.imageRef,
    createdAt: milliseconds(status.createdAt),
    startedAt: time(status.startedAt),
    // containerd records the start late: a short program may have ended before.
    finishedAt: exited ? time(max(status.startedAt, status.finishedAt)) : undefined,
    exitCode: exited ? (known ? status.exitCode : unknownExitCode) : undefined,
    reason: exited && reason !== "" ? reason : undefined,
    message: status.message === "" ? undefined : status.message,
  };
}

/** Usage of a container; undefined before the runtime has measured it. */
export function observedStats({ attributes, cpu, memory }: CriContainerStats): ContainerStats | undefined {
  const used = cpu?.usageCoreNanoSeconds?.value;
  if (attributes === undefined || cpu === undefined || used === undefined) return undefined;
  return {
    containerId: attributes.id,
    at: milliseconds(cpu.timestamp),
    cpuNanoseconds: Number(used),
    memoryWorkingSetBytes: Number(memory?.workingSetBytes?.value ?? 0n),
  };
}
