// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/apiextensions/v1.ts";

export type * from "../../schema/generated/apiextensions/v1.ts";

export interface CustomResourceDefinition extends types.CustomResourceDefinition {}
export const CustomResourceDefinition: Kind<CustomResourceDefinition> = {"group":"apiextensions.k8s.io","version":"v1","kind":"CustomResourceDefinition","resource":"customresourcedefinitions","namespaced":false};
