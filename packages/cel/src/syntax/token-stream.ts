import type { Token } from "./lexer.ts";
import type { Problem } from "./source.ts";

/** Parsing ends here. */
export class Stop extends Error {
  readonly problem: Problem;
  constructor(offset: number, message: string) {
    super(message);
    this.problem = { offset, message };
  }
}

/** Nothing of the source has been looked at closer. */
export class TooDeep extends Stop {}

/** What the parser has yet to read. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #next = 0;

  /** The last token must be `end`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** How many tokens are behind. */
  get position(): number {
    return this.#next;
  }

  /** The tokens from there up to the next one. */
  since(position: number): readonly Token[] {
    return this.#tokens.slice(position, this.#next + 1);
  }

  /** The next token, or a later one. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  /** The next token, which is behind then; the end stays. */
  take(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.#next++;
    return token;
  }

  is(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "symbol" && token.text === text;
  }

  /** Takes the symbol if it comes next. */
  accept(text: string): Token | undefined {
    return this.is(text) ? this.take() : undefined;
  }

  expect(text: string): Token {
    return this.accept(text) ?? this.#unexpectedInsteadOf(text);
  }

  #unexpectedInsteadOf(text: string): never {
    const token = this.peek();
    const follows = text === ":" ? startsExpression : followsOperand;
    const isNext = (other: Token): boolean => other.kind === "symbol" && other.text === text;
    if (!isNext(this.peek(1)) && follows(token))
      throw new Stop(token.offset, `Syntax error: missing '${text}' at '${token.text}'`);
    return this.unexpected(`'${text}'`, isNext);
  }

  /**
   * Parsing ends: something else should come next. The words are ANTLR's, whose parser goes on: a token that it can
   * leave out, because what it wants comes behind it, is extraneous.
   */
  unexpected(wanted: string, isWanted: (token: Token) => boolean): never {
    const token = this.peek();
    const which = token.kind !== "end" && isWanted(this.peek(1)) ? "extraneous" : "mismatched";
    throw new Stop(token.offset, `Syntax error: ${which} input '${token.text}' expecting ${wanted}`);
  }

  /** Parsing ends: what was begun with a dot leads nowhere. */
  nowhere(): never {
    const token = this.peek();
    const text = token.kind === "end" ? "." : `.${token.text}`;
    throw new Stop(token.offset, `Syntax error: no viable alternative at input '${text}'`);
  }
}

/** What an expression can begin with, as ANTLR lists it. */
export const expressionStarts =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Whether an expression can begin with it. */
export function startsExpression(token: Token): boolean {
  if (token.kind === "symbol") return "[{(.-!".includes(token.text);
  return token.kind !== "end" && token.kind !== "escaped" && token.text !== "in";
}

/** Whether it can follow an operand that has come to its end. */
function followsOperand(token: Token): boolean {
  return (
    token.kind === "end" || token.text === "in" || (token.kind === "symbol" && !"({!".includes(token.text))
  );
}
