import { checkImmutable, type FieldErrors, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkObject } from "../../../checks/objects.ts";
import type { CSINode, CSINodeDriver } from "../../../generated/storage/v1.ts";
import { dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkDriver } from "../../core/pod/volume-sources.ts";
import { limits } from "../class-parameters.ts";

function checkDrivers(errors: FieldErrors, { spec }: CSINode): void {
  const drivers = spec?.drivers ?? [];
  const repeated = seenBefore();
  drivers.forEach((driver, index) => {
    const here = errors.at("spec.drivers").index(index);
    checkDriver(here.at("name"), driver.name);
    const id = driver.nodeID ?? "";
    if (id === "") here.at("nodeID").required();
    if (id.length > limits.nodeId) {
      here.at("nodeID").invalid(id, `must be ${limits.nodeId} characters or less`);
    }
    here.at("allocatable.count").notNegative(driver.allocatable?.count);
    if (repeated(driver.name)) here.at("name").duplicate(driver.name);
    // Upstream's paths end with the driver here.
    const keys = driver.topologyKeys ?? [];
    const repeatedKey = seenBefore();
    keys.forEach((key) => {
      if (key === "") here.required();
      if (repeatedKey(key)) here.duplicate(key);
      here.check(qualifiedName, key);
    });
  });
}

export const csiNodeValidation = {
  create(errors: FieldErrors, object: CSINode): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkDrivers(errors, object);
  },
  update(errors: FieldErrors, object: CSINode, old: CSINode): void {
    this.create(errors, object);
    const drivers = new Map<string | undefined, CSINodeDriver[]>();
    for (const driver of object.spec?.drivers ?? []) {
      const named = drivers.get(driver.name);
      if (named === undefined) drivers.set(driver.name, [driver]);
      else named.push(driver);
    }
    for (const before of old.spec?.drivers ?? []) {
      for (const driver of drivers.get(before.name) ?? []) {
        const [{ allocatable: _now, ...now }, { allocatable: _then, ...then }] = [driver, before];
        const printed = (): unknown =>
          internalForm("storage/v1.CSINodeDriver", errors.provenance.keepEmpty(now, driver), errors);
        checkImmutable(errors.at("spec.drivers"), now, then, printed);
      }
    }
  },
};
