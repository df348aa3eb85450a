import { wholeNumber } from "../values/equality.ts";
import { inInt, inUint } from "../values/integers.ts";
import { checkHashable } from "../values/maps.ts";
import { CelError, typeName, Uint, type Value } from "../values/value.ts";

/**
 * The constant list in `x in [1, 2]` as a set. As in cel-go each number is converted once to all numeric
 * types: a large int is found by the nearest double.
 */
export class ConstantSet {
  readonly #plain = new Set<unknown>();
  readonly #unsigned = new Set<bigint>();

  private constructor(elements: readonly Value[]) {
    for (const element of elements) this.#add(element);
  }

  /** Undefined if an element is not a scalar. */
  static of(elements: readonly Value[]): ConstantSet | undefined {
    const scalar = elements.every((element) => scalars.has(typeName(element)));
    return scalar ? new ConstantSet(elements) : undefined;
  }

  #add(element: Value): void {
    if (typeof element === "number") {
      if (Number.isNaN(element)) return;
      this.#plain.add(element);
      const whole = wholeNumber(element);
      if (whole === undefined) return;
      if (inInt(whole)) this.#plain.add(whole);
      if (inUint(whole)) this.#unsigned.add(whole);
    } else if (typeof element === "bigint") {
      this.#plain.add(element).add(Number(element));
      if (element >= 0n) this.#unsigned.add(element);
    } else if (element instanceof Uint) {
      this.#unsigned.add(element.value);
      this.#plain.add(Number(element.value));
      if (inInt(element.value)) this.#plain.add(element.value);
    } else {
      this.#plain.add(element);
    }
  }

  /** Returns an error for a CelError. Throws Panic for a value that Go cannot hash. */
  has(value: Value): boolean | CelError {
    switch (typeof value) {
      case "string":
      case "bigint":
      case "boolean":
      case "number":
        return this.#plain.has(value);
      default:
        if (value instanceof Uint) return this.#unsigned.has(value.value);
        if (value instanceof CelError) return value;
        checkHashable(value);
        return false;
    }
  }
}

const scalars: ReadonlySet<string> = new Set(["bool", "double", "int", "string", "uint"]);
