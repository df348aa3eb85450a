import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkObject } from "../../../checks/objects.ts";
import { keepEmpty } from "../../../codec/empty.ts";
import type { CSINode } from "../../../generated/storage/v1.ts";
import { dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkDriver } from "../../core/pod/volume-sources.ts";
import { limits } from "../class-parameters.ts";

function checkDrivers(errors: FieldErrors, { spec }: CSINode): void {
  const drivers = spec?.drivers ?? [];
  const repeated = seenBefore();
  drivers.forEach((driver, index) => {
    const at = `spec.drivers[${index}]`;
    checkDriver(errors, `${at}.name`, driver.name);
    const id = driver.nodeID ?? "";
    if (id === "") errors.required(`${at}.nodeID`);
    if (id.length > limits.nodeId) {
      errors.invalid(`${at}.nodeID`, id, `must be ${limits.nodeId} characters or less`);
    }
    errors.notNegative(`${at}.allocatable.count`, driver.allocatable?.count);
    if (repeated(driver.name)) errors.duplicate(`${at}.name`, driver.name);
    // Upstream's paths end with the driver here.
    const keys = driver.topologyKeys ?? [];
    const repeatedKey = seenBefore();
    keys.forEach((key) => {
      if (key === "") errors.required(at);
      if (repeatedKey(key)) errors.duplicate(at, key);
      errors.check(qualifiedName, at, key);
    });
  });
}

export const csiNodeValidation = {
  create(errors: FieldErrors, object: CSINode): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkDrivers(errors, object);
  },
  update(errors: FieldErrors, object: CSINode, old: CSINode, { features }: ValidationContext): void {
    this.create(errors, object);
    for (const before of old.spec?.drivers ?? []) {
      for (const driver of object.spec?.drivers ?? []) {
        if (driver.name !== before.name) continue;
        const [{ allocatable: _now, ...now }, { allocatable: _then, ...then }] = [driver, before];
        const printed = (): unknown =>
          internalForm("storage/v1.CSINodeDriver", keepEmpty(now, driver), features.version);
        checkImmutable(errors, "spec.drivers", now, then, printed);
      }
    }
  },
};
