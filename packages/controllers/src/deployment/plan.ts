import { isDeepStrictEqual } from "node:util";
import type { Deployment, ReplicaSet } from "@dray/api/apps/v1";
import type { PodTemplateSpec } from "@dray/api/core/v1";
import { scaledValue } from "../shared/int-or-percent.ts";

export const podTemplateHash = "pod-template-hash";
export const revisionAnnotation = "deployment.kubernetes.io/revision";
const desiredReplicas = "deployment.kubernetes.io/desired-replicas";
const maxReplicas = "deployment.kubernetes.io/max-replicas";

/** Annotations of a Deployment that its ReplicaSets do not take over. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  desiredReplicas,
  maxReplicas,
  "deployment.kubernetes.io/revision-history",
]);

/** A ReplicaSet and the size that it should have. */
export interface Scaling {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

export function wantedReplicas(deployment: Deployment): number {
  return deployment.spec.replicas ?? 1;
}

export function isRolling(deployment: Deployment): boolean {
  return deployment.spec.strategy?.type !== "Recreate";
}

export function maxSurge(deployment: Deployment): number {
  if (!isRolling(deployment)) return 0;
  return scaledValue(deployment.spec.strategy?.rollingUpdate?.maxSurge, wantedReplicas(deployment), "up");
}

export function maxUnavailable(deployment: Deployment): number {
  const replicas = wantedReplicas(deployment);
  if (!isRolling(deployment) || replicas === 0) return 0;
  const value = scaledValue(deployment.spec.strategy?.rollingUpdate?.maxUnavailable, replicas, "down");
  // Both zero would be a rollout that cannot move.
  return Math.min(replicas, value === 0 && maxSurge(deployment) === 0 ? 1 : value);
}

export function sizeOf(set: ReplicaSet): number {
  return set.spec.replicas ?? 1;
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((total, set) => total + count(set), 0);
}

const availableOf = (set: ReplicaSet): number => set.status?.availableReplicas ?? 0;

export function oldestFirst(sets: readonly ReplicaSet[]): ReplicaSet[] {
  return [...sets].sort((a, b) => {
    const [x, y] = [a.metadata, b.metadata];
    if (x.creationTimestamp !== y.creationTimestamp)
      return x.creationTimestamp < y.creationTimestamp ? -1 : 1;
    return x.name < y.name ? -1 : 1;
  });
}

/** The set that runs the Deployment's template: the oldest, where there should not be several. */
export function findNewSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const wanted = withoutHash(deployment.spec.template);
  return oldestFirst(sets).find(({ spec }) => isDeepStrictEqual(withoutHash(spec.template), wanted));
}

function withoutHash(template: PodTemplateSpec | undefined): unknown {
  const { [podTemplateHash]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** A 64-bit number that users may have written; 0 if it is invalid. Upstream: deployment/util, Revision. */
export function revisionOf(set: ReplicaSet | undefined): bigint {
  const text = set?.metadata.annotations?.[revisionAnnotation] ?? "";
  if (!/^[+-]?\d{1,19}$/.test(text)) return 0n;
  const revision = BigInt(text);
  return BigInt.asIntN(64, revision) === revision ? revision : 0n;
}

/** That of a new set beside the others. */
export function nextRevision(others: readonly ReplicaSet[]): bigint {
  return largest(0n, ...others.map(revisionOf)) + 1n;
}

export const largest = (...revisions: readonly bigint[]): bigint =>
  revisions.reduce((a, b) => (b > a ? b : a));

/** Annotations of a set: those of the Deployment and the sizes at which it was last scaled. */
export function setAnnotations(
  deployment: Deployment,
  set: ReplicaSet | undefined,
  revision: bigint,
): Record<string, string> {
  const taken = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !ownAnnotations.has(name),
  );
  return {
    ...set?.metadata.annotations,
    ...Object.fromEntries(taken),
    [revisionAnnotation]: String(revision),
    ...sizeAnnotations(deployment),
  };
}

export function sizeAnnotations(deployment: Deployment): Record<string, string> {
  const replicas = wantedReplicas(deployment);
  return {
    [desiredReplicas]: String(replicas),
    [maxReplicas]: String(replicas + maxSurge(deployment)),
  };
}

/** The Deployment was scaled since its sets were. */
export function wasScaled(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const desired = set.metadata.annotations?.[desiredReplicas];
    return sizeOf(set) > 0 && desired !== undefined && Number(desired) !== wantedReplicas(deployment);
  });
}

/**
 * New sizes after the Deployment was scaled, also in the middle of a rollout: then every set gets its share.
 */
export function planScaling(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  olds: readonly ReplicaSet[],
): Scaling[] {
  const replicas = wantedReplicas(deployment);
  const all = newSet === undefined ? [...olds] : [...olds, newSet];
  const active = all.filter((set) => sizeOf(set) > 0);
  if (active.length <= 1) {
    const only = active[0] ?? newSet ?? oldestFirst(olds).at(-1);
    return only === undefined ? [] : [{ set: only, replicas }];
  }
  if (newSet !== undefined && sizeOf(newSet) === replicas && availableOf(newSet) === replicas) {
    return olds.filter((set) => sizeOf(set) > 0).map((set) => ({ set, replicas: 0 }));
  }
  if (!isRolling(deployment)) return [];
  return proportionally(deployment, active);
}

function proportionally(deployment: Deployment, active: readonly ReplicaSet[]): Scaling[] {
  const replicas = wantedReplicas(deployment);
  const allowed = replicas === 0 ? 0 : replicas + maxSurge(deployment);
  const missing = allowed - sum(active, sizeOf);
  const byAge = oldestFirst(active);
  // The largest first; of equals the newest when growing, the oldest when shrinking.
  const order = (missing > 0 ? byAge.reverse() : byAge).sort((a, b) => sizeOf(b) - sizeOf(a));
  let given = 0;
  const sizes = order.map((set) => {
    const share = shareOf(deployment, set, allowed);
    const bounded = missing > 0 ? Math.min(share, missing - given) : Math.max(share, missing - given);
    given += bounded;
    return { set, replicas: sizeOf(set) + bounded };
  });
  return sizes.map(({ set, replicas: size }, index) => ({
    set,
    // The first gets what rounding has left over.
    replicas: Math.max(0, index === 0 ? size + missing - given : size),
  }));
}

function shareOf(deployment: Deployment, set: ReplicaSet, allowed: number): number {
  if (wantedReplicas(deployment) === 0) return -sizeOf(set);
  const before = Number(set.metadata.annotations?.[maxReplicas]) || deployment.status?.replicas || 0;
  return before === 0 ? 0 : Math.round((sizeOf(set) * allowed) / before) - sizeOf(set);
}

/** The next step of a rolling update: the new set grows first, then the old ones shrink. */
export function planRollingUpdate(
  deployment: Deployment,
  newSet: ReplicaSet,
  olds: readonly ReplicaSet[],
): Scaling[] {
  const wanted = wantedReplicas(deployment);
  const size = sizeOf(newSet);
  const all = [...olds, newSet];
  if (size > wanted) return [{ set: newSet, replicas: wanted }];
  const room = wanted + maxSurge(deployment) - sum(all, sizeOf);
  if (size < wanted && room > 0) return [{ set: newSet, replicas: Math.min(wanted, size + room) }];
  return planShrinking(deployment, newSet, oldestFirst(olds.filter((set) => sizeOf(set) > 0)));
}

function planShrinking(deployment: Deployment, newSet: ReplicaSet, olds: readonly ReplicaSet[]): Scaling[] {
  const all = [...olds, newSet];
  const minAvailable = wantedReplicas(deployment) - maxUnavailable(deployment);
  const unavailable = sizeOf(newSet) - availableOf(newSet);
  const most = sum(all, sizeOf) - minAvailable - unavailable;
  if (most <= 0) return [];
  // Unavailable pods first.
  let cleaned = 0;
  const sizes = new Map<ReplicaSet, number>();
  for (const set of olds) {
    const less = Math.min(most - cleaned, Math.max(0, sizeOf(set) - availableOf(set)));
    cleaned += less;
    sizes.set(set, sizeOf(set) - less);
  }
  let spare = sum(all, availableOf) - minAvailable;
  for (const set of olds) {
    const now = sizes.get(set) ?? 0;
    const less = Math.max(0, Math.min(now, spare));
    spare -= less;
    sizes.set(set, now - less);
  }
  return olds
    .filter((set) => sizes.get(set) !== sizeOf(set))
    .map((set) => ({ set, replicas: sizes.get(set) ?? 0 }));
}
