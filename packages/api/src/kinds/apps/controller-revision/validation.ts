import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { ControllerRevision } from "../../../generated/apps/v1.ts";

function checkRevision(errors: FieldErrors, object: ControllerRevision): void {
  checkObject(errors, object);
  errors.at("revision").notNegative(object.revision);
}

export const controllerRevisionValidation = {
  create(errors: FieldErrors, object: ControllerRevision): void {
    checkRevision(errors, object);
    const data: unknown = object.data;
    if (data === undefined || data === null) errors.at("data").required("data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data))
      errors.at("data").required("data must be a valid JSON object");
  },
  update(errors: FieldErrors, object: ControllerRevision, old: ControllerRevision): void {
    checkObjectUpdate(errors, object, old);
    checkRevision(errors, object);
    checkImmutable(errors.at("data"), object.data, old.data);
  },
};
