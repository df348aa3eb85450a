/**
 * PATCH and field ownership (metadata.managedFields). Pure functions of JSON values: they read no clock,
 * decode no bytes and do not modify their arguments, frozen or not; results share unchanged parts.
 * Defaulting, decoding and validation come after them.
 */
export { apply } from "./apply.ts";
export { atomicPaths } from "./atomic-paths.ts";
export { typedProblem } from "./check-typed.ts";
export { JsonPatch, jsonPatch, jsonPatchWarnings } from "./json-patch.ts";
export { mergePatch } from "./merge-patch.ts";
export type { ObjectType } from "./object-type.ts";
export { UnkeyedElementError } from "./path-element.ts";
export { restoreProblem } from "./restore.ts";
export { scaledManagedFields, scaleManagedFields } from "./scale.ts";
export { shownPatch, shownPatched } from "./shown.ts";
export { strategicMergePatch } from "./strategic-patch.ts";
export { builtInType } from "./table-schema.ts";
export { type TrackUpdateOptions, trackUpdate } from "./track-update.ts";
export {
  anyValue,
  atomicValue,
  type FieldSchema,
  type TypeSchema,
} from "./type-schema.ts";
export { typedMerge } from "./typed-merge.ts";
