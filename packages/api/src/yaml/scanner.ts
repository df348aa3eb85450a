import { Cursor, isBlankOrEnd, isBreak, space, tab } from "./cursor.ts";
import { anchorName, readDirective, tagText } from "./tag.ts";
import { blockText, plainText, quotedText } from "./text.ts";
import { noKey, type SimpleKey, type Token, type TokenType } from "./token.ts";

type Indicator = Exclude<TokenType, "scalar">;

/** Maximum number of characters of a key, which is on one line, up to its `:`. */
const maxKeyLength = 1024;
/** Maximum number of levels, as in go-yaml. */
const maxDepth = 10_000;

const [dash, question, colon, bar, greater] = [0x2d, 0x3f, 0x3a, 0x7c, 0x3e];
/** Characters that begin no scalar: `|`, `>`, `%`, `@` and "`". */
const reserved = new Set([bar, greater, 0x25, 0x40, 0x60]);

/**
 * Cuts a YAML text into tokens, by the rules of libyaml, which go-yaml follows, and with its words for
 * mistakes.
 */
export class Scanner {
  readonly #cursor: Cursor;
  /** Tokens that were found; those before `#head` are taken. */
  readonly #tokens: Token[] = [];
  #head = 0;
  #takenCount = 0;
  #indent = -1;
  readonly #indents: number[] = [];
  #flowLevel = 0;
  #keyAllowed = true;
  /** One for each level of flow collections, and those of levels that were left, for the next ones. */
  readonly #keys: SimpleKey[] = [noKey()];

  constructor(text: string) {
    this.#cursor = new Cursor(text);
  }

  /** The next token. Throws YAMLError. */
  peek(): Token {
    for (;;) {
      const token = this.#tokens[this.#head];
      if (token !== undefined) {
        const { key } = token;
        if (key?.token !== this.#takenCount || !key.awaited || !this.#stillPossible(key)) return token;
      }
      this.#fetch();
    }
  }

  /** Steps over the next token; the end of the stream stays. */
  skip(): void {
    if (this.#tokens[this.#head]?.type === "stream end") return;
    this.#head++;
    this.#takenCount++;
    // Not each time: it takes as long as there are tokens left.
    if (this.#head < 4 * maxKeyLength) return;
    this.#tokens.splice(0, this.#head);
    this.#head = 0;
  }

  /** Of the token that is found next, among all. */
  #nextNumber(): number {
    return this.#takenCount + this.#tokens.length - this.#head;
  }

  #push(type: Indicator): void {
    this.#tokens.push({ type, line: this.#cursor.line, text: "", plain: false, key: undefined });
  }

  /** Puts a token before one that was found; -1 means the end. */
  #insert(number: number, type: Indicator, line: number): void {
    const token = { type, line, text: "", plain: false, key: undefined };
    if (number < 0) this.#tokens.push(token);
    else this.#tokens.splice(this.#head + number - this.#takenCount, 0, token);
  }

  #fetch(): void {
    const cursor = this.#cursor;
    this.#toNextToken();
    this.#unroll(cursor.column);
    const code = cursor.peek();
    if (code === 0) this.#streamEnd();
    else if (code === 0x25 && cursor.column === 0) this.#directive();
    else if (cursor.atDocumentIndicator()) this.#documentIndicator(code);
    else this.#content(code);
  }

  #content(code: number): void {
    switch (code) {
      case 0x5b:
        this.#openFlow("flow sequence start");
        break;
      case 0x7b:
        this.#openFlow("flow mapping start");
        break;
      case 0x5d:
        this.#closeFlow("flow sequence end");
        break;
      case 0x7d:
        this.#closeFlow("flow mapping end");
        break;
      case 0x2c:
        this.#entry("flow entry");
        break;
      case 0x2a:
        this.#named("alias");
        break;
      case 0x26:
        this.#named("anchor");
        break;
      case 0x21:
        this.#tag();
        break;
      case 0x22:
      case 0x27:
        this.#quoted(code);
        break;
      default:
        this.#contextual(code);
    }
  }

  /** Scans a character whose meaning depends on the context. */
  #contextual(code: number): void {
    const inFlow = this.#flowLevel > 0;
    const blankNext = isBlankOrEnd(this.#cursor.peek(1));
    if (code === dash && blankNext) this.#blockEntry();
    else if (code === question && (inFlow || blankNext)) this.#explicitKey();
    else if (code === colon && (inFlow || blankNext)) this.#value();
    else if ((code === bar || code === greater) && !inFlow) this.#blockScalar(code === bar);
    else if (code === dash || code === question || code === colon) this.#plain();
    else if (isBlankOrEnd(code) || reserved.has(code)) {
      this.#cursor.fail("found character that cannot start any token");
    } else this.#plain();
  }

  #toNextToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      // A tab is not indentation.
      const tabs = this.#flowLevel > 0 || !this.#keyAllowed;
      for (let code = cursor.peek(); code === space || (tabs && code === tab); code = cursor.peek())
        cursor.at++;
      cursor.skipComment();
      if (!isBreak(cursor.peek())) return;
      cursor.breakLine();
      if (this.#flowLevel === 0) this.#keyAllowed = true;
    }
  }

  /** True if the token can still be a key: its `:` is on the same line. */
  #stillPossible(key: SimpleKey): boolean {
    if (!key.possible) return false;
    if (key.line >= this.#cursor.line && key.at + maxKeyLength >= this.#cursor.at) return true;
    if (key.required) this.#cursor.fail("could not find expected ':'");
    key.possible = false;
    return false;
  }

  /** Notes that the next token may be a key. */
  #saveKey(): SimpleKey | undefined {
    if (!this.#keyAllowed) return undefined;
    this.#removeKey();
    const key = this.#key();
    const { at, line, column } = this.#cursor;
    key.possible = true;
    key.awaited = true;
    key.required = this.#flowLevel === 0 && this.#indent === column;
    key.token = this.#nextNumber();
    key.at = at;
    key.line = line;
    key.column = column;
    return key;
  }

  #key(): SimpleKey {
    return this.#keys[this.#flowLevel]!;
  }

  #removeKey(): void {
    const key = this.#key();
    if (!key.possible) return;
    if (key.required) this.#cursor.fail("could not find expected ':'");
    key.possible = false;
  }

  /** Begins a block collection where the column is further right than that of the one around it. */
  #roll(column: number, number: number, type: Indicator, line: number): void {
    if (this.#flowLevel > 0 || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    if (this.#indents.length > maxDepth) this.#cursor.fail(`exceeded max depth of ${maxDepth}`);
    this.#insert(number, type, line);
  }

  /** Ends the block collections that are further right. */
  #unroll(column: number): void {
    if (this.#flowLevel > 0) return;
    while (this.#indent > column) {
      this.#push("block end");
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  #streamEnd(): void {
    if (this.#cursor.column !== 0) this.#cursor.line++;
    this.#unroll(-1);
    this.#removeKey();
    this.#keyAllowed = false;
    this.#push("stream end");
  }

  #directive(): void {
    this.#unroll(-1);
    this.#removeKey();
    this.#keyAllowed = false;
    const { line } = this.#cursor;
    const directive = readDirective(this.#cursor);
    this.#tokens.push({ type: "directive", line, text: "", plain: false, directive });
  }

  #documentIndicator(code: number): void {
    this.#unroll(-1);
    this.#removeKey();
    this.#keyAllowed = false;
    this.#push(code === 0x2d ? "document start" : "document end");
    this.#cursor.at += 3;
  }

  #openFlow(type: Indicator): void {
    const key = this.#saveKey();
    if (++this.#flowLevel > maxDepth) this.#cursor.fail(`exceeded max depth of ${maxDepth}`);
    if (this.#keys.length === this.#flowLevel) this.#keys.push(noKey());
    const within = this.#key();
    within.possible = false;
    within.token = this.#nextNumber();
    this.#keyAllowed = true;
    this.#tokens.push({ type, line: this.#cursor.line, text: "", plain: false, key });
    this.#cursor.at++;
  }

  #closeFlow(type: Indicator): void {
    this.#removeKey();
    if (this.#flowLevel > 0) {
      const { token } = this.#key();
      this.#flowLevel--;
      // A collection without a possible key is not a possible key itself: libyaml finds keys by their
      // numbers.
      if (this.#key().token === token) this.#key().awaited = false;
    }
    this.#keyAllowed = false;
    this.#push(type);
    this.#cursor.at++;
  }

  #entry(type: Indicator): void {
    this.#removeKey();
    this.#entered(type);
  }

  /** An indicator of one character after which a key may stand. */
  #entered(type: Indicator): void {
    this.#keyAllowed = true;
    this.#push(type);
    this.#cursor.at++;
  }

  /** Begins a collection with an indicator that has one of its own, where a key could stand. */
  #begin(type: Indicator, what: string): void {
    if (this.#flowLevel > 0) return;
    if (!this.#keyAllowed) this.#cursor.fail(`${what} are not allowed in this context`);
    this.#roll(this.#cursor.column, -1, type, this.#cursor.line);
  }

  #blockEntry(): void {
    this.#begin("block sequence start", "block sequence entries");
    this.#entry("block entry");
  }

  #explicitKey(): void {
    this.#begin("block mapping start", "mapping keys");
    this.#removeKey();
    this.#keyAllowed = this.#flowLevel === 0;
    this.#push("key");
    this.#cursor.at++;
  }

  #value(): void {
    const key = this.#key();
    if (this.#stillPossible(key)) {
      this.#insert(key.token, "key", key.line);
      this.#roll(key.column, key.token, "block mapping start", key.line);
      key.possible = false;
      this.#keyAllowed = false;
    } else {
      this.#begin("block mapping start", "mapping values");
      this.#keyAllowed = this.#flowLevel === 0;
    }
    this.#push("value");
    this.#cursor.at++;
  }

  #named(type: "alias" | "anchor"): void {
    const key = this.#saveKey();
    this.#keyAllowed = false;
    const { line } = this.#cursor;
    this.#tokens.push({ type, line, text: anchorName(this.#cursor), plain: false, key });
  }

  #tag(): void {
    const key = this.#saveKey();
    this.#keyAllowed = false;
    const { line } = this.#cursor;
    this.#tokens.push({ type: "tag", line, text: "", plain: false, key, written: tagText(this.#cursor) });
  }

  #blockScalar(literal: boolean): void {
    this.#removeKey();
    this.#keyAllowed = true;
    const { line } = this.#cursor;
    const text = blockText(this.#cursor, literal, this.#indent);
    this.#tokens.push({ type: "scalar", line, text, plain: false, key: undefined });
  }

  #quoted(quote: number): void {
    const key = this.#saveKey();
    this.#keyAllowed = false;
    const { line } = this.#cursor;
    this.#tokens.push({ type: "scalar", line, text: quotedText(this.#cursor, quote), plain: false, key });
  }

  #plain(): void {
    const key = this.#saveKey();
    this.#keyAllowed = false;
    const { line } = this.#cursor;
    const { value, broken } = plainText(this.#cursor, this.#flowLevel > 0, this.#indent);
    if (broken) this.#keyAllowed = true;
    this.#tokens.push({ type: "scalar", line, text: value, plain: true, key });
  }
}
