import { columns as aligned } from "./columns.ts";

/** The width and the parts of a table. */
export interface TableFormat {
  /** Maximum width of a line; Infinity: no limit. */
  readonly width: number;
  /** `-o wide`: all columns, each row on one line, whatever the width. */
  readonly wide: boolean;
  /** False (`--no-headers`): rows only, for programs. */
  readonly headers: boolean;
}

/** For files and pipes. */
export const plainFormat: TableFormat = { width: Number.POSITIVE_INFINITY, wide: false, headers: true };

export interface Column {
  readonly title: string;
  /** It is shown with `-o wide` only. */
  readonly wide?: boolean;
  /** The table may leave it out if the terminal is too narrow, the highest number first; absent: never. */
  readonly drop?: number;
  /** Its cells may take several lines. */
  readonly wraps?: boolean;
  /** Width down to which it keeps its cells on one line by leaving out other columns; default: 24. */
  readonly keeps?: number;
}

/** Minimum width of a column whose cells take several lines. */
const minWrapped = 24;
/** The same if no more columns can be left out. */
const minNarrow = 8;

interface Shown {
  readonly column: Column;
  readonly cells: readonly string[];
  readonly width: number;
}

/**
 * Formats a table. One that is wider than the terminal first gets narrower gaps, then cells of several lines,
 * then loses columns, which is said below it.
 */
export function table(
  titles: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  format: TableFormat = plainFormat,
): string {
  const all = titles.map((title): Column => (typeof title === "string" ? { title } : title));
  const columns = all.flatMap((column, i): Shown[] => {
    if (column.wide === true && !format.wide) return [];
    const cells = [...(format.headers ? [column.title] : []), ...rows.map((row) => row[i] ?? "")];
    return [{ column, cells, width: cells.reduce((width, cell) => Math.max(width, cell.length), 0) }];
  });
  if (format.wide || !Number.isFinite(format.width)) return textOf(columns, 3);
  const { shown, dropped } = fit(columns, format.width);
  const gap = totalWidth(shown, 3) <= format.width ? 3 : 2;
  const wrapped = totalWidth(shown, gap) <= format.width ? shown : narrowed(shown, format.width, gap);
  const note =
    dropped.length === 0 || !format.headers
      ? ""
      : `(narrow terminal: without ${dropped.join(", ")}; -o wide has all columns)\n`;
  return `${textOf(wrapped, gap)}${note}`;
}

/** Formats names with their values, which may take several lines. */
export const facts = (
  rows: readonly (readonly [name: string, value: string])[],
  format: TableFormat,
): string => table(["", { title: "", wraps: true }], rows, { ...format, headers: false });

/** Leaves out columns until the others can be shown. */
function fit(columns: readonly Shown[], width: number) {
  let shown = columns;
  const dropped: string[] = [];
  const isTooWide = (): boolean => {
    if (totalWidth(shown, 2) <= width) return false;
    const least = shown.map((each) =>
      each.column.wraps === true ? { ...each, width: minWidthOf(each) } : each,
    );
    return totalWidth(least, 2) > width;
  };
  while (isTooWide()) {
    const last = shown
      .filter(({ column }) => column.drop !== undefined)
      .toSorted((a, b) => Number(hasText(a)) - Number(hasText(b)) || rankOf(b) - rankOf(a))[0];
    if (last === undefined) break;
    shown = shown.filter((each) => each !== last);
    dropped.push(last.column.title);
  }
  const order = columns.map(({ column }) => column.title);
  return { shown, dropped: dropped.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)) };
}

/** Reports whether a column says anything: one with dashes only is left out first. */
const hasText = ({ column, cells }: Shown): boolean =>
  cells.some((cell) => cell !== column.title && cell !== "-" && cell !== "");

const rankOf = ({ column }: Shown): number => column.drop ?? 0;

const totalWidth = (columns: readonly { readonly width: number }[], gap: number): number =>
  columns.reduce((sum, { width }) => sum + width, 0) + gap * Math.max(0, columns.length - 1);

const minWidthOf = ({ column, width }: Shown): number => Math.min(width, column.keeps ?? minWrapped);

/** Gives the columns that may wrap the width that the others leave, the narrow ones what they need. */
function narrowed(columns: readonly Shown[], width: number, gap: number): Shown[] {
  const canWrap = columns.some(({ column }) => column.wraps === true);
  const wraps = ({ column }: Shown): boolean => column.wraps === true || !canWrap;
  const withMinWidths = (least: (column: Shown) => number): Shown[] =>
    columns.map((each) => (wraps(each) ? { ...each, width: least(each) } : each));
  const wanted = withMinWidths(minWidthOf);
  const base =
    totalWidth(wanted, gap) <= width ? wanted : withMinWidths((each) => Math.min(each.width, minNarrow));
  let left = Math.max(0, width - totalWidth(base, gap));
  const widths = base.map((each) => each.width);
  const needs = columns
    .map((each, i) => ({ i, need: each.width - widths[i]! }))
    .filter(({ need }) => need > 0)
    .toSorted((a, b) => a.need - b.need);
  needs.forEach(({ i, need }, done) => {
    const more = Math.min(need, Math.floor(left / (needs.length - done)));
    widths[i]! += more;
    left -= more;
  });
  return columns.map((each, i) => ({ ...each, width: widths[i]! }));
}

function textOf(columns: readonly Shown[], gap: number): string {
  const [first] = columns;
  if (first === undefined) return "";
  const lines = first.cells.flatMap((_, row) => {
    const parts = columns.map(({ cells, width }) => pieces(cells[row]!, width));
    const height = Math.max(...parts.map((each) => each.length));
    return Array.from({ length: height }, (_, line) => parts.map((each) => each[line] ?? ""));
  });
  return aligned(lines, gap);
}

/** Splits a cell into lines: behind a space, else behind a separator of names, else anywhere. */
function pieces(cell: string, width: number): string[] {
  const lines: string[] = [];
  let rest = cell;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const separator = lastSeparator(rest, width);
    const end = space > 0 ? space : separator > 0 ? separator : width;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

function lastSeparator(text: string, width: number): number {
  for (const separators of ["/", ",=-.:"])
    for (let i = width; i > width / 3; i--) if (separators.includes(text[i - 1]!)) return i;
  return 0;
}
