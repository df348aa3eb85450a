import { type FieldSet, unionAll } from "./field-set.ts";
import { compareText, entryKey, type Managed, type ManagedEntry, withFields } from "./managed-fields.ts";

const maxUpdaters = 10;
const bucketManager = "ancient-changes";

/** Merges the oldest updaters of each version into one entry until at most ten updaters are left. */
export function capManagers(managed: Managed): Managed {
  let updaters = 0;
  for (const entry of managed.values()) if (entry.operation === "Update") updaters++;
  if (updaters <= maxUpdaters) return managed;

  const result: Managed = new Map(managed);
  const oldestFirst = [...managed]
    .filter(([, entry]) => entry.operation === "Update")
    .sort(([a, x], [b, y]) => compareText(x.time ?? "", y.time ?? "") || compareText(a, b));
  const firstOfVersion = new Map<string, string>();
  const buckets = new Map<string, FieldSet[]>();
  for (const [key, entry] of oldestFirst) {
    if (updaters <= maxUpdaters) break;
    const first = firstOfVersion.get(entry.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(entry.apiVersion, key);
      continue;
    }
    const bucket = {
      manager: bucketManager,
      operation: "Update",
      apiVersion: entry.apiVersion,
      subresource: "",
    } as const;
    const bucketKey = entryKey(bucket);
    let base = result.get(bucketKey);
    if (base === undefined) {
      base = result.get(first) as ManagedEntry;
      result.delete(first);
    }
    const merged = buckets.get(bucketKey) ?? [base.fields];
    buckets.set(bucketKey, merged);
    merged.push(entry.fields);
    const { source: _, ...rest } = base;
    result.delete(key);
    result.set(bucketKey, { ...rest, ...bucket, time: entry.time });
    updaters--;
  }
  for (const [key, sets] of buckets) {
    result.set(key, withFields(result.get(key) as ManagedEntry, unionAll(sets)));
  }
  return result;
}
