import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { labelDeprecation, termWarnings } from "../../../checks/warnings/node-labels.ts";
import { CSIStorageCapacity } from "../../../generated/storage/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import { defineKind } from "../../define.ts";

const csiStorageCapacityValidation = {
  create(errors: FieldErrors, object: CSIStorageCapacity): void {
    checkObject(errors, object);
    checkLabelSelector(errors.at("nodeTopology"), object.nodeTopology);
    errors.at("storageClassName").check(dnsSubdomain, object.storageClassName ?? "");
    if (object.capacity && Quantity.parse(object.capacity).sign < 0) {
      errors.at("capacity").invalid(object.capacity, "must be greater than or equal to 0");
    }
  },
  update(errors: FieldErrors, object: CSIStorageCapacity, old: CSIStorageCapacity): void {
    this.create(errors, object);
    checkObjectUpdate(errors, object, old);
    checkImmutable(errors.at("nodeTopology"), object.nodeTopology ?? null, old.nodeTopology, () =>
      internalForm("meta/v1.LabelSelector", object.nodeTopology, errors),
    );
    checkImmutable(errors.at("storageClassName"), object.storageClassName ?? "", old.storageClassName);
  },
};

function capacityWarnings({ nodeTopology }: CSIStorageCapacity): string[] {
  return [
    ...termWarnings("nodeTopology", { matchExpressions: nodeTopology?.matchExpressions ?? [] }, false),
    ...Object.keys(nodeTopology?.matchLabels ?? {}).flatMap((label) => {
      const why = labelDeprecation(label);
      return why === undefined ? [] : [`nodeTopology.matchLabels.${label}: ${why}`];
    }),
  ];
}

export const csiStorageCapacity = defineKind(CSIStorageCapacity, {
  validation: csiStorageCapacityValidation,
  warnings: capacityWarnings,
});
