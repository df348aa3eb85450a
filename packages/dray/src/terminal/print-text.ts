import type { TableFormat } from "../text/table.ts";
import { wrapText } from "../text/wrap.ts";

type Stream = Partial<Pick<NodeJS.WriteStream, "isTTY" | "columns">>;

/** Width of a terminal that does not say it. */
const usualWidth = 80;

/** Returns the width of lines for people; Infinity for files and pipes, whose lines programs read. */
export const lineWidth = ({ isTTY, columns }: Stream = process.stdout): number =>
  isTTY ? columns || usualWidth : Number.POSITIVE_INFINITY;

/** The flags of commands that print tables. */
export interface TableFlags {
  readonly output?: string;
  /** False: `--no-headers`. */
  readonly headers?: boolean;
}

/** Returns the format of tables on standard output. */
export const tableFormat = ({ output, headers = true }: TableFlags): TableFormat => ({
  width: lineWidth(),
  wide: output === "wide",
  headers,
});

/** Prints text for people on standard output: its lines are wrapped at the width of the terminal. */
export function printText(text: string): void {
  process.stdout.write(wrapText(text, lineWidth()));
}
