import { YAMLError } from "./scalar.ts";

/** Codes of the characters that mean something in YAML. */
export const space = 0x20;
export const tab = 0x09;
const [lineFeed, carriageReturn, nextLine, lineSeparator, paragraphSeparator] = [
  0x0a, 0x0d, 0x85, 0x2028, 0x2029,
];

export const isBlank = (code: number): boolean => code === space || code === tab;

export const isBreak = (code: number): boolean =>
  code === lineFeed ||
  code === carriageReturn ||
  (code > 0x7f && (code === nextLine || code === lineSeparator || code === paragraphSeparator));

/** A blank, a line break or the end of the text. */
export const isBlankOrEnd = (code: number): boolean => code === 0 || isBlank(code) || isBreak(code);

export const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** True for the characters of names of anchors and tags. */
export const isWord = (code: number): boolean =>
  isDigit(code) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  code === 0x5f ||
  code === 0x2d;

/** Read position in a YAML text. Lines are counted from 0 on, as in go-yaml. */
export class Cursor {
  readonly text: string;
  at = 0;
  line = 0;
  /** Position at which the line begins. */
  #lineStart = 0;

  constructor(text: string) {
    this.text = text;
  }

  get column(): number {
    return this.at - this.#lineStart;
  }

  /** The code of the next character, or of the one `ahead` characters after it; 0 at the end. */
  peek(ahead = 0): number {
    const at = this.at + ahead;
    return at < this.text.length ? this.text.charCodeAt(at) : 0;
  }

  /** Steps over a line break. Returns its form in a scalar: `\n`, but for the separators of Unicode. */
  breakLine(): string {
    const code = this.peek();
    this.at += code === carriageReturn && this.peek(1) === lineFeed ? 2 : 1;
    this.line++;
    this.#lineStart = this.at;
    return code === lineSeparator || code === paragraphSeparator ? String.fromCharCode(code) : "\n";
  }

  skipBlanks(): void {
    while (isBlank(this.peek())) this.at++;
  }

  /** Up to the end of the line. */
  skipComment(): void {
    if (this.peek() !== 0x23) return;
    for (let code = this.peek(); code !== 0 && !isBreak(code); code = this.peek()) this.at++;
  }

  /** Is a `---` or `...` at the beginning of a line next? */
  atDocumentIndicator(): boolean {
    if (this.column !== 0) return false;
    const code = this.peek();
    if ((code !== 0x2d && code !== 0x2e) || this.peek(1) !== code || this.peek(2) !== code) return false;
    return isBlankOrEnd(this.peek(3));
  }

  /** A mistake of the text where the reading is. go-yaml does not say that it is in the first line. */
  fail(problem: string): never {
    const line = this.line + 1;
    throw new YAMLError(`yaml: ${line === 1 ? "" : `line ${line}: `}${problem}`, line);
  }
}
