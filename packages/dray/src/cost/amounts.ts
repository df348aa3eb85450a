import { Quantity } from "@dray/api";
import type { ClassCost, Held, Range } from "./data.ts";

const zero = Quantity.of(0);

/** Ranges of quantities by name; an absent one is zero. */
export type Ranges = ReadonlyMap<string, Range<Quantity>>;

/** Devices and parts of devices that are held, to be added up. */
export interface HeldAmounts {
  readonly devices: Range<Quantity>;
  readonly capacity: Ranges;
  readonly counters: Ranges;
}

/** By the name of their class. */
export type ByClass = ReadonlyMap<string, HeldAmounts>;

const noRange: Range<Quantity> = { least: zero, most: zero };
export const nothing: HeldAmounts = { devices: noRange, capacity: new Map(), counters: new Map() };

export const exactly = (quantity: Quantity): Range<Quantity> => ({ least: quantity, most: quantity });

const smaller = (a: Quantity, b: Quantity): Quantity => (a.compare(b) <= 0 ? a : b);
const larger = (a: Quantity, b: Quantity): Quantity => (a.compare(b) >= 0 ? a : b);

type Combine = (a: Range<Quantity>, b: Range<Quantity>) => Range<Quantity>;

/** Both at once. */
const add: Combine = (a, b) => ({ least: a.least.add(b.least), most: a.most.add(b.most) });
/** Either of them. */
const span: Combine = (a, b) => ({
  least: smaller(a.least, b.least),
  most: larger(a.most, b.most),
});

function combineRanges(a: Ranges, b: Ranges, combine: Combine): Ranges {
  const names = new Set([...a.keys(), ...b.keys()]);
  return new Map([...names].map((name) => [name, combine(a.get(name) ?? noRange, b.get(name) ?? noRange)]));
}

const combineHeld = (a: HeldAmounts, b: HeldAmounts, combine: Combine): HeldAmounts => ({
  devices: combine(a.devices, b.devices),
  capacity: combineRanges(a.capacity, b.capacity, combine),
  counters: combineRanges(a.counters, b.counters, combine),
});

/** Returns what either of them holds. */
export const either = (a: HeldAmounts, b: HeldAmounts): HeldAmounts => combineHeld(a, b, span);

function combineClasses(a: ByClass, b: ByClass, combine: Combine): ByClass {
  const names = new Set([...a.keys(), ...b.keys()]);
  return new Map(
    [...names].map((name) => [name, combineHeld(a.get(name) ?? nothing, b.get(name) ?? nothing, combine)]),
  );
}

/** Returns what all of them hold together. */
export const sumOf = (parts: readonly ByClass[]): ByClass =>
  parts.reduce((a, b) => combineClasses(a, b, add), new Map() as ByClass);

/** Returns what one of them holds, whichever it is. */
export const anyOf = ([first = new Map(), ...others]: readonly ByClass[]): ByClass =>
  others.reduce((a, b) => combineClasses(a, b, span), first);

/** Returns the amounts of `count` equal holders. */
export function times(amounts: ByClass, count: number): ByClass {
  const scaled = ({ least, most }: Range<Quantity>): Range<Quantity> => ({
    least: least.multiply(count),
    most: most.multiply(count),
  });
  const all = (ranges: Ranges): Ranges => new Map([...ranges].map(([name, range]) => [name, scaled(range)]));
  return new Map(
    [...amounts].map(([name, { devices, capacity, counters }]) => [
      name,
      { devices: scaled(devices), capacity: all(capacity), counters: all(counters) },
    ]),
  );
}

/** Returns plain data, sorted by class. */
export function classCosts(amounts: ByClass): ClassCost[] {
  return [...amounts]
    .map(([name, held]) => ({ class: name, ...heldData(held) }))
    .sort((a, b) => (a.class < b.class ? -1 : 1));
}

export function heldData({ devices, capacity, counters }: HeldAmounts): Held {
  return {
    devices: { least: wholeNumber(devices.least), most: wholeNumber(devices.most) },
    capacity: rangesData(capacity),
    counters: rangesData(counters),
  };
}

function rangesData(ranges: Ranges): Record<string, Range<string>> {
  const names = [...ranges.keys()].sort();
  return Object.fromEntries(
    names.map((name) => {
      const { least, most } = ranges.get(name) ?? noRange;
      return [name, { least: least.toString(), most: most.toString() }];
    }),
  );
}

/** Counts of the API are int64: every digit counts. */
function wholeNumber(quantity: Quantity): number | bigint {
  const value = quantity.value();
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
