import { type KubeObject, timeText } from "@dray/api";
import type { ServedResource } from "../kinds/resources.ts";
import type { GarbageCollection } from "../kinds/strategy.ts";
import type { DeleteOptions } from "../request/options.ts";

/** The effect of a DELETE on an object. */
export type DeletionAction =
  /** Nothing: its deletion is pending already, and these options do not bring it forward. */
  | "pending"
  /** The object is removed unchanged. */
  | "remove"
  /** The object is removed: its last finalizers were the garbage collector's, and the options drop them. */
  | "removeEmptied"
  /** The marked object is stored, and stays until its finalizers are done or its grace period is over. */
  | "mark"
  /** The marked object is stored and then removed: watchers see both. */
  | "markAndRemove";

/** Properties of the object for `planDeletion`. */
export interface DeletionRules {
  /** Grace period in seconds of a kind that is deleted gracefully; undefined for other kinds. */
  readonly grace: number | undefined;
  /** Deletion of dependents if neither options nor finalizers decide. */
  readonly garbageCollection: GarbageCollection;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Decides the effect of a DELETE and sets the deletion fields of `object`, a draft.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Store.Delete
 */
export function planDeletion(
  object: KubeObject,
  options: DeleteOptions,
  rules: DeletionRules,
): DeletionAction {
  const period = beforeDelete(object, options.gracePeriodSeconds, rules);
  if (period === "pending") return "pending";
  const { metadata } = object;
  const before = metadata.finalizers ?? [];
  const finalizers = deletionFinalizers(before, options, rules.garbageCollection);
  const known = new Set(before);
  const changed = finalizers.length !== before.length || finalizers.some((name) => !known.has(name));
  if (changed) {
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    else delete metadata.finalizers;
  }
  const remaining = changed ? finalizers : before;
  if (period === undefined) {
    if (remaining.length === 0) return changed ? "removeEmptied" : "remove";
    markDeleting(object, rules.now);
    return "mark";
  }
  return remaining.length > 0 || period > 0 ? "mark" : "markAndRemove";
}

/**
 * Marks an object of a kind that is deleted gracefully. Returns the grace period in seconds; undefined
 * without a grace period, if the object is removed at once; "pending" if an earlier DELETE takes precedence.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete
 */
function beforeDelete(
  { metadata }: KubeObject,
  requested: number | undefined,
  { grace, now }: DeletionRules,
): number | "pending" | undefined {
  if (grace === undefined) return undefined;
  const before = metadata.deletionTimestamp;
  if (before === undefined) {
    metadata.deletionTimestamp = timeText(now + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    bumpGeneration(metadata);
    return grace;
  }
  const period = Math.max(0, Number(metadata.deletionGracePeriodSeconds ?? 0));
  if (period === 0) return undefined;
  const granted = requested === undefined ? period : requested < 0 ? 1 : requested;
  if (granted >= period) return "pending";
  const deletionTime = Date.parse(before) + (granted - period) * 1000;
  const past = deletionTime < now;
  metadata.deletionTimestamp = timeText(past ? now : deletionTime);
  // The grace period is over; the kubelet still gets a second to end the pod.
  metadata.deletionGracePeriodSeconds = past && granted !== 0 ? 1 : granted;
  return granted;
}

/** Upstream: store.go, markAsDeleting */
function markDeleting({ metadata }: KubeObject, now: number): void {
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined) bumpGeneration(metadata);
  if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) > now)
    metadata.deletionTimestamp = timeText(now);
  metadata.deletionGracePeriodSeconds = 0;
}

function bumpGeneration(metadata: KubeObject["metadata"]): void {
  const generation = Number(metadata.generation ?? 0);
  if (generation > 0) metadata.generation = generation + 1;
}

/**
 * Returns the finalizers of an object once its deletion has begun with these options.
 *
 * Upstream: store.go, deletionFinalizersForGarbageCollection
 */
function deletionFinalizers(
  present: readonly string[],
  options: DeleteOptions,
  garbageCollection: GarbageCollection,
): string[] {
  const rest = present.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  if (garbageCollection === "unsupported") return rest;
  const policy = options.propagationPolicy ?? policyOf(present);
  if (policy === "Orphan" || (policy === undefined && garbageCollection === "orphan"))
    return [...rest, "orphan"];
  return policy === "Foreground" ? [...rest, "foregroundDeletion"] : rest;
}

/** Returns the policy that the object's finalizers imply; the first one counts. */
function policyOf(finalizers: readonly string[]): DeleteOptions["propagationPolicy"] {
  const first = finalizers.find((name) => name === "orphan" || name === "foregroundDeletion");
  return first === undefined ? undefined : first === "orphan" ? "Orphan" : "Foreground";
}

/**
 * Returns the DeleteOptions (meta/v1) for admission: the client's with the changes by the kind: the grace
 * period of a pod, and the uid of a namespace as a precondition.
 */
export function admissionDeleteOptions(
  options: DeleteOptions,
  grace: number | undefined,
  served: ServedResource,
  object: KubeObject,
): object {
  const { dryRun, propagationPolicy, orphanDependents } = options;
  const seconds = grace ?? options.gracePeriodSeconds;
  const isNamespace = served.group === "" && served.resource === "namespaces";
  const preconditions = options.preconditions ?? (isNamespace ? { uid: object.metadata.uid } : undefined);
  return {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(orphanDependents === undefined
      ? propagationPolicy === undefined
        ? {}
        : { propagationPolicy }
      : { orphanDependents }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}
