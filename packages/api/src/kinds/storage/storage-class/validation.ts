import { checkImmutable, type FieldErrors, printedMap, seenBefore } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { TopologySelectorTerm } from "../../../generated/core/v1.ts";
import type { StorageClass } from "../../../generated/storage/v1.ts";
import { dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkParameters, checkProvisioner } from "../class-parameters.ts";

function checkTopologies(errors: FieldErrors, terms: readonly TopologySelectorTerm[]): void {
  const before = new Map<string, number>();
  terms.forEach(({ matchLabelExpressions }, index) => {
    const here = errors.at("allowedTopologies").index(index).at("matchLabelExpressions");
    const expressions = matchLabelExpressions ?? [];
    const repeatedKey = seenBefore();
    expressions.forEach(({ key = "", values: given }, place) => {
      const values = given ?? [];
      const each = here.index(place);
      if (values.length === 0) each.at("values").required();
      const repeated = seenBefore();
      values.forEach((value, position) => {
        if (repeated(value)) each.at("values").index(position).duplicate(value);
      });
      each.at("key").check(qualifiedName, key);
      if (repeatedKey(key)) each.at("key").duplicate(key);
    });
    const plain = new Map(expressions.map(({ key = "", values }) => [key, [...(values ?? [])].sort()]));
    const text = JSON.stringify([...plain].sort(([a], [b]) => (a < b ? -1 : 1)));
    const same = before.get(text) ?? 0;
    before.set(text, same + 1);
    // Upstream's list of those before starts with as many empty terms as there are terms.
    const times = same + (expressions.length === 0 ? terms.length : 0);
    for (let time = 0; time < times && !here.full; time++) here.duplicate("");
  });
}

export const storageClassValidation = {
  create(errors: FieldErrors, object: StorageClass): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkProvisioner(errors.at("provisioner"), object.provisioner);
    checkParameters(errors, object.parameters, true);
    const policies = ["Delete", "Retain"];
    const policy = object.reclaimPolicy;
    if (policy && !policies.includes(policy)) errors.at("reclaimPolicy").notSupported(policy, policies);
    const modes = ["Immediate", "WaitForFirstConsumer"];
    const mode = object.volumeBindingMode;
    if (mode === undefined || mode === null) errors.at("volumeBindingMode").required();
    else if (!modes.includes(mode)) errors.at("volumeBindingMode").notSupported(mode, modes);
    checkTopologies(errors, object.allowedTopologies ?? []);
  },
  update(errors: FieldErrors, object: StorageClass, old: StorageClass): void {
    this.create(errors, object);
    checkObjectUpdate(errors, object, old);
    checkImmutable(errors.at("parameters"), object.parameters, old.parameters, () =>
      printedMap(errors, object, "parameters"),
    );
    for (const name of ["provisioner", "reclaimPolicy", "volumeBindingMode"] as const) {
      checkImmutable(errors.at(name), object[name], old[name]);
    }
  },
};
