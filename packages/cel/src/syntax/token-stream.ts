import type { Token } from "./lexer.ts";
import type { Problem } from "./source.ts";

/** Ends parsing with a problem. */
export class ParseError extends Error {
  readonly problem: Problem;
  constructor(offset: number, message: string) {
    super(message);
    this.problem = { offset, message };
  }
}

/** A limit of the parser is exceeded. It is the only problem that is reported. */
export class ParseLimitError extends ParseError {}

/** A cursor in the tokens of an expression. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #next = 0;

  /** The last token must be `end`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The number of tokens that have been taken. */
  get position(): number {
    return this.#next;
  }

  /** The tokens from a position up to the next one, that included. */
  since(position: number): readonly Token[] {
    return this.#tokens.slice(position, this.#next + 1);
  }

  /** The next token, or a later one. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  /** Takes the next token. `end` stays. */
  take(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.#next++;
    return token;
  }

  is(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "symbol" && token.text === text;
  }

  /** Takes a symbol if it is the next token. */
  accept(text: string): Token | undefined {
    return this.is(text) ? this.take() : undefined;
  }

  /** Takes a symbol. Throws ParseError if it is not the next token. */
  expect(text: string): Token {
    return this.accept(text) ?? this.#unexpectedInsteadOf(text);
  }

  #unexpectedInsteadOf(text: string): never {
    const token = this.peek();
    const follows = text === ":" ? startsExpression : followsOperand;
    const isNext = (other: Token): boolean => other.kind === "symbol" && other.text === text;
    if (!isNext(this.peek(1)) && follows(token))
      throw new ParseError(token.offset, `Syntax error: missing '${text}' at '${token.text}'`);
    return this.unexpected(`'${text}'`, isNext);
  }

  /**
   * Throws ParseError with the text of ANTLR. ANTLR skips a token in front of an expected one, and continues:
   * then the token is extraneous.
   */
  unexpected(wanted: string, isWanted: (token: Token) => boolean): never {
    const token = this.peek();
    const which = token.kind !== "end" && isWanted(this.peek(1)) ? "extraneous" : "mismatched";
    throw new ParseError(token.offset, `Syntax error: ${which} input '${token.text}' expecting ${wanted}`);
  }

  /** Throws ParseError for a dot without a name. */
  noViableAlternative(): never {
    const token = this.peek();
    const text = token.kind === "end" ? "." : `.${token.text}`;
    throw new ParseError(token.offset, `Syntax error: no viable alternative at input '${text}'`);
  }
}

/** The first tokens of an expression in ANTLR's order. */
export const expressionStarts =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Reports whether an expression can start with a token. */
export function startsExpression(token: Token): boolean {
  if (token.kind === "symbol") return "[{(.-!".includes(token.text);
  return token.kind !== "end" && token.kind !== "escaped" && token.text !== "in";
}

/** Reports whether a token can follow a complete operand. */
function followsOperand(token: Token): boolean {
  return (
    token.kind === "end" || token.text === "in" || (token.kind === "symbol" && !"({!".includes(token.text))
  );
}
