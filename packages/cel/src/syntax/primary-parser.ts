import { keywords, reservedIdentifiers } from "../values/field-names.ts";
import type { Call, Expr, MapEntry, StructField } from "./ast.ts";
import type { ExpressionSizes } from "./expression-sizes.ts";
import { incompleteExpression } from "./incomplete-expression.ts";
import type { Token } from "./lexer.ts";
import { copiesTarget, expandMacro, type Features } from "./macros.ts";
import type { Problem } from "./source.ts";
import {
  expressionStarts,
  ParseError,
  ParseLimitError,
  startsExpression,
  type TokenStream,
} from "./token-stream.ts";
import { numberValue, UnescapeError, unquote } from "./token-values.ts";

/** Operators that follow an operand and cannot start one. */
const operators = new Set(["*", "/", "%", "+", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "?"]);

/** Maximum number of errors after which parsing continues (cel-go's ErrorRecoveryLimit). */
const maxRecoveries = 30;
const recoveryLimit = `Syntax error: error recovery attempt limit exceeded: ${maxRecoveries}`;

/** State that the parser shares with the parser of operands. */
export interface ParserState {
  /** Problems that do not end parsing. */
  readonly problems: Problem[];
  readonly sizes: ExpressionSizes;
  readonly features: Features;
}

/** Parses operands: names, literals, parentheses, and the fields, indexes and calls that follow them. */
export class PrimaryParser {
  readonly #tokens: TokenStream;
  readonly #problems: Problem[];
  readonly #sizes: ExpressionSizes;
  readonly #expression: () => Expr;
  readonly #features: Features;
  #recoveries = 0;

  constructor(tokens: TokenStream, { problems, sizes, features }: ParserState, expression: () => Expr) {
    this.#tokens = tokens;
    this.#features = features;
    this.#problems = problems;
    this.#sizes = sizes;
    this.#expression = expression;
  }

  /** An operand with the fields, indexes and calls that follow it. */
  member(): Expr {
    let expr = this.#primary();
    for (;;) {
      const dot = this.#tokens.accept(".");
      if (dot !== undefined) {
        expr = this.#field(dot, expr);
        continue;
      }
      const bracket = this.#tokens.accept("[");
      if (bracket === undefined) return expr;
      const optional = this.#tokens.accept("?") !== undefined;
      const index = this.#expression();
      this.#tokens.expect("]");
      const name = optional ? "_[?_]" : "_[_]";
      expr = this.#sizes.record(call(bracket.offset, name, undefined, [expr, index]), [expr, index], 1);
    }
  }

  #field(dot: Token, operand: Expr): Expr {
    const question = this.#tokens.accept("?");
    const token = this.#tokens.peek();
    const field = this.#fieldName();
    if (question !== undefined) {
      const name: Expr = { kind: "literal", offset: token.offset, value: field };
      return this.#sizes.record(call(dot.offset, "_?._", undefined, [operand, name]), [operand], 1);
    }
    const open = token.kind === "identifier" ? this.#tokens.accept("(") : undefined;
    if (open === undefined) {
      return this.#sizes.record(
        { kind: "select", offset: dot.offset, operand, field, testOnly: false },
        [operand],
        1,
      );
    }
    return this.#called(call(open.offset, field, operand, this.#arguments(field, operand)));
  }

  #fieldName(): string {
    const token = this.#tokens.peek();
    if (token.kind === "escaped") {
      if (!this.#features.escapedNames)
        this.#problems.push({ offset: token.offset, message: "unsupported syntax: '`'" });
      return this.#tokens.take().text.slice(1, -1);
    }
    if (!isName(token)) this.#tokens.noViableAlternative();
    return this.#tokens.take().text;
  }

  #arguments(name: string, target: Expr | undefined): Expr[] {
    const args: Expr[] = [];
    if (this.#tokens.accept(")")) return args;
    let start = this.#tokens.position;
    try {
      do {
        start = this.#tokens.position;
        args.push(this.#expression());
        start = -1;
      } while (this.#tokens.accept(","));
      this.#tokens.expect(")");
    } catch (error) {
      if (error instanceof ParseError && !(error instanceof ParseLimitError))
        this.#checkIncompleteCall(name, target, args, start);
      throw error;
    }
    return args;
  }

  /**
   * Upstream expands the macro with the arguments up to the syntax error. Problems of the expansion come
   * first.
   */
  #checkIncompleteCall(name: string, target: Expr | undefined, args: readonly Expr[], start: number): void {
    const incomplete = start < 0 ? undefined : incompleteExpression(this.#tokens.since(start));
    const missing: Expr = { kind: "literal", offset: this.#tokens.peek().offset, value: null };
    const last = incomplete ?? (args.length > 0 && start >= 0 ? missing : undefined);
    const known = last === undefined ? args : [...args, last];
    expandMacro(call(0, name, target, known), this.#problems, this.#features);
  }

  /** Expands a call of a macro. */
  #called(made: Call): Expr {
    const parts = made.target === undefined ? made.args : [made.target, ...made.args];
    const expr = expandMacro(made, this.#problems, this.#features) ?? made;
    const copies = expr !== made && made.target !== undefined && copiesTarget.has(made.name);
    const copied = copies ? made.target : undefined;
    return this.#sizes.record(expr, parts, made.target === undefined ? 0 : 1, copied);
  }

  #primary(): Expr {
    const token = this.#tokens.peek();
    switch (token.kind) {
      case "int":
      case "uint":
      case "double":
        return this.#number(token.offset, "");
      case "string":
      case "bytes":
        return this.#string(this.#tokens.take());
      case "identifier":
        if (token.text === "in") break;
        return this.#identifier();
      case "symbol":
        if (token.text === ".") return this.#identifier();
        if (token.text === "(") {
          this.#tokens.take();
          const expr = this.#expression();
          this.#tokens.expect(")");
          return expr;
        }
        if (token.text === "[") return this.#list();
        if (token.text === "{") return this.#map();
        if (token.text === "-") {
          this.#tokens.take();
          if (!isNumber(this.#tokens.peek())) this.#tokens.unexpected("{NUM_FLOAT, NUM_INT}", isNumber);
          return this.#number(token.offset, "-");
        }
        break;
      default:
    }
    return this.#recovered(token);
  }

  /**
   * Continues after a missing operand as ANTLR does: skips a token in front of an operand, and assumes an
   * operand in front of an operator.
   */
  #recovered(token: Token): Expr {
    const extraneous = startsExpression(this.#tokens.peek(1)) && token.kind !== "end";
    if (!extraneous && !(token.kind === "symbol" && operators.has(token.text)) && token.text !== "in")
      return this.#tokens.unexpected(expressionStarts, startsExpression);
    try {
      this.#tokens.unexpected(expressionStarts, startsExpression);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.#problems.push(error.problem);
    }
    if (++this.#recoveries >= maxRecoveries) throw new ParseError(token.offset, recoveryLimit);
    if (!extraneous) return { kind: "literal", offset: token.offset, value: null };
    this.#tokens.take();
    return this.#primary();
  }

  #identifier(): Expr {
    const dot = this.#tokens.accept(".");
    const token = this.#tokens.peek();
    if (dot !== undefined && !isName(token)) this.#tokens.unexpected("IDENTIFIER", isName);
    this.#tokens.take();
    if (keywords.has(token.text)) {
      return {
        kind: "literal",
        offset: token.offset,
        value: token.text === "null" ? null : token.text === "true",
      };
    }
    const name = dot === undefined ? token.text : `.${token.text}`;
    const struct = this.#structName(token, dot !== undefined);
    if (struct !== undefined) return struct;
    const open = this.#tokens.accept("(");
    const isReserved = reservedIdentifiers.has(token.text);
    const start = dot?.offset ?? token.offset;
    // Reported before the arguments are parsed, which may end parsing.
    if (isReserved) this.#problems.push({ offset: start, message: `reserved identifier: ${token.text}` });
    const found = this.#problems.length;
    const args = open === undefined ? [] : this.#arguments(name, undefined);
    if (isReserved) {
      // Problems in the arguments are not reported.
      this.#problems.length = found;
      return { kind: "literal", offset: start, value: null };
    }
    if (open === undefined) return { kind: "identifier", offset: token.offset, name };
    return this.#called(call(open.offset, name, undefined, args));
  }

  /** Parses `a.b.C{...}`; undefined if the next tokens are anything else. */
  #structName(first: Token, leadingDot: boolean): Expr | undefined {
    let ahead = 0;
    let name = leadingDot ? `.${first.text}` : first.text;
    while (this.#tokens.is(".", ahead) && isName(this.#tokens.peek(ahead + 1))) {
      name += `.${this.#tokens.peek(ahead + 1).text}`;
      ahead += 2;
    }
    if (!this.#tokens.is("{", ahead)) return undefined;
    for (; ahead > 0; ahead--) this.#tokens.take();
    const brace = this.#tokens.take();
    const fields: StructField[] = [];
    const start = this.#tokens.peek().offset;
    this.#sequence("}", (optional) => {
      const token = this.#tokens.peek();
      if (!isName(token) && token.kind !== "escaped") this.#noField(optional, fields.length === 0, start);
      const field = this.#fieldName();
      const colon = this.#tokens.expect(":");
      fields.push({ offset: colon.offset, name: field, value: this.#expression(), optional });
    });
    const parts = fields.map(({ value }) => value);
    return this.#sizes.record({ kind: "struct", offset: brace.offset, name, fields }, parts);
  }

  /** Reports a missing field name in ANTLR's words. */
  #noField(isOptional: boolean, isFirst: boolean, start: number): never {
    const isField = (token: Token): boolean => isName(token) || token.kind === "escaped";
    if (isOptional) {
      this.#problems.push({ offset: start, message: "unsupported ident kind" });
      return this.#tokens.unexpected("{IDENTIFIER, ESC_IDENTIFIER}", isField);
    }
    if (!isFirst) return this.#tokens.unexpected("'}'", ({ text }) => text === "}");
    return this.#tokens.unexpected(
      "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
      (token) => isField(token) || (token.kind === "symbol" && "},?".includes(token.text)),
    );
  }

  /** Parses elements or `?` elements up to `close`. A trailing comma is allowed, also without elements. */
  #sequence(close: string, element: (optional: boolean) => void): void {
    const tokens = this.#tokens;
    if (!tokens.is(close) && !tokens.is(",")) {
      element(tokens.accept("?") !== undefined);
      while (tokens.is(",") && !tokens.is(close, 1) && !tokens.is(",", 1)) {
        tokens.take();
        element(tokens.accept("?") !== undefined);
      }
    }
    const comma = tokens.accept(",");
    if (comma !== undefined) tokens.expect(close);
    else if (tokens.accept(close) === undefined)
      tokens.unexpected(
        `{'${close}', ','}`,
        ({ kind, text }) => kind === "symbol" && (text === close || text === ","),
      );
  }

  #list(): Expr {
    const open = this.#tokens.take();
    const elements: Expr[] = [];
    const optional = new Set<number>();
    this.#sequence("]", (isOptional) => {
      if (isOptional) optional.add(elements.length);
      elements.push(this.#expression());
    });
    return this.#sizes.record({ kind: "list", offset: open.offset, elements, optional }, elements);
  }

  #map(): Expr {
    const open = this.#tokens.take();
    const entries: MapEntry[] = [];
    this.#sequence("}", (optional) => {
      const key = this.#expression();
      const colon = this.#tokens.expect(":");
      entries.push({ offset: colon.offset, key, value: this.#expression(), optional });
    });
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.#sizes.record({ kind: "map", offset: open.offset, entries }, parts);
  }

  #number(offset: number, sign: "" | "-"): Expr {
    const token = this.#tokens.take();
    const value = numberValue(token, sign);
    if (value === undefined) this.#problems.push({ offset, message: `invalid ${token.kind} literal` });
    return { kind: "literal", offset, value: value ?? null };
  }

  #string(token: Token): Expr {
    try {
      return { kind: "literal", offset: token.offset, value: unquote(token) };
    } catch (error) {
      if (!(error instanceof UnescapeError)) throw error;
      this.#problems.push({ offset: token.offset, message: error.message });
      return { kind: "literal", offset: token.offset, value: "" };
    }
  }
}

const isName = (token: Token): boolean => token.kind === "identifier" && !keywords.has(token.text);
/** Reports whether a minus in front of a token is part of the literal. */
export const isNumber = (token: Token): boolean => token.kind === "int" || token.kind === "double";

export function call(offset: number, name: string, target: Expr | undefined, args: readonly Expr[]): Call {
  return { kind: "call", offset, name, target, args };
}
