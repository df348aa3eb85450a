import type { Random } from "@dray/testing/random";

/** Values that an attribute of a random device may have; the first is of the type that its name promises. */
const attributes: Readonly<Record<string, readonly object[]>> = {
  model: [{ string: "a" }, { string: "a100" }, { string: "" }, { int: 1 }, { version: "1.2.3" }],
  count: [{ int: 4 }, { int: 0 }, { int: -1 }, { int: 9007199254740991 }, { string: "4" }],
  ok: [{ bool: true }, { bool: false }, { string: "true" }],
  ver: [{ version: "1.2.3" }, { version: "2.0.0-rc.1" }, { version: "1.2.3+b1" }, { string: "1.2.3" }],
  tags: [{ strings: ["a", "b"] }, { strings: [] }, { string: "a" }, { strings: ["日本"] }],
  nums: [{ ints: [3, 1, 2] }, { ints: [] }, { int: 2 }],
  flags: [{ bools: [true, false] }, { bool: true }],
  vers: [{ versions: ["1.0.0", "2.1.0-rc.1"] }, { version: "1.0.0" }],
  "other.example.com/model": [{ string: "y" }, { int: 5 }],
};
const capacities: Readonly<Record<string, readonly string[]>> = {
  memory: ["80Gi", "0", "40960Mi", "1e9"],
  cores: ["500m", "8", "1500m"],
  "other.example.com/bw": ["10G", "100M"],
};

/** A device as a question about a selector holds it; one in fifty cannot be read. */
export function randomDevice(random: Random): object {
  const pickEach = <T>(from: Readonly<Record<string, readonly T[]>>): [string, T][] =>
    random
      .some(Object.entries(from), 0.75)
      .map(([name, [usual, ...others]]) => [name, random.chance(0.6) ? usual! : random.pick(others)]);
  const unreadable = random.chance(0.02) ? { bad: random.pick([{ version: "x" }, {}]) } : {};
  return {
    ...(random.chance(0.5) && { allowMultipleAllocations: random.chance(0.5) }),
    attributes: { ...Object.fromEntries(pickEach(attributes)), ...unreadable },
    capacity: Object.fromEntries(pickEach(capacities).map(([name, value]) => [name, { value }])),
  };
}
