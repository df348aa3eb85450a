/** One thing that is wrong with an expression. */
export interface Problem {
  /** Offset in code points; -1: no place in the source. */
  readonly offset: number;
  readonly message: string;
}

/** Longest line that an error shows, in bytes of UTF-8. */
const longestSnippet = 16384;
/** Errors shown; the rest is counted. */
const mostProblems = 100;

/** An expression as a list of code points: offsets, lines and columns count those. */
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

  /** The first problems found, as the API server prints them: sorted by place, each with its line and a caret. */
  report(problems: readonly Problem[]): string {
    const placed = problems
      .slice(0, mostProblems)
      .map((problem) => ({ ...problem, ...this.#place(problem.offset) }));
    placed.sort((a, b) => a.line - b.line || a.column - b.column);
    const shown = placed.map((problem) => {
      const head = `ERROR: <input>:${problem.line}:${problem.column + 1}: ${problem.message}`;
      return problem.line > 0 ? head + this.#snippet(problem.line, problem.column) : head;
    });
    if (problems.length > mostProblems) {
      shown.push(`${problems.length - mostProblems} more errors were truncated`);
    }
    return shown.join("\n");
  }

  #place(offset: number): { line: number; column: number } {
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
    if (new TextEncoder().encode(points.join("")).length > longestSnippet) return "";
    const dots = points.slice(0, column).map((point) => (wide(point) ? "．" : "."));
    const under = points[column];
    const caret = under !== undefined && wide(under) ? "＾" : "^";
    return `\n | ${points.join("").replaceAll("\t", " ")}\n | ${dots.join("")}${caret}`;
  }
}

/** Beyond ASCII: the caret line makes room for it with a full-width character. */
function wide(point: string): boolean {
  return point.codePointAt(0)! > 127;
}
