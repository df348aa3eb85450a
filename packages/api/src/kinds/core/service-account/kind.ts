import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { annotationWarnings } from "../../../checks/warnings/common.ts";
import { ServiceAccount } from "../../../generated/core/v1.ts";
import type { KubeObject } from "../../../objects/object.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";

const serviceAccountValidation = {
  create(errors: FieldErrors, object: ServiceAccount): void {
    checkObject(errors, object, dnsSubdomain, true);
  },
  update(errors: FieldErrors, object: ServiceAccount, old: ServiceAccount): void {
    checkObjectUpdate(errors, object, old);
    this.create(errors, object);
  },
};

const mountableSecrets = "kubernetes.io/enforce-mountable-secrets";

function accountWarnings(account: ServiceAccount, old: KubeObject | undefined): string[] {
  if (Object.hasOwn(old?.metadata.annotations ?? {}, mountableSecrets)) return [];
  return annotationWarnings(account, {
    [mountableSecrets]:
      "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
  });
}

export const serviceAccount = defineKind(ServiceAccount, {
  validation: serviceAccountValidation,
  warnings: accountWarnings,
});
