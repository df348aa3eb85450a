import { asTyped, type FieldErrors } from "../../checks/field.ts";
import { byteLength, dnsLabel, dnsSubdomain, isCIdentifier } from "../../values/names.ts";

/** Limits of resource.k8s.io, in bytes, items or units of cost. */
export const limits = {
  driverName: 63,
  poolName: 253,
  identifier: 32,
  requests: 32,
  constraints: 32,
  config: 32,
  results: 32,
  allocationConfig: 64,
  alternatives: 8,
  selectors: 32,
  reservedFor: 256,
  expression: 10 * 1024,
  expressionCost: 1_000_000,
  rawData: 10 * 1024,
  devices: 128,
  devicesWithAdvancedFeatures: 64,
  attributesAndCapacity: 32,
  attributeValues: 48,
  attributeValue: 64,
  taints: 16,
  counterSets: 8,
  countersPerSet: 32,
  consumedSets: 2,
  compatibilityGroups: 2,
  derivedAttributes: 32,
  bindingConditions: 4,
  validValues: 10,
  conditions: 8,
  addresses: 16,
  interfaceName: 256,
  hardwareAddress: 128,
} as const;

/** A DNS subdomain of at most 63 bytes, in either case. */
export function checkDriverName(errors: FieldErrors, name: string | undefined): void {
  if (!name) {
    errors.required();
    return;
  }
  if (byteLength(name) > limits.driverName) errors.tooLong(limits.driverName);
  for (const problem of dnsSubdomain(name.toLowerCase())) errors.invalid(name, problem);
}

/** DNS subdomains with slashes between them. */
export function checkPoolName(errors: FieldErrors, name: string | undefined): void {
  if (!name) {
    errors.required();
    return;
  }
  if (byteLength(name) > limits.poolName) errors.tooLong(limits.poolName);
  for (const part of name.split("/")) errors.check(dnsSubdomain, part);
}

export function checkDeviceName(errors: FieldErrors, name: string | undefined): void {
  errors.check(dnsLabel, name ?? "");
}

function checkIdentifier(errors: FieldErrors, name: string): void {
  if (byteLength(name) > limits.identifier) errors.tooLong(limits.identifier);
  errors.check(isCIdentifier, name);
}

/**
 * Name of an attribute or a capacity: a C identifier, with a domain and a slash before it or not. Names with
 * more slashes pass, as they do upstream up to 1.36.
 */
export function checkQualifiedName(errors: FieldErrors, name: string): void {
  const parts = name.split("/");
  const [first = "", second = ""] = parts;
  if (parts.length === 1) checkIdentifier(errors, first);
  if (parts.length !== 2) return;
  if (first === "") errors.invalid("", "the domain must not be empty");
  else checkDriverName(errors, first);
  if (second === "") errors.invalid("", "the name must not be empty");
  else checkIdentifier(errors, second);
}

/** A qualified name that has a domain. */
export function checkFullyQualifiedName(errors: FieldErrors, name: string): void {
  checkQualifiedName(errors, name);
  if (!name.includes("/")) {
    errors.invalid(asTyped(name), "a fully qualified name must be a domain and a name separated by a slash");
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A share ID: a UUID in lower case. */
export function checkShareId(errors: FieldErrors, id: string): void {
  const lengths = [36, 36 + 9, 38, 32];
  if (!lengths.includes(id.length)) {
    errors.invalid(id, `error validating uid: invalid UUID length: ${id.length}`);
  } else if (id.length === 36 && !uuid.test(id)) {
    errors.invalid(id, "error validating uid: invalid UUID format");
  } else if (id.length !== 36 || id !== id.toLowerCase()) {
    errors.invalid(
      id,
      "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters",
    );
  }
}

/** A JSON object of limited size: parameters of a driver, data of a device. */
export function checkRawData(errors: FieldErrors, data: unknown, stored: boolean): void {
  if (data === undefined || data === null) {
    errors.required();
    return;
  }
  const text = JSON.stringify(data, (_key, item: unknown) =>
    typeof item === "bigint" ? Number(item) : item,
  );
  if (!stored && byteLength(text) > limits.rawData) errors.tooLong(limits.rawData);
  else if (typeof data !== "object" || Array.isArray(data)) {
    errors.invalid("<value omitted>", "must be a valid JSON object");
  }
}

const pathForm = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathPattern = new RegExp(`^${pathForm}$`);

/** A path below a domain, `example.com/name`: of managers, finalizers and the like. */
export function checkDomainPath(errors: FieldErrors, value: string): void {
  if (value === "") {
    errors.required();
    return;
  }
  const at = value.indexOf("/");
  if (at <= 0 || at === value.length - 1) {
    errors.invalid(value, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  errors.check(dnsSubdomain, value.slice(0, at));
  const rest = value.slice(at + 1);
  if (!pathPattern.test(rest)) {
    errors.invalid(rest, `Invalid path (regex used for validation is '${pathForm}')`);
  }
}
