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
  const fields = Object.entries(event).map(([key, value]): [string, unknown] => [
    names.get(key) ?? key,
    value,
  ]);
  const renamed: object = Object.fromEntries(fields);
  // Fields that every object has keep their names.
  return renamed as KubeObject;
}
