import type { KubeObject } from "@dray/api";
import { encodeJSON, rememberedText, rememberText } from "@dray/api/codec";
import { deepFreeze } from "./json.ts";

/** Field sets by their text. When that is too much it begins anew; objects keep what they have. */
const sets = new Map<string, object>();
/** Maximum characters of all cached texts, and of one. A set takes several times as many bytes. */
const maxKeptLength = 4 * 2 ** 20;
const maxTextLength = 2 ** 16;
let kept = 0;

/**
 * The object with the field sets of its managedFields that other objects have already: what is made alike, as the
 * pods of a template are, shares them. Answers the object itself where all of them are shared.
 */
export function shareFields(object: KubeObject): KubeObject {
  const { managedFields } = object.metadata;
  if (managedFields === undefined) return object;
  let changed = false;
  const entries = managedFields.map((entry) => {
    const own = entry.fieldsV1 as object | null | undefined;
    if (own === undefined || own === null || rememberedText(own) !== undefined) return entry;
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
  rememberText(deepFreeze(set), text);
  if (text.length > maxTextLength) return set;
  kept += text.length;
  if (kept > maxKeptLength) {
    sets.clear();
    kept = text.length;
  }
  sets.set(text, set);
  return set;
}
