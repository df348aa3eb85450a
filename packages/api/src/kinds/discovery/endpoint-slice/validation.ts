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
import type { KubernetesVersion } from "../../../features/features.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "../../../generated/discovery/v1.ts";
import { dnsLabel, dnsSubdomain, isLabelValue, qualifiedName } from "../../../values/names.ts";
import { checkEndpointAddress, protocols } from "../../networking/common.ts";

const limits = { endpoints: 1000, addresses: 100, ports: 20_000, hints: 8, topology: 16 } as const;
const types = ["FQDN", "IPv4", "IPv6"];

function checkIp(
  errors: FieldErrors,
  path: string,
  list: string,
  address: string,
  family: AddressFamily,
  version: KubernetesVersion,
): void {
  const before = errors.list.length;
  if (family === "IPv4") checkLegacyAddress(errors, path, address, { version });
  else errors.check(addressRule, path, address);
  if (errors.list.length > before) return;
  if (addressFamily(address) !== family) errors.invalid(list, address, `must be an ${family} address`);
  checkEndpointAddress(errors, path, address);
}

function checkName(errors: FieldErrors, path: string, name: string): void {
  if (name === "") {
    errors.required(path);
    return;
  }
  const plain = name.replace(/\.$/, "");
  const problems = dnsSubdomain(plain);
  if (problems.length > 0) {
    errors.invalid(path, plain, problems.join(","));
    return;
  }
  const labels = plain.split(".");
  if (labels.length < 2) {
    errors.invalid(path, plain, "should be a domain with at least two segments separated by dots");
    return;
  }
  const wrong = labels.find((label) => dnsLabel(label).length > 0);
  if (wrong !== undefined) errors.invalid(path, wrong, dnsLabel(wrong).join(","));
}

function checkHints(errors: FieldErrors, path: string, { hints }: Endpoint): void {
  for (const [field, rule] of [
    ["forZones", isLabelValue],
    ["forNodes", dnsSubdomain],
  ] as const) {
    const list = hints?.[field] ?? [];
    if (list.length > limits.hints) {
      errors.tooMany(`${path}.${field}`, list.length, limits.hints);
      continue;
    }
    const repeated = seenBefore();
    list.forEach(({ name = "" }, index) => {
      const at = `${path}.${field}[${index}].name`;
      if (repeated(name)) errors.duplicate(at, name);
      errors.check(rule, at, name);
    });
  }
}

function checkEndpoint(
  errors: FieldErrors,
  path: string,
  endpoint: Endpoint,
  type: string,
  version: KubernetesVersion,
): void {
  const addresses = endpoint.addresses ?? [];
  const list = `${path}.addresses`;
  if (addresses.length === 0) errors.required(list, "must contain at least 1 address");
  else if (addresses.length > limits.addresses) errors.tooMany(list, addresses.length, limits.addresses);
  addresses.forEach((address, index) => {
    const at = `${list}[${index}]`;
    if (type === "FQDN") checkName(errors, at, address);
    else if (type === "IPv4" || type === "IPv6") checkIp(errors, at, list, address, type, version);
  });
  const { nodeName, hostname, deprecatedTopology } = endpoint;
  if (nodeName !== undefined && nodeName !== null) errors.check(dnsSubdomain, `${path}.nodeName`, nodeName);
  const topology = Object.keys(deprecatedTopology ?? {}).length;
  if (topology > limits.topology) errors.tooMany(`${path}.deprecatedTopology`, topology, limits.topology);
  checkLabels(errors, `${path}.deprecatedTopology`, deprecatedTopology);
  if (hostname !== undefined && hostname !== null) errors.check(dnsLabel, `${path}.hostname`, hostname);
  checkHints(errors, `${path}.hints`, endpoint);
}

function checkPorts(errors: FieldErrors, ports: readonly EndpointPort[]): void {
  if (ports.length > limits.ports) {
    errors.tooMany("ports", ports.length, limits.ports);
    return;
  }
  const repeated = seenBefore();
  ports.forEach(({ name = "", protocol, appProtocol }, index) => {
    const at = `ports[${index}]`;
    if (name !== "") errors.check(dnsLabel, `${at}.name`, name);
    if (repeated(name)) errors.duplicate(`${at}.name`, name);
    if (protocol === undefined || protocol === null) errors.required(`${at}.protocol`);
    else if (!protocols.includes(protocol)) errors.notSupported(`${at}.protocol`, protocol, protocols);
    if (appProtocol !== undefined && appProtocol !== null)
      errors.check(qualifiedName, `${at}.appProtocol`, appProtocol);
  });
}

function checkSlice(
  errors: FieldErrors,
  slice: EndpointSlice,
  { features: { version } }: ValidationContext,
  old?: EndpointSlice,
): void {
  checkObject(errors, slice);
  const type = slice.addressType ?? "";
  if (type === "") errors.required("addressType");
  else if (!types.includes(type)) errors.notSupported("addressType", type, types);
  const endpoints = slice.endpoints ?? [];
  if (old !== undefined && sameValue(endpoints, old.endpoints ?? [])) {
    // Endpoints equal to the stored ones are not checked again.
  } else if (endpoints.length > limits.endpoints) {
    errors.tooMany("endpoints", endpoints.length, limits.endpoints);
  } else {
    endpoints.forEach((endpoint, index) => {
      checkEndpoint(errors, `endpoints[${index}]`, endpoint, type, version);
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
    checkImmutable(errors, "addressType", type, old.addressType, () => asTyped(type));
  },
};
