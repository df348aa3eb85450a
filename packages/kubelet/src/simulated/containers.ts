import type { ContainerState, ContainerStatus, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { containerHash } from "../containers/container-hash.ts";
import type { Container, Sandbox } from "../runtime/service.ts";
import { allContainers, type StartableContainer } from "../types/containers.ts";

/** Prefix of container IDs and of versions in Nodes. */
export const runtimeName = "simulated";

/** A container of a pod with this attempt, running from `now` on. */
export function startedContainer(
  pod: Pod,
  spec: StartableContainer,
  attempt: number,
  now: number,
): Container {
  const { uid } = pod.metadata;
  return {
    id: `${uid}/${spec.name}/${attempt}`,
    sandboxId: uid,
    config: { name: spec.name, attempt, hash: containerHash(spec), logPath: "", terminationLog: "" },
    state: "running",
    imageRef: spec.image ?? "",
    createdAt: now,
    startedAt: now,
    finishedAt: undefined,
    exitCode: undefined,
    reason: undefined,
    message: undefined,
  };
}

export function endedContainer(container: Container, exitCode: number, finishedAt: number): Container {
  return {
    ...container,
    state: "exited",
    exitCode,
    finishedAt,
    reason: exitCode === 0 ? "Completed" : "Error",
  };
}

/** The sandbox of a pod with this address. */
export function sandboxOf({ metadata }: Pod, ip: string, createdAt: number): Sandbox {
  const { namespace = "", name, uid } = metadata;
  return { id: uid, config: { namespace, name, uid, attempt: 0 }, ips: [ip], ready: true, createdAt };
}

/** Sandbox and containers of a pod. */
export interface Recovered {
  readonly sandbox: Sandbox | undefined;
  /** By name, latest first. */
  readonly containers: Map<string, readonly Container[]>;
}

/** Restores sandbox and containers from the status of a pod, in which a simulated node keeps all state. */
export function recovered(pod: Pod): Recovered {
  const { status = {} } = pod;
  const statuses = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
  const containers = new Map<string, readonly Container[]>();
  for (const spec of allContainers(pod)) {
    const found = statuses.find(({ name }) => name === spec.name);
    const known = found === undefined ? [] : containersOf(pod, spec, found);
    if (known.length > 0) containers.set(spec.name, known);
  }
  const { podIP } = status;
  const runs = podIP !== undefined && !isPodTerminal(pod);
  return { sandbox: runs ? sandboxOf(pod, podIP, timeOf(status.startTime)) : undefined, containers };
}

/** Latest first. */
function containersOf(pod: Pod, spec: StartableContainer, status: ContainerStatus): Container[] {
  const { state = {}, lastState = {}, containerID } = status;
  // Without an ID it was never started.
  if (containerID === undefined) return [];
  const attempt = Number(status.restartCount);
  const current = containerIn(pod, spec, attempt, state);
  if (current === undefined) {
    // It waits to be restarted.
    const last = containerIn(pod, spec, attempt, lastState);
    return last === undefined ? [] : [last];
  }
  const last = attempt === 0 ? undefined : containerIn(pod, spec, attempt - 1, lastState);
  return last === undefined ? [current] : [current, last];
}

function containerIn(
  pod: Pod,
  spec: StartableContainer,
  attempt: number,
  { running, terminated }: ContainerState,
): Container | undefined {
  const found = running ?? terminated;
  if (found === undefined) return undefined;
  const container = startedContainer(pod, spec, attempt, timeOf(found.startedAt));
  if (terminated === undefined) return container;
  return {
    ...endedContainer(container, Number(terminated.exitCode), timeOf(terminated.finishedAt)),
    reason: terminated.reason,
    message: terminated.message,
  };
}

/** 0 if it is unknown. */
function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}
