import { unset } from "../../../json/unset.ts";
import type { Strategy } from "../../strategy.ts";
import { withCondition } from "./conditions.ts";
import { newFormatWarnings } from "./format-warnings.ts";
import { cleanupFinalizer, type Definition } from "./types.ts";
import { validateDefinition, validateDefinitionStatus, validateDefinitionUpdate } from "./validate.ts";

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
  conditions: unset<[]>(),
  acceptedNames: { plural: "", kind: "" },
  storedVersions: unset<[]>(),
};

/**
 * Definitions of custom resources: their status is the server's, and their objects are deleted before them.
 */
export const customResourceDefinitionStrategy: Strategy<Definition> = {
  prepareForCreate: (object) => noteStoredVersion(object),
  prepareForUpdate(object, _old, context) {
    if (context.subresource === "") noteStoredVersion(object);
  },
  validateCreate: (object, { features }, step) => validateDefinition(object, features.version, step).list,
  validateUpdate(object, old, { subresource, features }, step) {
    if (subresource === "status") return validateDefinitionStatus(object, features.version).list;
    return validateDefinitionUpdate(object, old, features.version, step).list;
  },
  warnings: (object, old) => newFormatWarnings(object, old),
  /** Upstream: apiextensions-apiserver, pkg/registry/customresourcedefinition/etcd.go, REST.Delete */
  beginDeletion(definition, _options, context) {
    const { metadata } = definition;
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
