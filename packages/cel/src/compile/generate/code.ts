import type { Value } from "../../values/value.ts";
import type { Node } from "../ir.ts";

/** A JavaScript expression without side effects: a variable or a literal. */
export type Operand = string;

/** Maximum length of the source: bindings with many uses could make it grow exponentially. */
const maxSourceLength = 60_000;
/** Thrown when the source exceeds its maximum length. */
export class SourceTooLong extends Error {}

/**
 * The source of the generated function. Its variables: `F` the frame, `L` the cost limit, `D` the device, `c`
 * the cost, `k…` constants, `s…` variables of loops and bindings, `t…` temporaries.
 */
export class Code {
  /** Writes the statements of a node and returns its value. */
  readonly emit: (node: Node) => Operand;
  readonly #lines: string[] = [];
  readonly #variables: string[] = [];
  readonly #slots = new Set<string>();
  readonly #constants: unknown[] = [];
  #length = 0;
  /** Constant costs that are not written yet. */
  #pending = 0;
  #labels = 0;
  /** Variables that hold parts of the device during an evaluation. */
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
    if (this.#length > maxSourceLength) throw new SourceTooLong();
    this.#lines.push(line);
  }

  pay(cost: number): void {
    this.#pending += cost;
  }

  /** Writes pending costs. Must be called before and at the end of each conditional block. */
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

  /** A constant of the function. */
  keep(value: unknown): Operand {
    // 0 and -0 are different constants.
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

  /** The variable for a part of the device. */
  shared(key: string): string {
    let name = this.#shared.get(key);
    if (name === undefined) {
      name = this.variable();
      this.#shared.set(key, name);
    }
    return name;
  }

  /** Leaves the block of a label if a value is an error. */
  leaveOnError(value: Operand, result: Operand, label: string): void {
    this.flush();
    this.write(`if (${value} instanceof CelError) { ${result} = ${value}; break ${label}; }`);
  }
}
