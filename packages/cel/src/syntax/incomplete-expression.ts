import type { Expr } from "./ast.ts";
import type { Token } from "./lexer.ts";

/** The lower the precedence of an operator, the larger is this number. */
const weakness: Readonly<Record<string, number>> = {
  "?": 7, "||": 6, "&&": 5, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, in: 4, "+": 3, "-": 3,
  "*": 2, "/": 2, "%": 2,
}; // biome-ignore format: a table reads better in lines
const condition = 7;
const openers: ReadonlySet<string> = new Set(["(", "[", "{"]);
const closers: ReadonlySet<string> = new Set([")", "]", "}"]);

/**
 * The root of an expression that ends before the last token, because of a syntax error there. Only its kind
 * and offset are right, which is what macros check. Undefined if the expression has no token.
 */
export function incompleteExpression(tokens: readonly Token[]): Expr | undefined {
  const last = tokens.at(-1);
  if (last === undefined) return undefined;
  const reader = new IncompleteExpression();
  tokens.slice(0, -1).forEach((token, i) => {
    reader.add(token, tokens.slice(i + 1, -1));
  });
  if (reader.wantsOperand && Object.hasOwn(weakness, last.text) && last.text !== "-") {
    reader.operator(last, weakness[last.text]!);
  }
  if (reader.group >= 0) return incompleteExpression(tokens.slice(reader.group)) ?? reader.root;
  return reader.root;
}

class IncompleteExpression {
  root: Expr | undefined;
  /** Index of the first token in an open pair of parentheses, if the expression consists of it; else -1. */
  group = -1;
  wantsOperand = true;
  /** Weakness of the root. */
  #weakness = 0;
  #openGroups = 0;
  #added = 0;
  #afterDot = false;

  add(token: Token, rest: readonly Token[]): void {
    const { text, offset, kind } = token;
    this.#added++;
    const isSymbol = kind === "symbol" || text === "in";
    if (isSymbol && closers.has(text)) {
      if (--this.#openGroups === 0) this.wantsOperand = false;
      if (this.#openGroups === 0) this.group = -1;
    } else if (this.#openGroups > 0) {
      if (isSymbol && openers.has(text)) this.#openGroups++;
    } else if (isSymbol && openers.has(text)) {
      this.#openGroups = 1;
      if (text === "(" && this.wantsOperand && this.root === undefined) this.group = this.#added;
      if (this.#weakness <= 1) this.#setRoot(1, { kind: "literal", offset, value: null });
    } else if (!this.wantsOperand && text === ".") {
      this.#afterDot = true;
      const optional = rest[0]?.text === "?";
      if (rest[optional ? 1 : 0] !== undefined && this.#weakness <= 1) this.#select(offset, optional);
    } else if (this.#afterDot) {
      this.#afterDot = text === "?";
    } else if (!this.wantsOperand && isSymbol && Object.hasOwn(weakness, text)) {
      this.operator(token, weakness[text]!);
    } else if (this.wantsOperand) {
      if (this.root === undefined) {
        const isName = kind === "identifier";
        this.#setRoot(
          isSymbol && text !== "." ? 1.5 : 1,
          isName ? { kind: "identifier", offset, name: text } : { kind: "literal", offset, value: null },
        );
      }
      this.wantsOperand = isSymbol;
    }
  }

  /** Of operators with the same precedence the last one is the root, of conditions the first one. */
  operator({ offset }: Token, weak: number): void {
    if (weak >= this.#weakness && (weak !== condition || this.#weakness !== condition)) {
      this.#setRoot(weak, { kind: "literal", offset, value: null });
    }
    this.wantsOperand = true;
  }

  #select(offset: number, optional: boolean): void {
    // The dot follows an operand.
    const operand = this.root!;
    this.#setRoot(
      1,
      optional
        ? { kind: "literal", offset, value: null }
        : { kind: "select", offset, operand, field: "", testOnly: false },
    );
  }

  #setRoot(weak: number, expr: Expr): void {
    this.#weakness = weak;
    this.root = expr;
  }
}
