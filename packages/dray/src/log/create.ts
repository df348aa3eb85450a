import { createRequire } from "node:module";
import { type Log, withFields } from "@dray/client";
import { UsageError } from "../terminal/failure.ts";
import { boundedLine } from "./bounded-line.ts";
import { type Destination, type DroppedLine, errorOutput, logFile } from "./destination.ts";
import { serializers } from "./serializers.ts";

const levels = ["debug", "info", "warn", "error"] as const;
type Methods = Omit<Log, "droppedLines">;
type Level = (typeof levels)[number];

/**
 * Creates a log of JSON lines on `file` (standard error if absent); `DRAY_LOG_LEVEL` is debug, info, warn or
 * error (default: info). Throws if the file cannot be opened. Lines that cannot be written later are dropped
 * and counted.
 */
export function createLog(component: string, file?: string): Log {
  const wanted = process.env["DRAY_LOG_LEVEL"] ?? "info";
  const level = levels.find((each) => each === wanted);
  if (level === undefined)
    throw new UsageError(`DRAY_LOG_LEVEL ${wanted}: must be one of ${levels.join(", ")}`);
  const destination =
    file === undefined ? errorOutput(droppedLine(component)) : logFile(file, droppedLine(component));
  return withFields(
    lazyLog(level, destination, () => open(level, destination)),
    { component },
  );
}

function open(level: Level, destination: Destination): Methods {
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const write = (line: string): void => destination.write(boundedLine(line));
  return pino({ level, base: null, serializers }, { write });
}

/** Returns the line that reports dropped lines once the log can be written again. */
function droppedLine(component: string): DroppedLine {
  return (count, reason) => {
    const msg = `the log could not be written: ${count} lines before this one are missing`;
    return `${JSON.stringify({ level: 40, time: Date.now(), component, dropped: count, reason, msg })}\n`;
  };
}

/** Loads pino with the first line: it takes longer to load than many programs run that log nothing. */
function lazyLog(level: Level, destination: Destination, open: () => Methods): Log {
  let log: Methods | undefined;
  const method = (name: Level): Log["info"] => {
    if (levels.indexOf(name) < levels.indexOf(level)) return () => {};
    return (fields, message) => {
      log ??= open();
      log[name](fields, message);
    };
  };
  return {
    debug: method("debug"),
    info: method("info"),
    warn: method("warn"),
    error: method("error"),
    get droppedLines() {
      return destination.dropped;
    },
  };
}
