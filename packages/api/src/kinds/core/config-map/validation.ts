import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { ConfigMap } from "../../../generated/core/v1.ts";
import { byteLength, isConfigMapKey } from "../../../values/names.ts";
import { checkFrozen, dataLimit, decodedLength } from "../data.ts";

function checkConfigData(errors: FieldErrors, object: ConfigMap): void {
  const { data = {}, binaryData = {} } = object;
  let size = 0;
  for (const key in data) {
    if (!errors.full) {
      errors.at("data").key(key).check(isConfigMapKey, key);
      if (Object.hasOwn(binaryData, key))
        errors.at("data").key(key).invalid(key, `duplicate of key present in binaryData`);
    }
    size += byteLength(data[key]!);
  }
  for (const key in binaryData) {
    if (!errors.full) errors.at("binaryData").key(key).check(isConfigMapKey, key);
    size += decodedLength(binaryData[key]!);
  }
  // Upstream has no name for the whole.
  if (size > dataLimit) errors.key("").tooLong(dataLimit);
}

export const configMapValidation = {
  create(errors: FieldErrors, object: ConfigMap): void {
    checkObject(errors, object);
    checkConfigData(errors, object);
  },
  update(errors: FieldErrors, object: ConfigMap, old: ConfigMap): void {
    checkObjectUpdate(errors, object, old);
    checkFrozen(errors, object, old);
    checkObject(errors, object);
    checkConfigData(errors, object);
  },
};
