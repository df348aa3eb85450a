import { withCondition } from "../customresources/conditions.ts";
import { newFormatWarnings } from "../customresources/definition/format-warnings.ts";
import { cleanupFinalizer, type Definition } from "../customresources/definition/types.ts";
import {
  validateDefinition,
  validateDefinitionStatus,
  validateDefinitionUpdate,
} from "../customresources/definition/validate.ts";
import type { Strategy } from "../kinds/strategy.ts";

/** Notes the version in which objects are stored from now on, beside those in which they may still be. */
function noteStoredVersion(definition: Definition): void {
  const storage = definition.spec.versions?.find((version) => version.storage)?.name;
  if (storage === undefined) return;
  const status = definition.status ?? emptyStatus;
  const stored = status.storedVersions ?? [];
  if (stored.includes(storage)) return;
  definition.status = { ...status, storedVersions: [...stored, storage] };
}

const emptyStatus = {
  conditions: null as unknown as [],
  acceptedNames: { plural: "", kind: "" },
  storedVersions: null as unknown as [],
};

/** Definitions of custom resources: their status is the server's, and their objects are deleted before them. */
export const customresourcedefinitions: Strategy = {
  prepareForCreate: (object) => noteStoredVersion(object as Definition),
  prepareForUpdate(object, _old, context) {
    if (context.subresource === "") noteStoredVersion(object as Definition);
  },
  validateCreate: (object) => validateDefinition(object as Definition).list,
  validateUpdate(object, old, context) {
    if (context.subresource === "status") return validateDefinitionStatus(object as Definition).list;
    return validateDefinitionUpdate(object as Definition, old as Definition).list;
  },
  warnings: (object, old) => newFormatWarnings(object as Definition, old as Definition | undefined),
  /** Upstream: apiextensions-apiserver, pkg/registry/customresourcedefinition/etcd.go, REST.Delete */
  beginDeletion(object, _options, context) {
    const definition = object as Definition;
    const { metadata } = object;
    metadata.deletionTimestamp = context.now;
    const finalizers = metadata.finalizers ?? [];
    if (!finalizers.includes(cleanupFinalizer)) metadata.finalizers = [...finalizers, cleanupFinalizer];
    const condition = {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    } as const;
    const status = definition.status ?? emptyStatus;
    definition.status = { ...status, conditions: withCondition(status.conditions, condition, context.now) };
    return "mark";
  },
};
