import type { Expr } from "./ast.ts";
import { ExpressionSizes } from "./expression-sizes.ts";
import { type Token, tokenize } from "./lexer.ts";
import type { Features } from "./macros.ts";
import { call, isNumber, PrimaryParser } from "./primary-parser.ts";
import type { Problem, Source } from "./source.ts";
import { ParseError, ParseLimitError, TokenStream } from "./token-stream.ts";

/** Maximum depth of nesting (cel-go's default). */
const maxDepth = 250;
/** Maximum length of an expression (cel-go's default). */
const maxCodePoints = 100_000;
/** Maximum number of nodes that macros may duplicate: `optMap` has its target twice in its expansion. */
const maxCopiedNodes = 100_000;

const comparisons: Readonly<Record<string, string>> = {
  "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", in: "@in",
}; // biome-ignore format: a table reads better in lines
const calculations: Readonly<Record<string, readonly [name: string, precedence: number]>> = {
  "+": ["_+_", 1], "-": ["_-_", 1], "*": ["_*_", 2], "/": ["_/_", 2], "%": ["_%_", 2],
}; // biome-ignore format: a table reads better in lines

const allFeatures: Features = { bindings: true, escapedNames: true };

/** Parses an expression and expands macros. Returns either the expression or at least one problem. */
export function parse(
  source: Source,
  features: Features = allFeatures,
): { expr?: Expr; problems: readonly Problem[] } {
  if (source.points.length > maxCodePoints) {
    const message = `expression code point size exceeds limit: size: ${source.points.length}, limit ${maxCodePoints}`;
    return { problems: [{ offset: -1, message }] };
  }
  const problems: Problem[] = [];
  const parser = new Parser(new TokenStream(tokenize(source, problems)), features);
  try {
    const expr = parser.parse();
    for (const each of parser.problems) problems.push(each);
    if (problems.length === 0) return { expr, problems };
  } catch (error) {
    if (error instanceof ParseLimitError) return { problems: [error.problem] };
    if (!(error instanceof ParseError)) throw error;
    for (const each of parser.problems) problems.push(each);
    problems.push(error.problem);
  }
  return { problems };
}

class Parser {
  /** Problems that do not end parsing. */
  readonly problems: Problem[] = [];
  readonly #tokens: TokenStream;
  readonly #sizes = new ExpressionSizes();
  readonly #primaries: PrimaryParser;
  /** How deep each rule of the grammar is nested in itself. */
  readonly #nesting = { expression: 0, relation: 0, calculation: 0 };

  constructor(tokens: TokenStream, features: Features) {
    this.#tokens = tokens;
    const state = { problems: this.problems, sizes: this.#sizes, features };
    this.#primaries = new PrimaryParser(tokens, state, () => this.#expression());
  }

  parse(): Expr {
    const expr = this.#expression();
    const isEnd = (token: Token): boolean => token.kind === "end";
    if (!isEnd(this.#tokens.peek())) this.#tokens.unexpected("<EOF>", isEnd);
    if (this.#sizes.depth(expr) > maxDepth) throw new ParseLimitError(-1, "max recursion depth exceeded");
    if (this.#sizes.copied > maxCopiedNodes) {
      throw new ParseLimitError(-1, `macros copy more than ${maxCopiedNodes} expressions`);
    }
    return expr;
  }

  #enter(rule: "expression" | "relation" | "calculation"): void {
    if (++this.#nesting[rule] > maxDepth)
      throw new ParseLimitError(-1, `expression recursion limit exceeded: ${maxDepth}`);
  }

  #operator(token: Token, name: string, ...operands: Expr[]): Expr {
    return this.#sizes.record(call(token.offset, name, undefined, operands), operands, 1);
  }

  #expression(): Expr {
    this.#enter("expression");
    let expr = this.#or();
    const question = this.#tokens.accept("?");
    if (question !== undefined) {
      const yes = this.#or();
      this.#tokens.expect(":");
      expr = this.#operator(question, "_?_:_", expr, yes, this.#expression());
    }
    this.#nesting.expression--;
    return expr;
  }

  #or(): Expr {
    return this.#logical("||", "_||_", () => this.#logical("&&", "_&&_", () => this.#relation()));
  }

  /** A chain of one logical operator becomes a balanced tree, as in cel-go: long chains stay shallow. */
  #logical(symbol: string, name: string, operand: () => Expr): Expr {
    const terms = [operand()];
    const ops: number[] = [];
    for (let token = this.#tokens.accept(symbol); token !== undefined; token = this.#tokens.accept(symbol)) {
      ops.push(token.offset);
      terms.push(operand());
    }
    const balance = (low: number, high: number): Expr => {
      if (low > high) return terms[low]!;
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle]! : balance(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : balance(middle + 1, high);
      return this.#sizes.record(call(ops[middle]!, name, undefined, [left, right]), [left, right]);
    };
    return balance(0, ops.length - 1);
  }

  #relation(): Expr {
    this.#enter("relation");
    let left = this.#calculation(1);
    for (;;) {
      const token = this.#tokens.peek();
      const name = token.kind === "symbol" || token.text === "in" ? own(comparisons, token.text) : undefined;
      if (name === undefined) break;
      this.#tokens.take();
      this.#enter("relation");
      left = this.#operator(token, name, left, this.#calculation(1));
      this.#nesting.relation--;
    }
    this.#nesting.relation--;
    return left;
  }

  #calculation(minPrecedence: number): Expr {
    this.#enter("calculation");
    let left = this.#unary();
    for (;;) {
      const token = this.#tokens.peek();
      const operator = token.kind === "symbol" ? own(calculations, token.text) : undefined;
      if (operator === undefined || operator[1] < minPrecedence) break;
      this.#tokens.take();
      left = this.#operator(token, operator[0], left, this.#calculation(operator[1] + 1));
    }
    this.#nesting.calculation--;
    return left;
  }

  #unary(): Expr {
    const first = this.#tokens.peek();
    if (!this.#tokens.is("!") && (!this.#tokens.is("-") || isNumber(this.#tokens.peek(1))))
      return this.#primaries.member();
    let count = 0;
    while (this.#tokens.accept(first.text) !== undefined) count++;
    const operand = this.#primaries.member();
    if (count % 2 === 0) return operand;
    return this.#sizes.record(call(first.offset, first.text === "!" ? "!_" : "-_", undefined, [operand]), [
      operand,
    ]);
  }
}

const own = <V>(table: Readonly<Record<string, V>>, key: string): V | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;
