import type { KubeObject } from "@dray/api";
import type { DeleteOptions } from "../request/options.ts";

/** The finalizers that an object has once its deletion has begun with these options. */
export function deletionFinalizers(object: KubeObject, options: DeleteOptions): string[] {
  const present = object.metadata.finalizers ?? [];
  const policy = options.propagationPolicy;
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
