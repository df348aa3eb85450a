import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from "@dray/api/apps/v1";
import { timeText } from "@dray/client";
import { nonZeroCounts } from "../shared/status.ts";
import { maxUnavailable, sizeOf, sum, wantedReplicas } from "./plan.ts";

/** A deadline that means none. */
const never = 2147483647;

/** Result of a sync for condition Progressing. */
export interface Progress {
  readonly reason: "NewReplicaSetCreated" | "FoundNewReplicaSet";
  readonly set: string;
}

/** The outcome of a sync for the status. */
export interface SyncResult {
  readonly progress: Progress | undefined;
  readonly collisionCount: number | undefined;
  /** Terminating pods are reported (KEP-3973). */
  readonly countsTerminating: boolean;
}

/** The status that follows from the sets. */
export function deploymentStatus(
  deployment: Deployment,
  { newSet, olds }: { readonly newSet: ReplicaSet | undefined; readonly olds: readonly ReplicaSet[] },
  { progress, collisionCount, countsTerminating }: SyncResult,
  now: number,
): DeploymentStatus {
  const all = newSet === undefined ? olds : [...olds, newSet];
  const old = deployment.status;
  const replicas = sum(all, (set) => set.status?.replicas ?? 0);
  const available = sum(all, (set) => set.status?.availableReplicas ?? 0);
  const counts = {
    replicas,
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum(all, (set) => set.status?.readyReplicas ?? 0),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(all, sizeOf) - available),
  };
  const { generation } = deployment.metadata;
  const conditions = new Conditions(old?.conditions ?? [], now);
  const enough = available >= wantedReplicas(deployment) - maxUnavailable(deployment);
  conditions.set({
    type: "Available",
    status: enough ? "True" : "False",
    reason: enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: enough
      ? "Deployment has minimum availability."
      : "Deployment does not have minimum availability.",
  });
  reportProgress(conditions, deployment, { newSet, counts, progress }, now);
  const failure = all
    .flatMap((set) => set.status?.conditions ?? [])
    .find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  if (failure === undefined) conditions.remove("ReplicaFailure");
  else {
    const { reason = "", message = "" } = failure;
    conditions.set({ type: "ReplicaFailure", status: "True", reason, message });
  }
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...nonZeroCounts(counts),
    ...(countsTerminating ? terminatingOf(all) : {}),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: conditions.list,
  };
}

/** Undefined until every observed set reports how many of its pods are terminating (KEP-3973). */
function terminatingOf(sets: readonly ReplicaSet[]): Pick<DeploymentStatus, "terminatingReplicas"> {
  const seen = sets.filter(({ status }) => (status?.observedGeneration ?? 0) !== 0);
  if (seen.some(({ status }) => status?.terminatingReplicas === undefined)) return {};
  return { terminatingReplicas: sum(sets, ({ status }) => status?.terminatingReplicas ?? 0) };
}

/** Milliseconds until a rollout that stands still counts as timed out, if it can. */
export function untilDeadline(
  deployment: Deployment,
  status: DeploymentStatus,
  now: number,
): number | undefined {
  const seconds = deployment.spec.progressDeadlineSeconds ?? 600;
  const progressing = status.conditions?.find(({ type }) => type === "Progressing");
  const standing = progressing?.status === "True" && progressing.reason !== "NewReplicaSetAvailable";
  if (
    seconds === never ||
    !standing ||
    progressing.lastUpdateTime === undefined ||
    deployment.spec.paused === true
  ) {
    return undefined;
  }
  // A second more: the condition's time is in whole seconds.
  return Math.max(0, Date.parse(progressing.lastUpdateTime) + (seconds + 1) * 1000 - now);
}

type Counts = { replicas: number; updatedReplicas: number; readyReplicas: number; availableReplicas: number };

interface Rollout {
  readonly newSet: ReplicaSet | undefined;
  readonly counts: Counts;
  readonly progress: Progress | undefined;
}

function reportProgress(
  conditions: Conditions,
  deployment: Deployment,
  { newSet, counts, progress }: Rollout,
  now: number,
): void {
  const deadline = deployment.spec.progressDeadlineSeconds ?? 600;
  if (deadline === never) {
    conditions.remove("Progressing");
    return;
  }
  const current = conditions.get("Progressing");
  const set = (status: string, reason: string, message: string): void =>
    conditions.set({ type: "Progressing", status, reason, message }, true);

  if (deployment.spec.paused === true) {
    if (current?.reason !== "DeploymentPaused" && current?.reason !== "ProgressDeadlineExceeded")
      set("Unknown", "DeploymentPaused", "Deployment is paused");
    return;
  }
  if (current?.reason === "DeploymentPaused") set("Unknown", "DeploymentResumed", "Deployment is resumed");
  if (progress !== undefined && (current === undefined || progress.reason === "NewReplicaSetCreated")) {
    const verb = progress.reason === "NewReplicaSetCreated" ? "Created" : "Found";
    set("True", progress.reason, `${verb} new replica set "${progress.set}"`);
  }

  const wanted = wantedReplicas(deployment);
  const name = newSet?.metadata.name ?? deployment.metadata.name;
  const complete =
    counts.updatedReplicas === wanted && counts.replicas === wanted && counts.availableReplicas === wanted;
  if (
    current?.reason === "NewReplicaSetAvailable" &&
    counts.replicas === counts.updatedReplicas &&
    progress === undefined
  )
    return;
  const old = deployment.status ?? {};
  const moved =
    counts.updatedReplicas > (old.updatedReplicas ?? 0) ||
    counts.replicas - counts.updatedReplicas < (old.replicas ?? 0) - (old.updatedReplicas ?? 0) ||
    counts.readyReplicas > (old.readyReplicas ?? 0) ||
    counts.availableReplicas > (old.availableReplicas ?? 0);
  const since = conditions.get("Progressing")?.lastUpdateTime;
  const late = since !== undefined && Date.parse(since) + deadline * 1000 < now && current?.status === "True";
  if (complete) set("True", "NewReplicaSetAvailable", `ReplicaSet "${name}" has successfully progressed.`);
  else if (moved) set("True", "ReplicaSetUpdated", `ReplicaSet "${name}" is progressing.`);
  else if (late) set("False", "ProgressDeadlineExceeded", `ReplicaSet "${name}" has timed out progressing.`);
}

/** Conditions of a Deployment, with `lastUpdateTime` beside `lastTransitionTime`. */
class Conditions {
  list: DeploymentCondition[];
  readonly #now: string;

  constructor(conditions: readonly DeploymentCondition[], now: number) {
    this.list = [...conditions];
    this.#now = timeText(now);
  }

  get(type: string): DeploymentCondition | undefined {
    return this.list.find((condition) => condition.type === type);
  }

  remove(type: string): void {
    this.list = this.list.filter((condition) => condition.type !== type);
  }

  /** `moved`: `lastUpdateTime` changes even if status and reason are equal. */
  set(condition: DeploymentCondition & { type: string }, moved = false): void {
    const old = this.get(condition.type);
    const same = old?.status === condition.status && old?.reason === condition.reason;
    if (same && (!moved || old?.lastUpdateTime === this.#now)) return;
    const lastTransitionTime =
      old?.status === condition.status ? (old?.lastTransitionTime ?? this.#now) : this.#now;
    this.remove(condition.type);
    this.list.push({ ...condition, lastUpdateTime: this.#now, lastTransitionTime });
  }
}
