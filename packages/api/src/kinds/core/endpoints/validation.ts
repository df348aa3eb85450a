import { checkLegacyAddress } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { EndpointAddress, Endpoints } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkEndpointAddress, protocols } from "../../networking/common.ts";
import { checkPort } from "../pod/probes.ts";

function checkOldAddress(
  errors: FieldErrors,
  path: string,
  address: EndpointAddress,
  version: KubernetesVersion,
): void {
  checkLegacyAddress(errors, `${path}.ip`, address.ip ?? "", { version });
  if (address.hostname) errors.check(dnsLabel, `${path}.hostname`, address.hostname);
  const { nodeName } = address;
  if (nodeName !== undefined && nodeName !== null) errors.check(dnsSubdomain, `${path}.nodeName`, nodeName);
  checkEndpointAddress(errors, `${path}.ip`, address.ip ?? "");
}

function checkSubsets(errors: FieldErrors, { subsets }: Endpoints, version: KubernetesVersion): void {
  (subsets ?? []).forEach((subset, index) => {
    const at = `subsets[${index}]`;
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      errors.required(at, "must specify `addresses` or `notReadyAddresses`");
    }
    addresses.forEach((address, place) => {
      checkOldAddress(errors, `${at}.addresses[${place}]`, address, version);
    });
    notReadyAddresses.forEach((address, place) => {
      checkOldAddress(errors, `${at}.notReadyAddresses[${place}]`, address, version);
    });
    ports.forEach(({ name, port, protocol, appProtocol }, place) => {
      const path = `${at}.ports[${place}]`;
      if (name) errors.check(dnsLabel, `${path}.name`, name);
      else if (ports.length > 1) errors.required(`${path}.name`);
      checkPort(errors, `${path}.port`, port ?? 0);
      errors.oneOf(`${path}.protocol`, protocol, protocols);
      if (appProtocol !== undefined && appProtocol !== null)
        errors.check(qualifiedName, `${path}.appProtocol`, appProtocol);
    });
  });
}

export const endpointsValidation = {
  create(errors: FieldErrors, object: Endpoints, { features }: ValidationContext): void {
    checkObject(errors, object);
    checkSubsets(errors, object, features.version);
  },
  update(errors: FieldErrors, object: Endpoints, old: Endpoints, { features }: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkObject(errors, object);
    const own = new FieldErrors();
    checkSubsets(own, object, features.version);
    if (!sameValue(object.subsets, old.subsets)) for (const each of own.list) errors.list.push(each);
  },
};
