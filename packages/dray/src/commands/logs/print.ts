import type { styleText } from "node:util";
import { type Entry, nameOf } from "./entry.ts";

type Level = readonly [least: number, name: string, style: Parameters<typeof styleText>[0]];

const lowest: Level = [0, "debug", "dim"];
const levels: readonly Level[] = [
  [50, "error", "red"],
  [40, "warn", "yellow"],
  [30, "info", "none"],
];

export interface PrintOptions {
  /** Width of the column of names. */
  readonly width: number;
  /** Also print stacks of errors. */
  readonly stacks: boolean;
  readonly colour: (style: Parameters<typeof styleText>[0], text: string) => string;
}

/** Formats an entry for people: local time, level, component, message, and the fields. */
export function entryText(entry: Entry, { width, stacks, colour }: PrintOptions): string {
  const [, level, style] = levels.find(([least]) => entry.level >= least) ?? lowest;
  const { err, error = err, ...rest } = entry.fields;
  const fields = Object.entries(rest).map(
    ([key, value]) => ` ${colour("dim", `${key}=`)}${valueText(value)}`,
  );
  const failure = errorText(error);
  const line = [
    colour("dim", localTime(entry.time)),
    colour(style, level.padEnd(5)),
    nameOf(entry).padEnd(width),
    `${printable(entry.message)}${failure === "" ? "" : `: ${printable(failure)}`}${fields.join("")}`,
  ].join("  ");
  const stack = stacks ? stackText(error) : "";
  return `${line}\n${stack === "" ? "" : colour("dim", `${stack}\n`)}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `Nov 22 18:53:31.123`, in the time zone of this process. */
function localTime(time: number): string {
  const date = new Date(time);
  const two = (number: number): string => String(number).padStart(2, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${months[date.getMonth()]} ${two(date.getDate())} ${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** An error in the form of `../log/serializers.ts`, with its causes. */
interface LoggedError {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

function errorText(error: unknown): string {
  if (error === undefined) return "";
  if (typeof error !== "object" || error === null) return String(error);
  const { message, cause } = error as LoggedError;
  if (typeof message !== "string") return JSON.stringify(error);
  const behind = errorText(cause);
  return behind === "" || message.includes(behind) ? message : `${message}: ${behind}`;
}

function stackText(error: unknown): string {
  const { stack } = (error ?? {}) as LoggedError;
  return typeof stack === "string"
    ? stack
        .split("\n")
        .map((line) => `    ${printable(line.trim())}`)
        .join("\n")
    : "";
}

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return typeof value === "string" && /^[^\s"\\=]+$/.test(value)
    ? printable(text)
    : typeof value === "string"
      ? printable(JSON.stringify(value))
      : printable(text);
}

/**
 * Escapes control characters as `\x1b`: text of a driver or a client must not move the cursor of the
 * terminal.
 */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be escaped.
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}
