import type { Token } from "./lexer.ts";
import type { Problem } from "./source.ts";

/** Parsing ends here. */
export class Stop extends Error {
  readonly problem: Problem;
  constructor(at: number, message: string) {
    super(message);
    this.problem = { at, message };
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
    return this.accept(text) ?? this.unexpected(`'${text}'`);
  }

  /** Parsing ends: something else should come next. */
  unexpected(wanted: string): never {
    const token = this.peek();
    const found = token.kind === "end" ? "the expression ends" : `found '${token.text}'`;
    throw new Stop(token.at, `Syntax error: ${found} where ${wanted} is wanted`);
  }
}
