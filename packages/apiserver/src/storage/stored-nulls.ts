import type { KubeObject } from "@dray/api";
import { DecodeError, decodeAs, kindOf, structType } from "@dray/api/codec";
import { removeNulls } from "@dray/api/nulls";

/** A null, which is also in the text of a string. */
const maybeNull = /\bnull\b/;

/**
 * Returns a stored object as Go reads it and writes it again: a field that is null is absent, unless Go
 * writes null for it (a list without omitempty), which readers know by its type. This server stores objects
 * so; other servers, older versions and people who write into etcd store null anywhere. `text`: the stored
 * value.
 *
 * Upstream: encoding/json, Unmarshal: null has no effect on a slice, map, pointer or scalar.
 */
export function withoutStoredNulls(object: KubeObject, text: string): KubeObject {
  if (!maybeNull.test(text)) return object;
  const { apiVersion, kind } = object;
  const slash = typeof apiVersion === "string" ? apiVersion.indexOf("/") : -1;
  const row =
    typeof apiVersion === "string" && typeof kind === "string"
      ? kindOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind)
      : undefined;
  if (row === undefined) {
    // In a custom resource, null is a value: only its metadata changes.
    removeNulls(object, { apiVersion: String(apiVersion), kind: String(kind) });
    return object;
  }
  try {
    const decoded = decodeAs(object, row.type, undefined, { stored: true }).object;
    // To Go it is a struct, whose fields are unset.
    if (structType(row.type).fields.get("spec")?.type.form === "struct") decoded["spec"] ??= {};
    // The decoder has read it as this kind.
    return { ...decoded, apiVersion, kind } as unknown as KubeObject;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // A value of a wrong type: what can be read stays.
    removeNulls(object, { apiVersion, kind });
    return object;
  }
}
