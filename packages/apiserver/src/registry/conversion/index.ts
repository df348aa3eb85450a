import type { KubeObject } from "@dray/api";
import type { ModelledKind } from "../model.ts";
import { convertBuiltIn } from "./built-in.ts";

/**
 * The object in another version of its kind, or in the form in which it is stored. The answer shares what it can with
 * `object`, so it is frozen if that is.
 */
export function convert(object: KubeObject, from: ModelledKind, to: ModelledKind): KubeObject {
  return to.model === undefined ? convertBuiltIn(object, from, to) : to.model.convert(object, to);
}
