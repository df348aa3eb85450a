import { asTyped, type FieldErrors } from "../../../checks/field.ts";
import { checkCommonUpdate } from "../../../checks/metadata.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { Namespace } from "../../../generated/core/v1.ts";
import { dnsLabel, qualifiedName } from "../../../values/names.ts";

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

function checkNamespaceFinalizers(
  errors: FieldErrors,
  { spec }: Namespace,
  path: (index: number) => string,
): void {
  for (const [index, name] of (spec?.finalizers ?? []).entries()) {
    errors.check(qualifiedName, path(index), name);
    if (!name.includes("/") && !standardFinalizers.includes(name)) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      errors.invalid(path(index), name, detail);
    }
  }
}

/** Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceFinalizeUpdate */
export function checkNamespaceFinalize(errors: FieldErrors, object: Namespace, old: Namespace): void {
  checkCommonUpdate(errors, object.metadata, old.metadata, false);
  checkObjectUpdate(errors, object, old);
  checkNamespaceFinalizers(errors, object, (index) => `spec.finalizers[${index}]`);
}

export const namespaceValidation = {
  create(errors: FieldErrors, object: Namespace): void {
    checkObject(errors, object, dnsLabel, false);
    checkNamespaceFinalizers(errors, object, () => "spec.finalizers");
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
    errors.invalid(
      "status.Phase",
      asTyped(phase),
      `may only be '${wanted}' if \`deletionTimestamp\` is ${empty}`,
    );
  },
};
