import type { Features } from "@dray/api";
import type { Event, Pod } from "@dray/api/core/v1";
import { type PodClaim, podClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { World } from "../manifests/world.ts";
import type { Wait, WaitFor } from "./data.ts";
import type { Surroundings } from "./surroundings.ts";

/** Input for the reasons why a pod waits. */
export interface Scene {
  readonly world: World;
  readonly features: Features;
  readonly surroundings: Surroundings;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export const wait = (what: WaitFor, message: string, more: Partial<Wait> = {}): Wait => ({
  for: what,
  message,
  object: null,
  since: null,
  ...more,
});

/** Returns the newest event with one of these reasons. */
export const eventOf = (events: readonly Event[], ...reasons: readonly string[]): Event | undefined =>
  events.find(({ reason = "" }) => reasons.includes(reason));

/** Returns the claims of a pod, with their objects in the API. */
export function claimsOfPod(
  pod: Pod,
  world: World,
): (PodClaim & { readonly claim: ResourceClaim | undefined })[] {
  return podClaims(pod).map((used) => ({
    ...used,
    claim: used.name ? world.find("ResourceClaim", `${pod.metadata.namespace}/${used.name}`) : undefined,
  }));
}

/** Returns the scheduler that has reported that it bound the pod; undefined: no event says so. */
export function schedulerOf({ spec }: Pod, { surroundings }: Scene): string | undefined {
  if (!spec.nodeName) return undefined;
  const event = eventOf(surroundings.events, "Scheduled");
  return event?.reportingComponent || event?.source?.component || undefined;
}

/** Returns the scheduler that the pod names, if it is another than the default one. */
export function otherSchedulerOf({ spec: { schedulerName } }: Pod): string | undefined {
  return schedulerName === "default-scheduler" ? undefined : schedulerName;
}

/** Reports whether the objects of storage are known: then pods need their volumes. */
export function hasStorage({ world, surroundings }: Pick<Scene, "world" | "surroundings">): boolean {
  if (surroundings.isLive) return surroundings.storage !== undefined;
  return world.all("PersistentVolumeClaim", "PersistentVolume", "StorageClass").length > 0;
}
