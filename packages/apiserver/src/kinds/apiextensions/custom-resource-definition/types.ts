import type { KubeObject } from "@dray/api";
import type {
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionStatus,
  CustomResourceDefinitionVersion,
} from "@dray/api/apiextensions/v1";

/** A CustomResourceDefinition as the server stores it (apiextensions.k8s.io/v1). */
export interface Definition extends KubeObject {
  spec: Omit<CustomResourceDefinitionSpec, "versions"> & {
    /** Null if another server has stored none. */
    versions?: CustomResourceDefinitionVersion[] | null;
  };
  status?: CustomResourceDefinitionStatus;
}

export type { CustomResourceDefinitionNames as Names, CustomResourceDefinitionVersion as Version };

/** Reports whether the condition of that type has the status True. */
export function isTrue(definition: Definition, type: string): boolean {
  return definition.status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
}

/** Finalizer of definitions: they are deleted after their objects (apiextensions.k8s.io/v1). */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";
