import type { Expr } from "./ast.ts";
import type { Token } from "./lexer.ts";

/** How weakly operators bind; the weakest is the outermost. */
const weakness: Readonly<Record<string, number>> = {
  "?": 7, "||": 6, "&&": 5, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, in: 4, "+": 3, "-": 3,
  "*": 2, "/": 2, "%": 2,
}; // biome-ignore format: a table reads better in lines
const condition = 7;
const openers: ReadonlySet<string> = new Set(["(", "[", "{"]);
const closers: ReadonlySet<string> = new Set([")", "]", "}"]);

/**
 * What an expression is that breaks off before the last of the tokens: of the right kind and place, as far as macros
 * ask for them, and of no value. Undefined if it has not begun.
 */
export function partialExpression(tokens: readonly Token[]): Expr | undefined {
  const partial = new Partial();
  tokens.slice(0, -1).forEach((token, i) => {
    partial.add(token, tokens.slice(i + 1, -1));
  });
  const last = tokens.at(-1)!;
  if (partial.wantsOperand && Object.hasOwn(weakness, last.text) && last.text !== "-") {
    partial.operator(last, weakness[last.text]!);
  }
  if (partial.group >= 0) return partialExpression(tokens.slice(partial.group)) ?? partial.root;
  return partial.root;
}

class Partial {
  root: Expr | undefined;
  /** Where the content of an open group of parentheses begins, if that is all there is; else -1. */
  group = -1;
  wantsOperand = true;
  #weakness = 0;
  #open = 0;
  #seen = 0;
  #name = false;

  add(token: Token, rest: readonly Token[]): void {
    const { text, offset, kind } = token;
    this.#seen++;
    const sign = kind === "symbol" || text === "in";
    if (sign && closers.has(text)) {
      if (--this.#open === 0) this.wantsOperand = false;
      if (this.#open === 0) this.group = -1;
    } else if (this.#open > 0) {
      if (sign && openers.has(text)) this.#open++;
    } else if (sign && openers.has(text)) {
      this.#open = 1;
      if (text === "(" && this.wantsOperand && this.root === undefined) this.group = this.#seen;
      if (this.#weakness <= 1) this.#found(1, { kind: "literal", offset, value: null });
    } else if (!this.wantsOperand && text === ".") {
      this.#name = true;
      const optional = rest[0]?.text === "?";
      if (rest[optional ? 1 : 0] !== undefined && this.#weakness <= 1) this.#field(offset, optional);
    } else if (this.#name) {
      this.#name = text === "?";
    } else if (!this.wantsOperand && sign && Object.hasOwn(weakness, text)) {
      this.operator(token, weakness[text]!);
    } else if (this.wantsOperand) {
      if (this.root === undefined) {
        const named = kind === "identifier";
        this.#found(
          sign && text !== "." ? 1.5 : 1,
          named ? { kind: "identifier", offset, name: text } : { kind: "literal", offset, value: null },
        );
      }
      this.wantsOperand = sign;
    }
  }

  /** Of several that bind alike the last is the outermost, but of conditions the first. */
  operator({ offset }: Token, weak: number): void {
    if (weak >= this.#weakness && (weak !== condition || this.#weakness !== condition)) {
      this.#found(weak, { kind: "literal", offset, value: null });
    }
    this.wantsOperand = true;
  }

  #field(offset: number, optional: boolean): void {
    const operand = this.root!;
    this.#found(
      1,
      optional
        ? { kind: "literal", offset, value: null }
        : { kind: "select", offset, operand, field: "", testOnly: false },
    );
  }

  #found(weak: number, expr: Expr): void {
    this.#weakness = weak;
    this.root = expr;
  }
}
