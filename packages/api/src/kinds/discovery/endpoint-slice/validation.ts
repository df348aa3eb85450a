import {
  type AddressFamily,
  addressFamily,
  addressRule,
  checkLegacyAddress,
} from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { asTyped, checkImmutable, type FieldErrors, sameValue, seenBefore } from "../../../checks/field.ts";
import { checkLabels } from "../../../checks/metadata.ts";
import { checkObject } from "../../../checks/objects.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "../../../generated/discovery/v1.ts";
import { dnsLabel, dnsSubdomain, isLabelValue, qualifiedName } from "../../../values/names.ts";
import { checkEndpointAddress, protocols } from "../../networking/common.ts";

const limits = { endpoints: 1000, addresses: 100, ports: 20_000, hints: 8, topology: 16 } as const;
const types = ["FQDN", "IPv4", "IPv6"];

function checkIp(
  errors: FieldErrors,
  list: FieldErrors,
  address: string,
  { family, context }: { readonly family: AddressFamily; readonly context: ValidationContext },
): void {
  const before = errors.list.length;
  if (family === "IPv4") checkLegacyAddress(errors, address, { version: context.features.version });
  else errors.check(addressRule, address);
  if (errors.list.length > before) return;
  if (addressFamily(address) !== family) list.invalid(address, `must be an ${family} address`);
  checkEndpointAddress(errors, address, context);
}

function checkName(errors: FieldErrors, name: string): void {
  if (name === "") {
    errors.required();
    return;
  }
  const plain = name.replace(/\.$/, "");
  const problems = dnsSubdomain(plain);
  if (problems.length > 0) {
    errors.invalid(plain, problems.join(","));
    return;
  }
  const labels = plain.split(".");
  if (labels.length < 2) {
    errors.invalid(plain, "should be a domain with at least two segments separated by dots");
    return;
  }
  const wrong = labels.find((label) => dnsLabel(label).length > 0);
  if (wrong !== undefined) errors.invalid(wrong, dnsLabel(wrong).join(","));
}

function checkHints(errors: FieldErrors, { hints }: Endpoint): void {
  for (const [field, rule] of [
    ["forZones", isLabelValue],
    ["forNodes", dnsSubdomain],
  ] as const) {
    const list = hints?.[field] ?? [];
    if (list.length > limits.hints) {
      errors.at(field).tooMany(list.length, limits.hints);
      continue;
    }
    const repeated = seenBefore();
    list.forEach(({ name = "" }, index) => {
      const here = errors.at(field).index(index).at("name");
      if (repeated(name)) here.duplicate(name);
      here.check(rule, name);
    });
  }
}

function checkEndpoint(
  errors: FieldErrors,
  endpoint: Endpoint,
  type: string,
  context: ValidationContext,
): void {
  const addresses = endpoint.addresses ?? [];
  const list = errors.at("addresses");
  if (addresses.length === 0) list.required("must contain at least 1 address");
  else if (addresses.length > limits.addresses) list.tooMany(addresses.length, limits.addresses);
  addresses.forEach((address, index) => {
    const here = list.index(index);
    if (type === "FQDN") checkName(here, address);
    else if (type === "IPv4" || type === "IPv6") checkIp(here, list, address, { family: type, context });
  });
  const { nodeName, hostname, deprecatedTopology } = endpoint;
  if (nodeName !== undefined && nodeName !== null) errors.at("nodeName").check(dnsSubdomain, nodeName);
  const topology = Object.keys(deprecatedTopology ?? {}).length;
  if (topology > limits.topology) errors.at("deprecatedTopology").tooMany(topology, limits.topology);
  checkLabels(errors.at("deprecatedTopology"), deprecatedTopology);
  if (hostname !== undefined && hostname !== null) errors.at("hostname").check(dnsLabel, hostname);
  checkHints(errors.at("hints"), endpoint);
}

function checkPorts(errors: FieldErrors, ports: readonly EndpointPort[]): void {
  if (ports.length > limits.ports) {
    errors.at("ports").tooMany(ports.length, limits.ports);
    return;
  }
  const repeated = seenBefore();
  ports.forEach(({ name = "", protocol, appProtocol }, index) => {
    const here = errors.at("ports").index(index);
    if (name !== "") here.at("name").check(dnsLabel, name);
    if (repeated(name)) here.at("name").duplicate(name);
    if (protocol === undefined || protocol === null) here.at("protocol").required();
    else if (!protocols.includes(protocol)) here.at("protocol").notSupported(protocol, protocols);
    if (appProtocol !== undefined && appProtocol !== null)
      here.at("appProtocol").check(qualifiedName, appProtocol);
  });
}

function checkSlice(
  errors: FieldErrors,
  slice: EndpointSlice,
  context: ValidationContext,
  old?: EndpointSlice,
): void {
  checkObject(errors, slice);
  const type = slice.addressType ?? "";
  if (type === "") errors.at("addressType").required();
  else if (!types.includes(type)) errors.at("addressType").notSupported(type, types);
  const endpoints = slice.endpoints ?? [];
  if (old !== undefined && sameValue(endpoints, old.endpoints ?? [])) {
    // Endpoints equal to the stored ones are not checked again.
  } else if (endpoints.length > limits.endpoints) {
    errors.at("endpoints").tooMany(endpoints.length, limits.endpoints);
  } else {
    endpoints.forEach((endpoint, index) => {
      checkEndpoint(errors.at("endpoints").index(index), endpoint, type, context);
    });
  }
  checkPorts(errors, slice.ports ?? []);
}

export const endpointSliceValidation = {
  create: (errors: FieldErrors, slice: EndpointSlice, context: ValidationContext): void =>
    checkSlice(errors, slice, context),
  update(errors: FieldErrors, slice: EndpointSlice, old: EndpointSlice, context: ValidationContext): void {
    checkSlice(errors, slice, context, old);
    const type = slice.addressType ?? "";
    checkImmutable(errors.at("addressType"), type, old.addressType, () => asTyped(type));
  },
};
