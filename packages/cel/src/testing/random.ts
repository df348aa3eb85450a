import type { DeviceInput } from "@dray/cel";
import type { Random } from "@dray/testing/random";

const domains = ["gpu.example.com", "other.example.com"];
const ids = ["model", "index", "healthy", "version", "tags", "nums"];

/** A random selector. Most compile; many fail at run time, because of the types of attributes. */
export function randomSelector(random: Random): string {
  return new Expressions(random).bool(3, []);
}

interface Variable {
  readonly name: string;
  readonly type: "dyn" | "int" | "string";
}

class Expressions {
  readonly #random: Random;
  #names = 0;
  constructor(random: Random) {
    this.#random = random;
  }

  bool(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    if (depth === 0)
      return r.pick(["true", "false", "device.allowMultipleAllocations", `has(${this.#attribute()})`]);
    const next = depth - 1;
    const forms: (() => string)[] = [
      () => `(${this.bool(next, scope)} && ${this.bool(next, scope)})`,
      () => `(${this.bool(next, scope)} || ${this.bool(next, scope)})`,
      () => `!(${this.bool(next, scope)})`,
      () => `(${this.bool(next, scope)} ? ${this.bool(next, scope)} : ${this.bool(next, scope)})`,
      () => `(${this.dyn(next, scope)} ${r.pick(["==", "!=", "<", ">="])} ${this.#literal()})`,
      () => `(${this.#literal()} == ${this.dyn(next, scope)})`,
      () => `(${this.dyn(next, scope)} == ${this.dyn(next, scope)})`,
      () => `(${this.int(next, scope)} ${r.pick(["==", "<", "<=", ">", "!="])} ${this.int(next, scope)})`,
      () => `(${this.string(next, scope)} ${r.pick(["==", "!=", "<"])} ${this.string(next, scope)})`,
      () =>
        `${this.string(next, scope)}.${r.pick(["startsWith", "contains", "endsWith", "matches"])}("${r.pick(["a", "", "h1"])}")`,
      () =>
        `(${this.dyn(next, scope)} in ${r.pick(['["a100", "h100"]', "[1, 2]", "[]", '[dyn(1), dyn("a")]'])})`,
      () => `("${r.pick(ids)}" in device.attributes["${r.pick(domains)}"])`,
      () => this.#loop(next, scope),
      () => {
        const name = `b${this.#names++}`;
        return `cel.bind(${name}, ${this.dyn(next, scope)}, ${this.bool(next, [...scope, { name, type: "dyn" }])})`;
      },
      () => {
        const name = `b${this.#names++}`;
        const field = `${name}.${r.pick(ids)}`;
        return `cel.bind(${name}, device.attributes["${r.pick(domains)}"], has(${field}) && ${field} == ${this.#literal()})`;
      },
      () =>
        `(${this.#capacity()}.${r.pick(["compareTo", "isGreaterThan", "add"])}(quantity("${r.pick(["40Gi", "1", "500m"])}")) == ${r.pick(["0", "true", 'quantity("80Gi")'])})`,
      () => `${this.#attribute()}.${r.pick(["isGreaterThan", "isLessThan"])}(semver("1.2.0"))`,
      () => `(${this.#optional()}.orValue(${this.#literal()}) == ${this.#literal()})`,
      () => `${this.#optional()}.hasValue()`,
      () => `${this.#attribute()}.includes(${this.#literal()})`,
      () => `(${this.bool(next, scope)} ? ${this.#presence()} : ${this.bool(next, scope)})`,
      () => this.#presence(),
      () => `(${this.#made(next, scope)} == ${this.#made(next, scope)})`,
      () => `(${this.#optional()}.optMap(m, m == ${this.#literal()}).orValue(${this.bool(next, scope)}))`,
      () => `(${this.#optional()}.or(${this.#optional()}).value() == ${this.dyn(next, scope)})`,
      () =>
        `(${this.#attribute()}.${r.pick(["min()", "sum()", "size()", "distinct()", "sort()", 'join("-")', "reverse()[0]"])} == ${this.dyn(next, scope)})`,
    ];
    return r.pick(forms)();
  }

  #loop(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    const name = `x${this.#names++}`;
    const body = this.bool(depth, [...scope, { name, type: "dyn" }]);
    const range = r.pick([
      this.#attribute(),
      '[dyn(1), dyn("a100"), dyn(true)]',
      "[0, 1, 2, 3]",
      `device.attributes["${r.pick(domains)}"]`,
      "lists.range(4)",
      '{"a": 1, "b": 2}',
    ]);
    switch (r.below(5)) {
      case 0:
        return `${range}.${r.pick(["all", "exists", "exists_one"])}(${name}, ${body})`;
      case 1:
        return `${range}.${r.pick(["all", "exists"])}(k${name}, ${name}, ${body})`;
      case 2:
        return `(${range}.filter(${name}, ${body}).size() ${r.pick(["==", ">"])} 1)`;
      case 3:
        return `(${range}.map(${name}, ${body}) == [true])`;
      default:
        return `(${range}.transformMap(k${name}, ${name}, ${body}).size() == 2)`;
    }
  }

  dyn(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    const known = scope.filter(({ type }) => type === "dyn");
    if (known.length > 0 && r.chance(0.4)) return r.pick(known).name;
    if (depth === 0 || r.chance(0.5)) return this.#attribute();
    const next = depth - 1;
    return r.pick([
      () => `dyn(${this.int(next, scope)})`,
      () => `dyn(${this.string(next, scope)})`,
      () => `dyn(${this.bool(next, scope)})`,
      () => `(${this.bool(next, scope)} ? ${this.dyn(next, scope)} : ${this.#attribute()})`,
      () => `${this.#attribute()}[${this.int(next, scope)}]`,
      () => `device.attributes[device.driver][${this.string(next, scope)}]`,
      () => `dyn({"a": ${this.int(next, scope)}})${r.pick([".a", '["a"]', ".b"])}`,
    ])();
  }

  int(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    if (depth === 0) return r.pick(["0", "1", "-3", "9223372036854775807"]);
    const next = depth - 1;
    return r.pick([
      () => `(${this.int(next, scope)} ${r.pick(["+", "-", "*", "/", "%"])} ${this.int(next, scope)})`,
      () => `size(${this.string(next, scope)})`,
      () => `int(${this.dyn(next, scope)})`,
      () => `[1, ${this.int(next, scope)}][${r.below(3)}]`,
    ])();
  }

  string(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    if (depth === 0) return r.pick(['"a100"', "device.driver", '"gpu.example.com"', '""', '"日本"']);
    const next = depth - 1;
    return r.pick([
      () => `(${this.string(next, scope)} + ${this.string(next, scope)})`,
      () => `string(${this.dyn(next, scope)})`,
      () =>
        `${this.string(next, scope)}.${r.pick(["lowerAscii()", "substring(1)", 'replace("a", "b")', "charAt(0)"])}`,
    ])();
  }

  #attribute(): string {
    const r = this.#random;
    return `device.attributes["${r.pick(domains)}"].${r.pick(ids)}`;
  }

  #capacity(): string {
    return `device.capacity["${this.#random.pick(domains)}"].${this.#random.pick(["memory", "cores"])}`;
  }

  #optional(): string {
    const r = this.#random;
    const domain = `device.attributes["${r.pick(domains)}"]`;
    return r.pick([
      `${domain}.?${r.pick(ids)}`,
      `${domain}[?"${r.pick(ids)}"]`,
      `${domain}.?${r.pick(ids)}[0]`,
    ]);
  }

  /** Variants of `has()`. */
  #presence(): string {
    const r = this.#random;
    const domain = r.pick(domains);
    const id = r.pick(ids);
    return `has(${r.pick([
      `device.?attributes["${domain}"].${id}`,
      `device.attributes["${domain}"].?${id}.x`,
      `optional.of(device).attributes["${domain}"].${id}`,
      `(device.driver == "x" ? device : device).attributes.${id}`,
      `device.attributes[device.driver].${id}`,
      `dyn({"${id}": 1}).${r.pick(ids)}`,
      `${this.#attribute()}.x`,
    ])})`;
  }

  /** A value that the expression makes. */
  #made(depth: number, scope: readonly Variable[]): string {
    const r = this.#random;
    return r.pick([
      () => `dyn([?${this.#optional()}, ${this.dyn(depth, scope)}])`,
      () => `dyn({"a": ${this.dyn(depth, scope)}, ?"b": ${this.#optional()}})`,
      () => `dyn([${this.int(depth, scope)}, ${this.int(depth, scope)}][${this.dyn(depth, scope)}])`,
      () => `dyn({"a100": 1, "b": 2}[?${this.dyn(depth, scope)}])`,
      () => `dyn(${this.string(depth, scope)}.replace(${this.string(depth, scope)}, "x"))`,
      () => `dyn("%s %d".format([${this.dyn(depth, scope)}, ${this.dyn(depth, scope)}]))`,
      () => `dyn(${this.#attribute()}.split("0"))`,
    ])();
  }

  #literal(): string {
    return this.#random.pick(['"a100"', '"h100"', "1", "4", "true", "1.5", 'semver("1.2.3")', "null", "2u"]);
  }
}

/** A random device, with attributes of random types. */
export function randomDevice(random: Random): DeviceInput {
  const attributes: Record<string, NonNullable<DeviceInput["attributes"]>[string]> = {};
  for (const domain of ["", "gpu.example.com/", "other.example.com/"]) {
    for (const id of ids) if (random.chance(0.6)) attributes[domain + id] = randomAttribute(random, id);
  }
  const capacity: Record<string, { value: string }> = {};
  for (const name of ["memory", "cores", "other.example.com/memory"]) {
    if (random.chance(0.7)) capacity[name] = { value: random.pick(["80Gi", "40Gi", "1", "500m"]) };
  }
  return {
    driver: random.pick(domains),
    attributes,
    capacity,
    allowMultipleAllocations: random.chance(0.5),
  };
}

/** Most attributes have the type that belongs to the name. */
export function randomAttribute(random: Random, id: string): NonNullable<DeviceInput["attributes"]>[string] {
  switch (random.chance(0.8) ? id : random.pick(ids)) {
    case "model":
      return { string: random.pick(["a100", "h100", "", "日本"]) };
    case "index":
      return { int: random.pick([0n, 1n, 4n, -3n, 9223372036854775807n]) };
    case "healthy":
      return { bool: random.chance(0.5) };
    case "version":
      return { version: random.pick(["1.2.3", "1.10.0-rc.1+b7", "0.0.1"]) };
    case "tags":
      return { strings: random.pick([["a100", "b"], ["x"], ["h1", "h1", "a100"]]) };
    default:
      return { ints: random.pick([[1n, 2n, 3n], [4n]]) };
  }
}
