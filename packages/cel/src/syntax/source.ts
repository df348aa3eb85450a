/** An error in an expression. */
export interface Problem {
  /** In code points; -1: the expression as a whole. */
  readonly offset: number;
  readonly message: string;
}

/** Maximum length of the line that an error shows, in bytes of UTF-8. */
const maxSnippetBytes = 16384;
/** Maximum number of errors in a report. The others are counted. */
const maxProblems = 100;

/** An expression as code points, which offsets and columns count. */
export class Source {
  readonly text: string;
  readonly points: readonly string[];
  readonly #lineStarts: number[] = [0];

  constructor(text: string) {
    this.text = text;
    this.points = Array.from(text);
    this.points.forEach((point, i) => {
      if (point === "\n") this.#lineStarts.push(i + 1);
    });
  }

  /**
   * The text of the API server: the first problems found, sorted by position, each with its line and a caret.
   */
  report(problems: readonly Problem[]): string {
    const located = problems
      .slice(0, maxProblems)
      .map((problem) => ({ ...problem, ...this.#locate(problem.offset) }));
    located.sort((a, b) => a.line - b.line || a.column - b.column);
    const shown = located.map((problem) => {
      const head = `ERROR: <input>:${problem.line}:${problem.column + 1}: ${problem.message}`;
      return problem.line > 0 ? head + this.#snippet(problem.line, problem.column) : head;
    });
    if (problems.length > maxProblems) {
      shown.push(`${problems.length - maxProblems} more errors were truncated`);
    }
    return shown.join("\n");
  }

  #locate(offset: number): { line: number; column: number } {
    if (offset < 0) return { line: -1, column: -1 };
    if (this.points.length === 0) return { line: 1, column: -1 };
    let line = this.#lineStarts.length - 1;
    while (this.#lineStarts[line]! > offset) line--;
    return { line: line + 1, column: offset - this.#lineStarts[line]! };
  }

  #snippet(line: number, column: number): string {
    const start = this.#lineStarts[line - 1]!;
    const next = this.#lineStarts[line];
    const points = this.points.slice(start, next === undefined ? undefined : next - 1);
    if (points.length === 0 && this.points.length === 0) return "";
    if (new TextEncoder().encode(points.join("")).length > maxSnippetBytes) return "";
    const dots = points.slice(0, column).map((point) => (wide(point) ? "．" : "."));
    const under = points[column];
    const caret = under !== undefined && wide(under) ? "＾" : "^";
    return `\n | ${points.join("").replaceAll("\t", " ")}\n | ${dots.join("")}${caret}`;
  }
}

/** Below a character outside ASCII, cel-go writes a full-width dot or caret. */
function wide(point: string): boolean {
  return point > "\x7f";
}
