import { quotedByte } from "../text/quoted.ts";
import { type Entry, TextNotes } from "./text-notes.ts";

import { TooManyValuesError } from "./value-count.ts";

/** Not JSON: the message is Go's, which clients know. */
export class JSONError extends SyntaxError {
  override readonly name = "JSONError";
  /** Index of the character that cannot be read; the length of the text if it ends too early. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Maximum depth, as in Go's encoding/json. */
const maxDepth = 10_000;
/**
 * Maximum length of a whole number: a longer one is refused as out of range at once, since a bigint of
 * millions of digits takes seconds to read and to write. No field holds so large a number.
 */
const maxWholeLength = 1001;

/** Sets a key that may be `__proto__`. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else object[key] = value;
}

/** A value, and notes on its text. */
export interface JSONTree {
  readonly value: unknown;
  readonly notes: TextNotes;
}

/**
 * Parses JSON: whole numbers beyond 2^53 become bigints, `__proto__` is a key like any other. The notes have
 * repeated keys and the text of other numbers. Throws JSONError, and TooManyValuesError as soon as there are
 * more than `maxValues`.
 */
export function parseJSONTree(text: string, maxValues = Number.POSITIVE_INFINITY): JSONTree {
  const notes = new TextNotes();
  return { value: new Parser(text, notes, maxValues).parse(), notes };
}

/** Parses JSON like `parseJSONTree`, for callers that need the value only. Throws JSONError. */
export function parseJSON(text: string): unknown {
  return parseJSONTree(text).value;
}

const [quote, backslash, minus, plus, dot, zero, nine] = [0x22, 0x5c, 0x2d, 0x2b, 0x2e, 0x30, 0x39];
const [comma, colon, openList, closeList, openObject, closeObject] = [0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d];
const isDigit = (code: number): boolean => code >= zero && code <= nine;

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** How many blanks there were so far. */
  #blanks = 0;
  /** The text of the last number, where the number does not tell it. */
  #literal: string | undefined;
  readonly #notes: TextNotes;
  readonly #maxValues: number;
  /** Fields, keys and elements so far, with repeated ones. */
  #values = 0;

  constructor(text: string, notes: TextNotes, maxValues: number) {
    this.#text = text;
    this.#notes = notes;
    this.#maxValues = maxValues;
  }

  parse(): unknown {
    this.#blank();
    let value: unknown;
    try {
      value = this.#value();
    } catch (error) {
      // The stack may end before the nesting that Go allows.
      if (error instanceof RangeError) throw new JSONError("exceeded max depth", this.#at);
      throw error;
    }
    this.#blank();
    if (this.#at < this.#text.length) this.#fail("after top-level value");
    return value;
  }

  /** Go reads on as if a blank followed the text: within a word or a number that is the wrong character. */
  #fail(where: string, within: "word" | "gap" = "gap"): never {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined && within === "gap") {
      throw new JSONError("unexpected end of JSON input", this.#at);
    }
    throw new JSONError(`invalid character ${quotedByte(firstByte(code ?? 0x20))} ${where}`, this.#at);
  }

  /** Notes the text of a value that has blanks in it. */
  #note(value: object, start: number, blanks: number): void {
    if (this.#blanks > blanks) this.#notes.setLooseText(value, this.#text.slice(start, this.#at));
  }

  /** Steps over blanks, and gives the character after them. */
  #blank(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.#at++;
      this.#blanks++;
    }
  }

  #value(): unknown {
    const code = this.#text.charCodeAt(this.#at);
    switch (code) {
      case openObject:
        return this.#object();
      case openList:
        return this.#array();
      case quote:
        return this.#string();
      case 0x74:
        return this.#word("true", true);
      case 0x66:
        return this.#word("false", false);
      case 0x6e:
        return this.#word("null", null);
      default:
        if (code !== minus && !isDigit(code)) this.#fail("looking for beginning of value");
        return this.#number();
    }
  }

  #word<T>(word: string, value: T): T {
    for (let i = 0; i < word.length; i++, this.#at++) {
      if (this.#text.charCodeAt(this.#at) !== word.charCodeAt(i)) {
        this.#fail(`in literal ${word} (expecting '${word[i]}')`, "word");
      }
    }
    return value;
  }

  #number(): number | bigint {
    const start = this.#at;
    if (this.#text.charCodeAt(this.#at) === minus) this.#at++;
    if (this.#text.charCodeAt(this.#at) === zero) this.#at++;
    else this.#digits("in numeric literal");
    let whole = true;
    if (this.#text.charCodeAt(this.#at) === dot) {
      whole = false;
      this.#at++;
      this.#digits("after decimal point in numeric literal");
    }
    if ((this.#text.charCodeAt(this.#at) | 0x20) === 0x65) {
      whole = false;
      const sign = this.#text.charCodeAt(++this.#at);
      if (sign === minus || sign === plus) this.#at++;
      this.#digits("in exponent of numeric literal");
    }
    const literal = this.#text.slice(start, this.#at);
    const number = Number(literal);
    if (whole && literal.length <= maxWholeLength)
      return Number.isSafeInteger(number) ? number : BigInt(literal);
    if (!Number.isFinite(number)) {
      throw new JSONError(`json: cannot unmarshal number ${literal} into Go value of type float64`, start);
    }
    this.#literal = literal;
    return number;
  }

  #digits(where: string): void {
    if (!isDigit(this.#text.charCodeAt(this.#at))) this.#fail(where, "word");
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #string(): string {
    const text = this.#text;
    const start = ++this.#at;
    let escaped = false;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code === quote) break;
      if (code === backslash) {
        escaped = true;
        this.#escape();
      } else if (code < 0x20 || Number.isNaN(code)) this.#fail("in string literal");
      else this.#at++;
    }
    const end = this.#at++;
    // Go replaces unpaired surrogates with U+FFFD.
    return escaped
      ? (JSON.parse(text.slice(start - 1, end + 1)) as string).toWellFormed()
      : text.slice(start, end);
  }

  #escape(): void {
    const letter = this.#text[++this.#at];
    if (letter === undefined || !'"\\/bfnrtu'.includes(letter)) this.#fail("in string escape code", "word");
    this.#at++;
    for (let i = 0; letter === "u" && i < 4; i++, this.#at++) {
      if (!/^[0-9a-fA-F]/.test(this.#text[this.#at] ?? "")) {
        this.#fail("in \\u hexadecimal character escape", "word");
      }
    }
  }

  #count(): void {
    if (++this.#values > this.#maxValues) throw new TooManyValuesError(this.#maxValues);
  }

  #open(): void {
    if (++this.#depth > maxDepth) this.#fail("exceeded max depth");
    this.#at++;
  }

  #close(): void {
    this.#depth--;
    this.#at++;
  }

  #array(): unknown[] {
    const [start, blanks] = [this.#at, this.#blanks];
    this.#open();
    const list: unknown[] = [];
    let noted: Map<number, string> | undefined;
    if (this.#blank() === closeList) {
      this.#close();
      this.#note(list, start, blanks);
      return list;
    }
    for (;;) {
      this.#blank();
      this.#count();
      list.push(this.#value());
      if (this.#literal !== undefined) {
        noted ??= new Map();
        noted.set(list.length - 1, this.#literal);
        this.#literal = undefined;
      }
      const next = this.#blank();
      if (next === closeList) break;
      if (next !== comma) this.#fail("after array element");
      this.#at++;
    }
    this.#close();
    this.#note(list, start, blanks);
    if (noted !== undefined) this.#notes.setLiterals(list, noted);
    return list;
  }

  #object(): Record<string, unknown> {
    const [start, blanks] = [this.#at, this.#blanks];
    this.#open();
    const object: Record<string, unknown> = {};
    let noted: Map<string, string> | undefined;
    let all: Entry[] | undefined;
    if (this.#blank() === closeObject) {
      this.#close();
      this.#note(object, start, blanks);
      return object;
    }
    for (;;) {
      if (this.#blank() !== quote) this.#fail("looking for beginning of object key string");
      const key = this.#string();
      if (this.#blank() !== colon) this.#fail("after object key");
      this.#at++;
      this.#blank();
      this.#count();
      const value = this.#value();
      if (Object.hasOwn(object, key)) {
        all ??= Object.entries(object);
        noted?.delete(key);
      }
      all?.push([key, value]);
      if (this.#literal !== undefined) {
        noted ??= new Map();
        noted.set(key, this.#literal);
        this.#literal = undefined;
      }
      setKey(object, key, value);
      const next = this.#blank();
      if (next === closeObject) break;
      if (next !== comma) this.#fail("after object key:value pair");
      this.#at++;
    }
    this.#close();
    this.#note(object, start, blanks);
    if (all !== undefined) this.#notes.setEntries(object, all);
    if (noted !== undefined) this.#notes.setLiterals(object, noted);
    return object;
  }
}

/** The first byte of a character in UTF-8: Go's reader works on bytes. */
function firstByte(code: number): number {
  return code < 0x80 ? code : (Buffer.from(String.fromCodePoint(code))[0] ?? code);
}
