import { checkLegacyAddress } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { EndpointAddress, Endpoints } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkEndpointAddress, protocols } from "../../networking/common.ts";
import { checkPort } from "../pod/probes.ts";

function checkOldAddress(errors: FieldErrors, address: EndpointAddress, context: ValidationContext): void {
  checkLegacyAddress(errors.at("ip"), address.ip ?? "", { version: context.features.version });
  if (address.hostname) errors.at("hostname").check(dnsLabel, address.hostname);
  const { nodeName } = address;
  if (nodeName !== undefined && nodeName !== null) errors.at("nodeName").check(dnsSubdomain, nodeName);
  checkEndpointAddress(errors.at("ip"), address.ip ?? "", context);
}

function checkSubsets(errors: FieldErrors, { subsets }: Endpoints, context: ValidationContext): void {
  (subsets ?? []).forEach((subset, index) => {
    const here = errors.at("subsets").index(index);
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      here.required("must specify `addresses` or `notReadyAddresses`");
    }
    addresses.forEach((address, place) => {
      checkOldAddress(here.at("addresses").index(place), address, context);
    });
    notReadyAddresses.forEach((address, place) => {
      checkOldAddress(here.at("notReadyAddresses").index(place), address, context);
    });
    ports.forEach(({ name, port, protocol, appProtocol }, place) => {
      const each = here.at("ports").index(place);
      if (name) each.at("name").check(dnsLabel, name);
      else if (ports.length > 1) each.at("name").required();
      checkPort(each.at("port"), port ?? 0);
      each.at("protocol").oneOf(protocol, protocols);
      if (appProtocol !== undefined && appProtocol !== null)
        each.at("appProtocol").check(qualifiedName, appProtocol);
    });
  });
}

export const endpointsValidation = {
  create(errors: FieldErrors, object: Endpoints, context: ValidationContext): void {
    checkObject(errors, object);
    checkSubsets(errors, object, context);
  },
  update(errors: FieldErrors, object: Endpoints, old: Endpoints, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkObject(errors, object);
    const own = errors.detached();
    checkSubsets(own, object, context);
    if (!sameValue(object.subsets, old.subsets)) errors.addAll(own.list);
  },
};
