import type { KubeObject } from "@dray/api";
import type { DeleteOptions } from "../request/options.ts";
import type { ServedResource } from "./kinds.ts";

/**
 * The finalizers that an object has once its deletion has begun with these options; `orphans`: its dependents stay
 * where nobody says otherwise.
 */
export function deletionFinalizers(object: KubeObject, options: DeleteOptions, orphans: boolean): string[] {
  const present = object.metadata.finalizers ?? [];
  const decided = present.includes("orphan") || present.includes("foregroundDeletion");
  const policy = options.propagationPolicy ?? (orphans && !decided ? "Orphan" : undefined);
  if (policy === undefined) return present;
  const rest = present.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  if (policy === "Orphan") return [...rest, "orphan"];
  if (policy === "Foreground") return [...rest, "foregroundDeletion"];
  return rest;
}

/** Sets when the object goes; a second DELETE may only bring that forward. */
export function markDeleted(
  object: KubeObject,
  old: KubeObject,
  grace: number | undefined,
  time: (seconds: number) => string,
  counted: boolean,
): void {
  const { metadata } = object;
  const seconds = grace ?? 0;
  const before = old.metadata.deletionGracePeriodSeconds;
  if (old.metadata.deletionTimestamp !== undefined && (before === undefined || Number(before) <= seconds))
    return;
  metadata.deletionTimestamp = time(seconds);
  metadata.deletionGracePeriodSeconds = seconds;
  if (counted && metadata.generation !== undefined && old.metadata.deletionTimestamp === undefined)
    metadata.generation = Number(metadata.generation) + 1;
}

/**
 * The DeleteOptions (meta/v1) that admission is told of: those of the client with what the kind makes of them, the
 * grace period of a pod and that it is this namespace.
 */
export function givenDeletion(
  options: DeleteOptions,
  grace: number | undefined,
  served: ServedResource,
  object: KubeObject,
): object {
  const { dryRun, propagationPolicy } = options;
  const seconds = grace ?? options.gracePeriodSeconds;
  const isNamespace = served.group === "" && served.resource === "namespaces";
  const preconditions = options.preconditions ?? (isNamespace ? { uid: object.metadata.uid } : undefined);
  return {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}
