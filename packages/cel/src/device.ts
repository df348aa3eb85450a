import { Quantity } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import type { DeviceInput } from "./environment.ts";
import { CelError, type MapValue, QuantityValue, SemverValue, StringMap, type Value } from "./values.ts";
import { parseVersion } from "./version.ts";

/** A map of domains in which a domain that is not there is found all the same, as an empty map. */
class DomainMap extends StringMap {
  override find(key: Value): Value | undefined {
    return super.find(key) ?? noEntries;
  }
}

const noEntries = new StringMap(new Map());

/** The variable `device`; an error where an attribute cannot be read, whatever the expression asks for. */
export function deviceValue(device: DeviceInput): MapValue | CelError {
  const attributes = new Map<string, Map<string, Value>>();
  for (const [name, attribute] of Object.entries(device.attributes ?? {})) {
    const value = attributeValue(attribute);
    if (value instanceof CelError) return new CelError(`attribute ${name}: ${value.message}`);
    put(attributes, name, device.driver, value);
  }
  const capacity = new Map<string, Map<string, Value>>();
  for (const [name, { value }] of Object.entries(device.capacity ?? {})) {
    put(capacity, name, device.driver, new QuantityValue(Quantity.parse(value)));
  }
  return new StringMap(
    new Map<string, Value>([
      ["driver", device.driver],
      ["allowMultipleAllocations", device.allowMultipleAllocations ?? false],
      ["attributes", byDomain(attributes)],
      ["capacity", byDomain(capacity)],
    ]),
  );
}

function byDomain(domains: ReadonlyMap<string, ReadonlyMap<string, Value>>): MapValue {
  return new DomainMap(new Map([...domains].map(([domain, ids]) => [domain, new StringMap(ids)])));
}

/** A name without domain is of the driver's; of both spellings the qualified one wins. */
function put(domains: Map<string, Map<string, Value>>, name: string, driver: string, value: Value): void {
  const slash = name.indexOf("/");
  const domain = slash < 0 ? driver : name.slice(0, slash);
  const id = name.slice(slash + 1);
  const ids = domains.get(domain) ?? new Map<string, Value>();
  domains.set(domain, ids);
  if (slash >= 0 || !ids.has(id)) ids.set(id, value);
}

function attributeValue(attribute: DeviceAttribute): Value {
  if (attribute.ints !== undefined) return attribute.ints.map(BigInt);
  if (attribute.bools !== undefined) return attribute.bools;
  if (attribute.strings !== undefined) return attribute.strings;
  if (attribute.versions !== undefined) {
    const versions = attribute.versions.map(versionValue);
    return versions.find((version) => version instanceof CelError) ?? versions;
  }
  if (attribute.int !== undefined) return BigInt(attribute.int);
  if (attribute.bool !== undefined) return attribute.bool;
  if (attribute.string !== undefined) return attribute.string;
  if (attribute.version !== undefined) return versionValue(attribute.version);
  return new CelError("unsupported attribute value");
}

function versionValue(text: string): Value {
  const version = parseVersion(text);
  return typeof version === "string"
    ? new CelError(`parse semantic version: ${version}`)
    : new SemverValue(version);
}
