import { asTyped, type FieldErrors } from "../../../checks/field.ts";
import { checkCommonUpdate } from "../../../checks/metadata.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { Namespace } from "../../../generated/core/v1.ts";
import { dnsLabel, qualifiedName } from "../../../values/names.ts";

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

/** `scopeOf` returns the place at which errors of a finalizer are reported. */
function checkNamespaceFinalizers({ spec }: Namespace, scopeOf: (index: number) => FieldErrors): void {
  for (const [index, name] of (spec?.finalizers ?? []).entries()) {
    scopeOf(index).check(qualifiedName, name);
    if (!name.includes("/") && !standardFinalizers.includes(name)) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      scopeOf(index).invalid(name, detail);
    }
  }
}

/** Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceFinalizeUpdate */
export function checkNamespaceFinalize(errors: FieldErrors, object: Namespace, old: Namespace): void {
  checkCommonUpdate(errors, object.metadata, old.metadata, false);
  checkObjectUpdate(errors, object, old);
  checkNamespaceFinalizers(object, (index) => errors.at("spec.finalizers").index(index));
}

export const namespaceValidation = {
  create(errors: FieldErrors, object: Namespace): void {
    checkObject(errors, object, dnsLabel, false);
    checkNamespaceFinalizers(object, () => errors.at("spec.finalizers"));
  },
  update(errors: FieldErrors, object: Namespace, old: Namespace): void {
    this.create(errors, object);
    checkObjectUpdate(errors, object, old);
  },
  status(errors: FieldErrors, object: Namespace, old: Namespace): void {
    checkObjectUpdate(errors, object, old);
    const phase = object.status?.phase ?? "";
    const [wanted, empty] = object.metadata.deletionTimestamp
      ? ["Terminating", "not empty"]
      : ["Active", "empty"];
    if (phase === wanted) return;
    errors
      .at("status.Phase")
      .invalid(asTyped(phase), `may only be '${wanted}' if \`deletionTimestamp\` is ${empty}`);
  },
};
