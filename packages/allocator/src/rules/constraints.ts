import type { DeviceAttribute, DeviceConstraint } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import { type AttributeValues, textOf, unknownValue, type Values } from "./attribute-values.ts";
import { intersection, isDisjoint } from "./sets.ts";

/** A constraint over several devices of one claim, with the devices added so far. */
export class AttributeConstraint {
  readonly kind: "matchAttribute" | "distinctAttribute";
  readonly attribute: string;
  readonly #values: AttributeValues;
  readonly #requests: ReadonlySet<string>;
  /** Per added device its values; for matchAttribute what it and all devices before it have in common. */
  readonly #added: Values[] = [];
  readonly #devices: DeviceRecord[] = [];

  constructor(constraint: DeviceConstraint, kind: AttributeConstraint["kind"], values: AttributeValues) {
    this.kind = kind;
    this.attribute = constraint[kind]!;
    this.#values = values;
    this.#requests = new Set(constraint.requests);
  }

  /** The name of a request includes its alternatives; `request/subrequest` names one alternative. */
  covers(request: string, subrequest: string | undefined): boolean {
    if (this.#requests.size === 0 || this.#requests.has(request)) return true;
    return subrequest !== undefined && this.#requests.has(`${request}/${subrequest}`);
  }

  /** Adds a device with this attribute. Returns false and adds nothing if that would break the constraint. */
  add(attribute: DeviceAttribute | undefined, record: DeviceRecord): boolean {
    const values = attribute === undefined ? undefined : this.#combined(attribute);
    if (values === undefined) return false;
    this.#added.push(values);
    this.#devices.push(record);
    return true;
  }

  /** Removes the device that was added last. */
  removeLast(): void {
    this.#added.pop();
    this.#devices.pop();
  }

  /** The values with which the next device is compared, as text. */
  get state(): string {
    const values = this.kind === "matchAttribute" ? this.#added.slice(-1) : this.#added;
    return values.map(textOf).sort().join();
  }

  /** Returns the added device that a device with this attribute conflicts with. */
  conflict(attribute: DeviceAttribute | undefined): DeviceRecord | undefined {
    if (attribute === undefined) return undefined;
    const values = this.#values.of(attribute);
    if (this.kind === "matchAttribute") return this.#devices[0];
    return this.#devices.find((_, i) => !isDisjoint(this.#added[i]!, values));
  }

  #combined(attribute: DeviceAttribute): Values | undefined {
    const values = this.#values.of(attribute);
    if (values.size === 0) return undefined;
    const last = this.#added.at(-1);
    if (last === undefined) return values;
    // While list types are off, a list may come first, but equals nothing.
    if (values === unknownValue) return undefined;
    if (this.kind === "distinctAttribute") {
      return this.#added.every((other) => isDisjoint(other, values)) ? values : undefined;
    }
    const common = intersection(last, values);
    return common.size === 0 ? undefined : common;
  }
}

/**
 * Returns an attribute as its driver publishes it: by its full name, or, in the driver's own domain, by its
 * name without the domain.
 */
export function publishedAttribute(record: DeviceRecord, name: string): DeviceAttribute | undefined {
  const attributes = record.device.attributes;
  if (attributes === undefined) return undefined;
  const full = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (full !== undefined) return full;
  const slash = name.indexOf("/");
  if (slash < 0 || name.slice(0, slash) !== record.driver) return undefined;
  const short = name.slice(slash + 1);
  return Object.hasOwn(attributes, short) ? attributes[short] : undefined;
}
