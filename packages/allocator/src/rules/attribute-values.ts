import type { DeviceAttribute } from "@dray/api/resource/v1";

/** The values of an attribute as text. Each begins with its type: 1 and "1" are different values. */
export type Values = ReadonlySet<string>;

const scalars = ["string", "int", "bool", "version"] as const;
const lists = [
  ["ints", "int"],
  ["bools", "bool"],
  ["strings", "string"],
  ["versions", "version"],
] as const;

const noValues: Values = new Set();
/** The value of every list while the feature is off. */
export const unknownValue: Values = new Set(["unknown"]);

/** Maximum number of memoized lists. */
const maxLists = 1024;

/** Reads the values that constraints compare. Memoizes lists, which one search compares many times. */
export class AttributeValues {
  /** Feature gate DRAListTypeAttributes (KEP-5491): an attribute is a set of values. */
  readonly #listTypeAttributes: boolean;
  readonly #lists = new Map<DeviceAttribute, Values>();

  constructor(listTypeAttributes: boolean) {
    this.#listTypeAttributes = listTypeAttributes;
  }

  /** Returns the empty set for an attribute that cannot be compared. */
  of(attribute: DeviceAttribute | undefined): Values {
    if (attribute === undefined) return noValues;
    if (this.#listTypeAttributes) {
      const values = this.#lists.get(attribute) ?? this.#listOf(attribute);
      if (values !== undefined) return values;
    }
    const type = scalars.find((type) => attribute[type] !== undefined);
    if (type !== undefined) return new Set([`${type} ${attribute[type]}`]);
    return this.#listTypeAttributes ? noValues : unknownValue;
  }

  #listOf(attribute: DeviceAttribute): Values | undefined {
    for (const [list, type] of lists) {
      const items = attribute[list];
      if (items === undefined || items.length === 0) continue;
      const values = new Set([...items].map((item) => `${type} ${item}`));
      if (this.#lists.size >= maxLists) this.#lists.clear();
      this.#lists.set(attribute, values);
      return values;
    }
    return undefined;
  }
}

/** Returns equal texts for equal sets of values. */
export function textOf(values: Values): string {
  return JSON.stringify([...values].sort());
}
