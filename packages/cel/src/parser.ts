import type { Call, Expr, MapEntry } from "./ast.ts";
import { type Token, type TokenKind, tokenize, UnescapeError, unquote } from "./lexer.ts";
import { expandMacro } from "./macros.ts";
import type { Problem, Source } from "./source.ts";
import { inInt, inUint, Uint } from "./values.ts";

/** Deeper nesting is refused (cel-go's default for parsers). */
const deepest = 250;
/** Longer expressions are refused unread (cel-go's default). */
const longest = 100_000;

const reserved = new Set([
  "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
  "namespace", "return", "var", "void", "while",
]); // biome-ignore format: a table reads better in lines
/** Words that are tokens of their own and so never names, not even of fields. */
const keywords = new Set(["true", "false", "null", "in"]);

const comparisons: Readonly<Record<string, string>> = {
  "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", in: "@in",
}; // biome-ignore format: a table reads better in lines
const additions: Readonly<Record<string, string>> = { "+": "_+_", "-": "_-_" };
const products: Readonly<Record<string, string>> = { "*": "_*_", "/": "_/_", "%": "_%_" };

class SyntaxProblem extends Error {
  readonly problem: Problem;
  constructor(at: number, message: string) {
    super(message);
    this.problem = { at, message };
  }
}

/** Parses CEL, macros expanded. Without an expression there is at least one problem. */
export function parse(source: Source): { expr?: Expr; problems: readonly Problem[] } {
  const problems: Problem[] = [];
  if (source.points.length > longest) {
    const message = `expression code point size exceeds limit: size: ${source.points.length}, limit ${longest}`;
    return { problems: [{ at: -1, message }] };
  }
  const tokens = tokenize(source, problems);
  try {
    const expr = new Parser(tokens, problems).parse();
    return problems.length === 0 ? { expr, problems } : { problems };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    problems.push(error.problem);
    return { problems };
  }
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #problems: Problem[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], problems: Problem[]) {
    this.#tokens = tokens;
    this.#problems = problems;
  }

  parse(): Expr {
    const expr = this.#expression();
    const rest = this.#peek();
    if (rest.kind !== "end") this.#unexpected("<EOF>");
    return expr;
  }

  #peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== "end") this.#next++;
    return token;
  }

  #is(text: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return token.kind === "symbol" && token.text === text;
  }

  #accept(text: string): Token | undefined {
    return this.#is(text) ? this.#take() : undefined;
  }

  #expect(text: string): Token {
    return this.#accept(text) ?? this.#unexpected(`'${text}'`);
  }

  #unexpected(wanted: string): never {
    const token = this.#peek();
    throw new SyntaxProblem(token.at, `Syntax error: mismatched input '${token.text}' expecting ${wanted}`);
  }

  #expression(): Expr {
    if (++this.#depth > deepest)
      throw new SyntaxProblem(-1, `expression recursion limit exceeded: ${deepest}`);
    const condition = this.#or();
    const question = this.#accept("?");
    let expr = condition;
    if (question !== undefined) {
      const yes = this.#or();
      this.#expect(":");
      const no = this.#expression();
      expr = call(question.at, "_?_:_", undefined, [condition, yes, no]);
    }
    this.#depth--;
    return expr;
  }

  #or(): Expr {
    return this.#logical("||", "_||_", () => this.#logical("&&", "_&&_", () => this.#relation()));
  }

  /** A chain of one logical operator becomes a balanced tree: long chains stay shallow. */
  #logical(symbol: string, name: string, operand: () => Expr): Expr {
    const terms = [operand()];
    const ops: number[] = [];
    for (let token = this.#accept(symbol); token !== undefined; token = this.#accept(symbol)) {
      ops.push(token.at);
      terms.push(operand());
    }
    const balance = (low: number, high: number): Expr => {
      if (low > high) return terms[low]!;
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle]! : balance(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : balance(middle + 1, high);
      return call(ops[middle]!, name, undefined, [left, right]);
    };
    return balance(0, ops.length - 1);
  }

  #relation(): Expr {
    const isIn = (): boolean => this.#peek().kind === "identifier" && this.#peek().text === "in";
    return this.#binary(comparisons, () => this.#addition(), isIn);
  }

  #addition(): Expr {
    return this.#binary(additions, () => this.#binary(products, () => this.#unary()));
  }

  #binary(names: Readonly<Record<string, string>>, operand: () => Expr, also = (): boolean => false): Expr {
    let left = operand();
    let depth = 0;
    while ((this.#peek().kind === "symbol" && Object.hasOwn(names, this.#peek().text)) || also()) {
      const token = this.#take();
      if (++depth + this.#depth > deepest) {
        throw new SyntaxProblem(-1, `expression recursion limit exceeded: ${deepest}`);
      }
      left = call(token.at, names[token.text]!, undefined, [left, operand()]);
    }
    return left;
  }

  #unary(): Expr {
    const first = this.#peek();
    if (!this.#is("!") && !this.#is("-")) return this.#member(this.#primary());
    const symbol = first.text;
    const second = this.#peek(1);
    if (symbol === "-" && (second.kind === "int" || second.kind === "double")) {
      this.#take();
      return this.#member(this.#number(this.#take(), first));
    }
    let count = 0;
    while (this.#is(symbol)) {
      this.#take();
      count++;
    }
    const operand = this.#member(this.#primary());
    if (count % 2 === 0) return operand;
    return call(first.at, symbol === "!" ? "!_" : "-_", undefined, [operand]);
  }

  #member(primary: Expr): Expr {
    let expr = primary;
    let depth = 0;
    for (;;) {
      if (++depth + this.#depth > deepest) {
        throw new SyntaxProblem(-1, `expression recursion limit exceeded: ${deepest}`);
      }
      const dot = this.#accept(".");
      if (dot !== undefined) {
        expr = this.#field(dot, expr);
        continue;
      }
      const bracket = this.#accept("[");
      if (bracket === undefined) return expr;
      const optional = this.#accept("?") !== undefined;
      const index = this.#expression();
      this.#expect("]");
      expr = call(bracket.at, optional ? "_[?_]" : "_[_]", undefined, [expr, index]);
    }
  }

  #field(dot: Token, operand: Expr): Expr {
    const question = this.#accept("?");
    const token = this.#peek();
    const field = this.#fieldName();
    if (question !== undefined) {
      const name: Expr = { kind: "literal", at: token.at, value: field };
      return call(dot.at, "_?._", undefined, [operand, name]);
    }
    const open = token.kind === "identifier" ? this.#accept("(") : undefined;
    if (open === undefined) return { kind: "select", at: dot.at, operand, field, testOnly: false };
    return this.#macro(call(open.at, field, operand, this.#arguments()));
  }

  #fieldName(): string {
    const token = this.#peek();
    if (token.kind === "escaped") return this.#take().text.slice(1, -1);
    if (token.kind === "identifier" && !keywords.has(token.text)) return this.#take().text;
    if (token.kind === "identifier" || token.kind === "end") return this.#unexpected("IDENTIFIER");
    throw new SyntaxProblem(token.at, `Syntax error: no viable alternative at input '.${token.text}'`);
  }

  #arguments(): Expr[] {
    const args: Expr[] = [];
    if (this.#accept(")")) return args;
    do args.push(this.#expression());
    while (this.#accept(","));
    this.#expect(")");
    return args;
  }

  #macro(expr: Call): Expr {
    return expandMacro(expr, this.#problems) ?? expr;
  }

  #primary(): Expr {
    const token = this.#peek();
    switch (token.kind) {
      case "int":
      case "uint":
      case "double":
        return this.#number(this.#take());
      case "string":
      case "bytes":
        return this.#string(this.#take());
      case "identifier":
        if (token.text === "in") break;
        return this.#identifier();
      case "symbol":
        if (token.text === ".") return this.#identifier();
        if (token.text === "(") {
          this.#take();
          const expr = this.#expression();
          this.#expect(")");
          return expr;
        }
        if (token.text === "[") return this.#list();
        if (token.text === "{") return this.#map();
        break;
      default:
    }
    return this.#unexpected("an expression");
  }

  #identifier(): Expr {
    const dot = this.#accept(".");
    const token = this.#peek();
    if (token.kind !== "identifier" || (dot !== undefined && keywords.has(token.text))) {
      return this.#unexpected("IDENTIFIER");
    }
    this.#take();
    if (token.text === "true" || token.text === "false") {
      return { kind: "literal", at: token.at, value: token.text === "true" };
    }
    if (token.text === "null") return { kind: "literal", at: token.at, value: null };
    const struct = this.#structName(token, dot !== undefined);
    if (struct !== undefined) return struct;
    if (reserved.has(token.text)) {
      this.#problems.push({ at: token.at, message: `reserved identifier: ${token.text}` });
    }
    const name = dot === undefined ? token.text : `.${token.text}`;
    const open = this.#accept("(");
    if (open === undefined) return { kind: "identifier", at: token.at, name };
    return this.#macro(call(open.at, name, undefined, this.#arguments()));
  }

  /** `a.b.C{...}` where the tokens ahead say so. */
  #structName(first: Token, leadingDot: boolean): Expr | undefined {
    let ahead = 0;
    let name = leadingDot ? `.${first.text}` : first.text;
    while (this.#is(".", ahead) && this.#peek(ahead + 1).kind === "identifier") {
      name += `.${this.#peek(ahead + 1).text}`;
      ahead += 2;
    }
    if (!this.#is("{", ahead)) return undefined;
    this.#next += ahead;
    const brace = this.#take();
    const fields: { at: number; name: string; value: Expr }[] = [];
    while (!this.#is("}")) {
      this.#accept("?");
      const field = this.#fieldName();
      const colon = this.#expect(":");
      fields.push({ at: colon.at, name: field, value: this.#expression() });
      if (!this.#accept(",")) break;
    }
    this.#expect("}");
    return { kind: "struct", at: brace.at, name, fields };
  }

  #list(): Expr {
    const open = this.#take();
    const elements: Expr[] = [];
    const optional = new Set<number>();
    while (!this.#is("]")) {
      if (this.#accept("?")) optional.add(elements.length);
      elements.push(this.#expression());
      if (!this.#accept(",")) break;
    }
    this.#expect("]");
    return { kind: "list", at: open.at, elements, optional };
  }

  #map(): Expr {
    const open = this.#take();
    const entries: MapEntry[] = [];
    while (!this.#is("}")) {
      const optional = this.#accept("?") !== undefined;
      const key = this.#expression();
      const colon = this.#expect(":");
      entries.push({ at: colon.at, key, value: this.#expression(), optional });
      if (!this.#accept(",")) break;
    }
    this.#expect("}");
    return { kind: "map", at: open.at, entries };
  }

  #number(token: Token, minus?: Token): Expr {
    const at = minus?.at ?? token.at;
    const value = numberValue(token.kind, token.text, minus !== undefined);
    if (value !== undefined) return { kind: "literal", at, value };
    this.#problems.push({ at, message: `invalid ${token.kind} literal` });
    return { kind: "literal", at, value: 0n };
  }

  #string(token: Token): Expr {
    try {
      return { kind: "literal", at: token.at, value: unquote(token) };
    } catch (error) {
      if (!(error instanceof UnescapeError)) throw error;
      this.#problems.push({ at: token.at, message: error.message });
      return { kind: "literal", at: token.at, value: "" };
    }
  }
}

function numberValue(kind: TokenKind, text: string, negative: boolean): bigint | number | Uint | undefined {
  if (kind === "double") {
    const value = Number(text) * (negative ? -1 : 1);
    return Number.isFinite(value) ? value : undefined;
  }
  const digits = BigInt(kind === "uint" ? text.slice(0, -1) : text);
  if (kind === "uint") return inUint(digits) ? new Uint(digits) : undefined;
  const value = negative ? -digits : digits;
  return inInt(value) ? value : undefined;
}

function call(at: number, name: string, target: Expr | undefined, args: readonly Expr[]): Call {
  return { kind: "call", at, name, target, args };
}
