import { type FieldErrors, sameValue } from "../../checks/field.ts";

/** Data of a ConfigMap or Secret, in bytes. */
export const dataLimit = 1024 * 1024;

/** Bytes that a base64 text stands for; none for the null that Go reads as no bytes. */
export function decodedLength(text: string | null): number {
  if (text === null) return 0;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

interface Frozen {
  readonly immutable?: boolean;
  readonly data?: unknown;
  readonly binaryData?: unknown;
}

/** An object that was declared immutable stays as it is (KEP-1412). */
export function checkFrozen(errors: FieldErrors, object: Frozen, old: Frozen): void {
  if (!old.immutable) return;
  const detail = "field is immutable when `immutable` is set";
  if (!object.immutable) errors.at("immutable").forbidden(detail);
  for (const name of ["data", "binaryData"] as const) {
    // An empty map is another than none.
    const emptied = errors.provenance.cameEmpty(object, name) && old[name] === undefined;
    if (emptied || !sameValue(object[name], old[name])) errors.at(name).forbidden(detail);
  }
}
