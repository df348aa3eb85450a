import { labelDeprecation } from "../../../checks/warnings/node-labels.ts";
import { StorageClass } from "../../../generated/storage/v1.ts";
import { defineKind } from "../../define.ts";
import { storageClassValidation } from "./validation.ts";

function defaultStorageClass(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ??= "Delete";
  storageClass.volumeBindingMode ??= "Immediate";
}

function classWarnings({ allowedTopologies }: StorageClass): string[] {
  return (allowedTopologies ?? []).flatMap(({ matchLabelExpressions }, index) =>
    (matchLabelExpressions ?? []).flatMap(({ key }, place) => {
      const why = labelDeprecation(key);
      const path = `allowedTopologies[${index}].matchLabelExpressions[${place}].key`;
      return why === undefined ? [] : [`${path}: ${why}`];
    }),
  );
}

export const storageClass = defineKind(StorageClass, {
  defaults: defaultStorageClass,
  validation: storageClassValidation,
  warnings: classWarnings,
});
