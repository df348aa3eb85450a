import { RE2JS, RE2JSSyntaxException } from "@bufbuild/re2";

/** A compiled pattern in RE2's syntax. */
export interface Pattern {
  /** Reports whether the pattern matches anywhere in a text, in linear time. */
  test(text: string): boolean;
}

/** Compiles a pattern; returns the error text of Go's regexp package for an invalid one. */
export function compilePattern(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const nameless = error.error.startsWith("duplicate") ? withoutNames(pattern) : pattern;
    if (nameless !== pattern) return compilePattern(nameless);
    // Go shows the whole of a pattern that is too large or too deep.
    const shown = error.error.startsWith("expression ") ? pattern : (error.input ?? "");
    return `error parsing regexp: ${error.error}: \`${shown}\``;
  }
}

/** Instructions of a program up to which RE2 is fast for any text. */
const maxSmallProgram = 64;

/**
 * Returns the work of searching a text for a pattern, in units that take 20 to 150 ns at worst. RE2's time is
 * linear in the text, but also in the size of the program, and `(?:a?){1000}a{1000}` has 3,000 instructions:
 * 20,000 characters take 9 seconds. CEL's cost counts the characters of the pattern.
 */
export function patternWork(pattern: Pattern, text: string): number {
  const size = pattern instanceof RE2JS ? pattern.re2().prog.numInst() : 1;
  return Math.ceil((size * text.length) / (size > maxSmallProgram ? 1 : 8));
}

/** Matches parts that can contain a `(` that does not open a group, or the name of a group. */
const names = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]?|\(\?P?<\w+>/gsu;

/** In Go two groups may have the same name. CEL has no access to names. */
const withoutNames = (pattern: string): string =>
  pattern.replace(names, (part) => (part.startsWith("(") ? "(" : part));

/** Returns the error text of Go's regexp package for an invalid pattern, undefined for a valid one. */
export function patternProblem(pattern: string): string | undefined {
  const result = compilePattern(pattern);
  return typeof result === "string" ? result : undefined;
}

/** A compiled pattern takes a hundred bytes and more for each of its characters. */
const maxPatterns = 256;
const maxCharacters = 2 ** 18;

/** The patterns compiled last: most are constants of an expression that runs repeatedly. */
export class PatternCache {
  readonly #compiled = new Map<string, RE2JS | string>();
  #characters = 0;

  /** Like `compilePattern`. */
  compile(pattern: string): RE2JS | string {
    const cached = this.#compiled.get(pattern);
    if (cached !== undefined) return cached;
    this.#characters += pattern.length;
    if (this.#compiled.size >= maxPatterns || this.#characters > maxCharacters) {
      this.#compiled.clear();
      this.#characters = pattern.length;
    }
    const result = compilePattern(pattern);
    this.#compiled.set(pattern, result);
    return result;
  }
}
