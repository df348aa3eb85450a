import type { Clock, Log } from "@dray/client";

const padded = (value: number, length: number): string => String(value).padStart(length, "0");

/**
 * A log in the format of Kubernetes' components, `I0820 18:17:44.131324 1 driver.ts:106] message`: level and
 * day, local time, process, position in the source. Fields follow as `key="value"`; the message is quoted
 * then. Omits debug messages.
 */
export function klog(clock: Clock, write: (line: string) => void): Log {
  const at =
    (level: string) =>
    (fields: object, message: string): void => {
      const date = new Date(clock.now());
      const day = `${padded(date.getMonth() + 1, 2)}${padded(date.getDate(), 2)}`;
      const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => padded(n, 2)).join(":");
      const micros = `${padded(date.getMilliseconds(), 3)}000`;
      const pid = String(process.pid).padStart(7);
      write(`${level}${day} ${time}.${micros} ${pid} ${caller()}] ${text(fields, message)}\n`);
    };
  return { debug: () => {}, info: at("I"), warn: at("W"), error: at("E") };
}

function text(fields: object, message: string): string {
  const entries = Object.entries(fields);
  if (entries.length === 0) return message;
  const pairs = entries.map(([key, value]) => `${key}=${JSON.stringify(shown(value))}`);
  return `${JSON.stringify(message)} ${pairs.join(" ")}`;
}

function shown(value: unknown): string {
  if (value instanceof Error) return value.message;
  return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
}

/** Returns the file and line of the caller of the log. */
function caller(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 3;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = limit;
  const place = /([^/\\]+:\d+):\d+\)?$/.exec(stack.split("\n")[3] ?? "");
  return place?.[1] ?? "unknown:0";
}
