import type { KubeObject } from "@dray/api";
import { encodeJSON, isShared, share } from "@dray/api/codec";
import { deepFreeze } from "./json.ts";

/** Field sets by their text. Cleared when full; objects keep their sets. */
const sets = new Map<string, object>();
/** Maximum total characters of the cached texts, and of one text. A set takes several times as many bytes. */
const maxKeptLength = 4 * 2 ** 20;
const maxTextLength = 2 ** 16;
let kept = 0;

/**
 * Returns the object with its managedFields replaced by equal sets of other objects: objects that are created
 * alike, such as the pods of a template, share them. Returns the object itself if all of them are shared
 * already.
 */
export function shareFields(object: KubeObject): KubeObject {
  const { managedFields } = object.metadata;
  if (managedFields === undefined) return object;
  let changed = false;
  const entries = managedFields.map((entry) => {
    const own = entry.fieldsV1 as object | null | undefined;
    if (own === undefined || own === null || isShared(own)) return entry;
    changed = true;
    return { ...entry, fieldsV1: shared(own) };
  });
  return changed
    ? ({ ...object, metadata: { ...object.metadata, managedFields: entries } } as KubeObject)
    : object;
}

function shared(set: object): object {
  const text = encodeJSON(set);
  const known = sets.get(text);
  if (known !== undefined) return known;
  share(deepFreeze(set), text);
  if (text.length > maxTextLength) return set;
  kept += text.length;
  if (kept > maxKeptLength) {
    sets.clear();
    kept = text.length;
  }
  sets.set(text, set);
  return set;
}
