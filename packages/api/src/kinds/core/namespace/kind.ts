import { Namespace } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultNamespace } from "./defaults.ts";
import { checkNamespaceFinalize, namespaceValidation } from "./validation.ts";

export const namespace = defineKind(Namespace, {
  defaults: defaultNamespace,
  validation: { ...namespaceValidation, subresources: { finalize: checkNamespaceFinalize } },
});
