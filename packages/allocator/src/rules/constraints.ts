import type { DeviceAttribute, DeviceConstraint } from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import { intersection, isDisjoint } from "./sets.ts";

const scalars = ["string", "int", "bool", "version"] as const;
const lists = [
  ["ints", "int"],
  ["bools", "bool"],
  ["strings", "string"],
  ["versions", "version"],
] as const;

/** The values of an attribute, comparable as text; what they are of comes first, so that 1 and "1" differ. */
export type Values = ReadonlySet<string>;

/** A rule over several devices of one claim, with what it has seen so far. */
export class AttributeConstraint {
  readonly kind: "matchAttribute" | "distinctAttribute";
  readonly attribute: string;
  /** Lists are sets of values (gate DRAListTypeAttributes). */
  readonly #lists: boolean;
  readonly #requests: ReadonlySet<string>;
  /** What was added: of matchAttribute what all have in common up to there. */
  readonly #seen: Values[] = [];
  readonly #devices: DeviceRecord[] = [];

  constructor(constraint: DeviceConstraint, kind: AttributeConstraint["kind"], lists: boolean) {
    this.kind = kind;
    this.attribute = constraint[kind]!;
    this.#lists = lists;
    this.#requests = new Set(constraint.requests);
  }

  /** A list that names a request covers its alternatives; `request/subrequest` covers only that one. */
  covers(request: string, subrequest: string | undefined): boolean {
    if (this.#requests.size === 0 || this.#requests.has(request)) return true;
    return subrequest !== undefined && this.#requests.has(`${request}/${subrequest}`);
  }

  /** Takes a device with that attribute; false: the rule would not hold, and nothing is taken. */
  add(attribute: DeviceAttribute | undefined, record: DeviceRecord): boolean {
    const seen = attribute === undefined ? undefined : this.#join(attribute);
    if (seen === undefined) return false;
    this.#seen.push(seen);
    this.#devices.push(record);
    return true;
  }

  /** Takes back the device that was added last. */
  remove(): void {
    this.#seen.pop();
    this.#devices.pop();
  }

  /** What further devices will be compared with, as text. */
  get state(): string {
    const seen = this.kind === "matchAttribute" ? this.#seen.slice(-1) : this.#seen;
    return seen.map(textOf).sort().join();
  }

  /** The device that stands in the way of another one with that attribute. */
  against(attribute: DeviceAttribute | undefined): DeviceRecord | undefined {
    if (attribute === undefined) return undefined;
    const values = valuesOf(attribute, this.#lists);
    if (this.kind === "matchAttribute") return this.#devices[0];
    return this.#devices.find((_, i) => !isDisjoint(this.#seen[i]!, values));
  }

  #join(attribute: DeviceAttribute): Values | undefined {
    const values = valuesOf(attribute, this.#lists);
    if (values.size === 0) return undefined;
    if (this.#seen.length === 0) return values;
    // A list may be the first device while lists are not known, but nothing is equal to it.
    if (values === unknownValue) return undefined;
    if (this.kind === "distinctAttribute") {
      return this.#seen.every((seen) => isDisjoint(seen, values)) ? values : undefined;
    }
    const common = intersection(this.#seen.at(-1)!, values);
    return common.size === 0 ? undefined : common;
  }
}

/** A list, while lists are not known. */
const unknownValue: Values = new Set(["unknown"]);
const noValues: Values = new Set();

/** What is compared of an attribute; empty: it cannot be. `asSets`: lists are known (gate DRAListTypeAttributes). */
export function valuesOf(attribute: DeviceAttribute | undefined, asSets: boolean): Values {
  if (attribute === undefined) return noValues;
  if (asSets) {
    const known = listValues.get(attribute) ?? listValuesOf(attribute);
    if (known !== undefined) return known;
  }
  const kind = scalars.find((kind) => attribute[kind] !== undefined);
  if (kind !== undefined) return new Set([`${kind} ${attribute[kind]}`]);
  return asSets ? noValues : unknownValue;
}

/**
 * Of attributes with lists, which one search compares again and again; those of the last searches only: a fleet has tens
 * of thousands of devices.
 */
const listValues = new Map<DeviceAttribute, Values>();
const maxListValues = 1024;

function listValuesOf(attribute: DeviceAttribute): Values | undefined {
  for (const [list, kind] of lists) {
    const values = attribute[list];
    if (values === undefined || values.length === 0) continue;
    const set = new Set([...values].map((value) => `${kind} ${value}`));
    if (listValues.size >= maxListValues) listValues.clear();
    listValues.set(attribute, set);
    return set;
  }
  return undefined;
}

/** The same text for equal values. */
export function textOf(values: Values): string {
  return JSON.stringify([...values].sort());
}

/** The attribute as its driver publishes it: by its full name, else, in the driver's own domain, by its short one. */
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
