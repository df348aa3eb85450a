import type { Value } from "../../values/value.ts";
import type { Node } from "../ir.ts";

/** An expression of JavaScript without effects: a variable or a literal. */
export type Operand = string;

/** Longer code is not worth its compilation, and a binding used in many places could make it grow without end. */
const longestSource = 60_000;
/** Thrown where the code gets too long. */
export class TooLong extends Error {}

/**
 * The function under construction. Its variables: `F` the frame, `L` the limit, `D` the device, `c` what was spent,
 * `k…` constants, `s…` variables of loops and bindings, `t…` everything else.
 */
export class Code {
  /** Writes the statements of a node and gives its value. */
  readonly emit: (node: Node) => Operand;
  readonly #lines: string[] = [];
  readonly #variables: string[] = [];
  readonly #slots = new Set<string>();
  readonly #constants: unknown[] = [];
  #length = 0;
  /** Costs not written yet. */
  #pending = 0;
  #labels = 0;
  /** Variables that hold parts of the device for the length of an evaluation. */
  readonly #shared = new Map<string, string>();

  constructor(emit: (code: Code, node: Node) => Operand) {
    this.emit = (node) => emit(this, node);
  }

  finish(result: Operand): { source: string; constants: readonly unknown[] } {
    this.flush();
    const constants = this.#constants.map((_, i) => `k${i} = K[${i}]`);
    const variables = ["c = 0", ...this.#variables, ...this.#slots];
    const source = `"use strict";
${constants.length === 0 ? "" : `const ${constants.join(", ")};`}
return function (F) {
const L = F.limit, D = F.device;
let ${variables.join(", ")};
${this.#lines.join("\n")}
F.cost = c;
return ${result};
};`;
    return { source, constants: this.#constants };
  }

  write(line: string): void {
    this.#length += line.length;
    if (this.#length > longestSource) throw new TooLong();
    this.#lines.push(line);
  }

  pay(cost: number): void {
    this.#pending += cost;
  }

  /** Writes pending costs: before anything that may or may not happen, and at its end. */
  flush(): void {
    if (this.#pending !== 0) this.write(`c += ${this.#pending};`);
    this.#pending = 0;
  }

  open(line: string): void {
    this.flush();
    this.write(line);
  }

  close(line = "}"): void {
    this.flush();
    this.write(line);
  }

  variable(): string {
    const name = `t${this.#variables.length}`;
    this.#variables.push(name);
    return name;
  }

  slot(slot: number): string {
    const name = `s${slot}`;
    this.#slots.add(name);
    return name;
  }

  label(): string {
    return `q${this.#labels++}`;
  }

  keep(value: unknown): Operand {
    // 0 and -0 are two constants.
    const known = this.#constants.findIndex((other) => Object.is(other, value));
    return `k${known >= 0 ? known : this.#constants.push(value) - 1}`;
  }

  literal(value: Value): Operand {
    switch (typeof value) {
      case "boolean":
        return String(value);
      case "bigint":
        return `${value}n`;
      case "string":
        return JSON.stringify(value);
      default:
        return value === null ? "null" : this.keep(value);
    }
  }

  /** The variable that holds that part of the device. */
  shared(key: string): string {
    let name = this.#shared.get(key);
    if (name === undefined) {
      name = this.variable();
      this.#shared.set(key, name);
    }
    return name;
  }

  /** Leaves the block of that label with an error, where the value is one. */
  leaveOnError(value: Operand, result: Operand, label: string): void {
    this.flush();
    this.write(`if (${value} instanceof CelError) { ${result} = ${value}; break ${label}; }`);
  }
}
