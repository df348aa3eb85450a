import { parseSemanticVersion, Quantity, QuantityError } from "@dray/api";
import type { DeviceAttribute, DeviceCapacity } from "@dray/api/resource/v1";
import { DomainMap } from "../values/domain-map.ts";
import { StringMap } from "../values/maps.ts";
import { CelError, MapValue, QuantityValue, SemverValue, type Value } from "../values/value.ts";

/** The parts of a device that selectors can read. Names without a domain belong to the driver's domain. */
export interface DeviceInput {
  readonly driver: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly allowMultipleAllocations?: boolean;
}

type Domains = ReadonlyMap<string, StringMap>;

const noDomains: Domains = new Map();

/** A device that is converted once for many evaluations. Its input must not change. */
export class PreparedDevice {
  readonly driver: string;
  readonly allowMultipleAllocations: boolean;
  /** By domain and id. */
  readonly attributes: Domains;
  /** The error of an invalid attribute: every expression fails with it. */
  readonly error: CelError | undefined;
  readonly #input: DeviceInput["capacity"];
  #capacity: Domains | undefined;
  #value: MapValue | undefined;

  constructor(input: DeviceInput) {
    this.driver = input.driver;
    this.allowMultipleAllocations = input.allowMultipleAllocations ?? false;
    let error: CelError | undefined;
    this.attributes = byDomain(input.attributes, input.driver, (attribute, name) => {
      const value = attributeValue(attribute);
      if (value instanceof CelError) error ??= new CelError(`attribute ${name}: ${value.message}`);
      return value;
    });
    this.error = error;
    this.#input = input.capacity;
  }

  /** By domain and id. Converted at the first use. */
  get capacity(): Domains {
    this.#capacity ??= byDomain(this.#input, this.driver, capacityValue);
    return this.#capacity;
  }

  /** The variable `device`, for expressions that use the device or its maps as a whole. */
  get value(): MapValue {
    this.#value ??= new DeviceMap(this);
    return this.#value;
  }
}

const fields = ["driver", "allowMultipleAllocations", "attributes", "capacity"];

/** The device as a map of its fields. */
class DeviceMap extends MapValue {
  readonly #device: PreparedDevice;
  #attributes: DomainMap | undefined;
  #capacity: DomainMap | undefined;

  constructor(device: PreparedDevice) {
    super();
    this.#device = device;
  }

  find(key: Value): Value | undefined {
    switch (key) {
      case "driver":
        return this.#device.driver;
      case "allowMultipleAllocations":
        return this.#device.allowMultipleAllocations;
      case "attributes":
        this.#attributes ??= new DomainMap(this.#device.attributes);
        return this.#attributes;
      case "capacity":
        this.#capacity ??= new DomainMap(this.#device.capacity);
        return this.#capacity;
      default:
        return undefined;
    }
  }

  has(key: Value): boolean {
    return fields.includes(key as string);
  }

  keys(): Iterable<Value> {
    return fields;
  }

  get size(): number {
    return fields.length;
  }
}

/** A name without a domain belongs to the driver's domain. The same name with the domain has precedence. */
function byDomain<T>(
  entries: Readonly<Record<string, T>> | undefined,
  driver: string,
  read: (entry: T, name: string) => Value,
): Domains {
  if (entries === undefined) return noDomains;
  const maps = new Map<string, Map<string, Value>>();
  for (const name of Object.keys(entries)) {
    const value = read(entries[name]!, name);
    const slash = name.indexOf("/");
    const domain = slash < 0 ? driver : name.slice(0, slash);
    const id = slash < 0 ? name : name.slice(slash + 1);
    let ids = maps.get(domain);
    if (ids === undefined) {
      ids = new Map();
      maps.set(domain, ids);
    }
    if (slash >= 0 || !ids.has(id)) ids.set(id, value);
  }
  const domains = new Map<string, StringMap>();
  for (const [domain, ids] of maps) domains.set(domain, new StringMap(ids));
  return domains;
}

function capacityValue({ value }: DeviceCapacity): Value {
  try {
    return new QuantityValue(Quantity.parse(value), value);
  } catch (error) {
    // The API server rejects such a capacity.
    if (error instanceof QuantityError) return new CelError(error.message);
    throw error;
  }
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
  const version = parseSemanticVersion(text);
  return typeof version === "string"
    ? new CelError(`parse semantic version: ${version}`)
    : new SemverValue(version);
}
