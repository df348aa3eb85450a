import type { KubeObject, Provenance } from "@dray/api";
import type { ModelledKind } from "./model.ts";
import { convertBuiltIn } from "./models.ts";

/**
 * The object in another version of its kind, or in the form in which it is stored. The answer shares what it
 * can with `object`, so it is frozen if that is. `provenance` is that of an object that is being written.
 */
export function convert(
  object: KubeObject,
  from: ModelledKind,
  to: ModelledKind,
  provenance?: Provenance,
): KubeObject {
  return to.model === undefined ? convertBuiltIn(object, from, to, provenance) : to.model.convert(object, to);
}

/**
 * Lets `convert` have stored objects in a version, where that takes a question to a webhook. Throws
 * StatusError.
 */
export async function prepareConversion(objects: readonly KubeObject[], to: ModelledKind): Promise<void> {
  await to.model?.conversion?.prepare(objects, to);
}

/**
 * As `convert` for stored objects, asking the conversion webhook where there is one. Rejects with
 * StatusError.
 */
export async function converted(
  object: KubeObject,
  from: ModelledKind,
  to: ModelledKind,
): Promise<KubeObject> {
  const outside = to.model?.conversion;
  if (outside !== undefined) await outside.prepare([object], to);
  return convert(object, from, to);
}
