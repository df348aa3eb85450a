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
  /** How many fields, keys and elements it has; undefined if a key is repeated, of which it has only one. */
  readonly values: number | undefined;
}

/** Pauses between the pieces of long work. */
export interface Pauses {
  /** Resolves when the next piece may begin. */
  (): Promise<void>;
  /** Reports whether the work since the event loop has turned has taken long enough for a pause. */
  readonly isDue: () => boolean;
}

/**
 * Parses JSON: whole numbers beyond 2^53 become bigints, `__proto__` is a key like any other. The notes have
 * repeated keys and the text of other numbers. Throws JSONError, and TooManyValuesError as soon as there are
 * more than `maxValues`.
 */
export function parseJSONTree(text: string, maxValues = Number.POSITIVE_INFINITY): JSONTree {
  const parser = new JSONParser(text, maxValues);
  parser.run();
  return parser.tree;
}

/** Parses JSON like `parseJSONTree`, with a pause wherever one is due; without `pause` all at once. */
export async function parseJSONInPieces(
  text: string,
  maxValues: number,
  pause: Pauses | undefined,
): Promise<JSONTree> {
  const parser = new JSONParser(text, maxValues);
  while (!parser.run(pause?.isDue)) await pause?.();
  return parser.tree;
}

/** Parses JSON like `parseJSONTree`, for callers that need the value only. Throws JSONError. */
export function parseJSON(text: string): unknown {
  return parseJSONTree(text).value;
}

const [quote, backslash, minus, plus, dot, zero, nine] = [0x22, 0x5c, 0x2d, 0x2b, 0x2e, 0x30, 0x39];
const [comma, colon, openList, closeList, openObject, closeObject] = [0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d];
/** Result of `begin` for a value that has only begun. */
const opened = Symbol("opened");
const none: unknown[] = [];
const isDigit = (code: number): boolean => code >= zero && code <= nine;

/** How many values are read before the parser asks again whether a pause is due. */
const valuesBetween = 1024;

/** An object or a list whose end has not been read. */
interface Open {
  readonly around: Open | undefined;
  readonly depth: number;
  /** Undefined in a list. */
  readonly object: Record<string, unknown> | undefined;
  /** Empty in an object. */
  readonly list: unknown[];
  /** Where its text begins, and how many blanks there were before. */
  readonly start: number;
  readonly blanks: number;
  /** The key whose value is next. */
  key: string;
  /** The text of its numbers, where these do not tell it. */
  literals: Map<string | number, string> | undefined;
  /** All entries, if a key is repeated. */
  all: Entry[] | undefined;
}

/**
 * Keeps what is open in a list of its own, not on the stack, so that it can stop after any value. Throws as
 * `parseJSONTree`.
 */
export class JSONParser {
  readonly #text: string;
  #at = 0;
  /** How many blanks there were so far. */
  #blanks = 0;
  /** The text of the last number, where the number does not tell it. */
  #literal: string | undefined;
  readonly #notes = new TextNotes();
  readonly #maxValues: number;
  /** Fields, keys and elements so far, with repeated ones. */
  #values = 0;
  #open: Open | undefined;
  #result: unknown;
  #hasBegun = false;

  constructor(text: string, maxValues: number) {
    this.#text = text;
    this.#maxValues = maxValues;
  }

  get tree(): JSONTree {
    const notes = this.#notes;
    return { value: this.#result, notes, values: notes.hasRepeatedKeys ? undefined : this.#values };
  }

  /** Reads on, to the end or until `isDue`. Reports whether the end is reached. */
  run(isDue?: () => boolean): boolean {
    if (!this.#hasBegun) this.#blank();
    this.#hasBegun = true;
    do {
      const value = this.#begin();
      if (value === opened) continue;
      if (!this.#put(value)) {
        this.#blank();
        if (this.#at < this.#text.length) this.#fail("after top-level value");
        return true;
      }
    } while (this.#values % valuesBetween !== 0 || isDue?.() !== true);
    return false;
  }

  /** Reads a value; of one that is not empty only the beginning, up to its first value. */
  #begin(): unknown {
    const code = this.#text.charCodeAt(this.#at);
    if (code !== openObject && code !== openList) return this.#scalar(code);
    const isObject = code === openObject;
    const around = this.#open;
    const depth = (around?.depth ?? 0) + 1;
    if (depth > maxDepth) this.#fail("exceeded max depth");
    const open: Open = {
      around,
      depth,
      object: isObject ? {} : undefined,
      list: isObject ? none : [],
      start: this.#at++,
      blanks: this.#blanks,
      key: "",
      literals: undefined,
      all: undefined,
    };
    if (this.#blank() === (isObject ? closeObject : closeList)) return this.#close(open);
    this.#open = open;
    this.#next(open);
    return opened;
  }

  /**
   * Puts a value where it belongs, and reads the ends of what it completes, up to the next value. Reports
   * whether there is one.
   */
  #put(value: unknown): boolean {
    let complete = value;
    for (let open = this.#open; open !== undefined; open = open.around) {
      this.#add(open, complete);
      const code = this.#blank();
      if (code === comma) {
        this.#at++;
        this.#blank();
        this.#open = open;
        this.#next(open);
        return true;
      }
      const isObject = open.object !== undefined;
      if (code !== (isObject ? closeObject : closeList))
        this.#fail(isObject ? "after object key:value pair" : "after array element");
      complete = this.#close(open);
    }
    this.#open = undefined;
    this.#result = complete;
    return false;
  }

  /** Reads up to the next value of an object or a list: its key, too. */
  #next(open: Open): void {
    if (open.object !== undefined) {
      if (this.#text.charCodeAt(this.#at) !== quote) this.#fail("looking for beginning of object key string");
      open.key = this.#string();
      if (this.#blank() !== colon) this.#fail("after object key");
      this.#at++;
      this.#blank();
    }
    if (++this.#values > this.#maxValues) throw new TooManyValuesError(this.#maxValues);
  }

  #add(open: Open, value: unknown): void {
    const { object, list, key } = open;
    if (object === undefined) list.push(value);
    else {
      if (Object.hasOwn(object, key)) {
        open.all ??= Object.entries(object);
        open.literals?.delete(key);
      }
      open.all?.push([key, value]);
      setKey(object, key, value);
    }
    if (this.#literal === undefined) return;
    open.literals ??= new Map();
    open.literals.set(object === undefined ? list.length - 1 : key, this.#literal);
    this.#literal = undefined;
  }

  /** Returns an object or a list whose end comes next, and keeps the notes on it. */
  #close({ object, list, start, blanks, literals, all }: Open): object {
    const value = object ?? list;
    this.#at++;
    if (this.#blanks > blanks) this.#notes.setLooseText(value, this.#text.slice(start, this.#at));
    if (all !== undefined) this.#notes.setEntries(value, all);
    if (literals !== undefined) this.#notes.setLiterals(value, literals);
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

  /** Steps over blanks, and gives the character after them. */
  #blank(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.#at++;
      this.#blanks++;
    }
  }

  #scalar(code: number): unknown {
    switch (code) {
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
}

/** The first byte of a character in UTF-8: Go's reader works on bytes. */
function firstByte(code: number): number {
  return code < 0x80 ? code : (Buffer.from(String.fromCodePoint(code))[0] ?? code);
}
