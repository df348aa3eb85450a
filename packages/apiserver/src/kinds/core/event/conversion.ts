import type { KubeObject } from "@dray/api";

/** Fields that the two kinds of events name differently: core/v1 and events.k8s.io/v1. */
const renames: readonly (readonly [core: string, events: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

export function eventToCore(event: KubeObject): KubeObject {
  return rename(event, 1, 0);
}

export function eventToEvents(event: KubeObject): KubeObject {
  return rename(event, 0, 1);
}

function rename(event: KubeObject, from: 0 | 1, to: 0 | 1): KubeObject {
  const names = new Map(renames.map((pair) => [pair[from], pair[to]]));
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(event)) renamed[names.get(key) ?? key] = value;
  // The renamed fields are those of the other kind.
  return renamed as unknown as KubeObject;
}
