// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/meta/v1.ts";

export type * from "../../schema/generated/meta/v1.ts";

export interface PartialObjectMetadata extends types.PartialObjectMetadata {}
export const PartialObjectMetadata: Kind<PartialObjectMetadata> = {"group":"meta","version":"v1","kind":"PartialObjectMetadata","resource":"partialobjectmetadatas","namespaced":true};
