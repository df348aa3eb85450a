import { StatusError } from "@dray/api";
import type { Container, RuntimeService } from "../runtime/service.ts";

/** Query of a log (PodLogOptions). */
export interface LogQuery {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  /** Milliseconds since the epoch; earlier lines are omitted. */
  readonly since: number | undefined;
  readonly previous: boolean;
}

/** Parses the query of `/containerLogs/...`. Throws BadRequest with the parameter and its value. */
export function logQuery(parameters: URLSearchParams, now: number): LogQuery {
  const flag = (name: string): boolean => {
    const value = parameters.get(name);
    if (value === null || value === "false" || value === "0") return false;
    if (value === "" || value === "true" || value === "1") return true;
    throw StatusError.of("BadRequest", `${name}: ${JSON.stringify(value)} must be true or false`);
  };
  const count = (name: string, least: number): number | undefined => {
    const value = parameters.get(name);
    if (value === null || value === "") return undefined;
    const number = Number(value);
    if (!Number.isSafeInteger(number) || number < least)
      throw StatusError.of(
        "BadRequest",
        `${name}: ${JSON.stringify(value)} must be an integer of at least ${least}`,
      );
    return number;
  };
  const seconds = count("sinceSeconds", 1);
  const time = parameters.get("sinceTime");
  const since = seconds !== undefined ? now - seconds * 1000 : time ? Date.parse(time) : undefined;
  if (Number.isNaN(since))
    throw StatusError.of("BadRequest", `sinceTime: ${JSON.stringify(time)} must be a time of RFC 3339`);
  return {
    follow: flag("follow"),
    timestamps: flag("timestamps"),
    tailLines: count("tailLines", 0),
    limitBytes: count("limitBytes", 1),
    since,
    previous: flag("previous"),
  };
}

/** Log of a container by the query; ends with the container, or when `signal` aborts. */
export async function* containerLog(
  runtime: RuntimeService,
  container: Container,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { logPath } = container.config;
  let left = query.limitBytes ?? Number.POSITIVE_INFINITY;
  const options = { tail: query.tailLines, follow: query.follow ? signal : undefined };
  // A log that grows meanwhile does not make the end longer.
  let linesLeft = query.follow ? Number.POSITIVE_INFINITY : (query.tailLines ?? Number.POSITIVE_INFINITY);
  let isNewLine = true;
  let last = { at: 0, stamp: stamp(0) };
  for await (const lines of runtime.readLog(logPath, options)) {
    if (signal.aborted) return;
    const parts: Buffer[] = [];
    for (const { at, text } of lines) {
      if (linesLeft <= 0) break;
      const beginsLine = isNewLine;
      isNewLine = text.at(-1) === 10;
      if (isNewLine) linesLeft--;
      if (query.since !== undefined && at < query.since) continue;
      if (query.timestamps && beginsLine) {
        if (last.at !== at) last = { at, stamp: stamp(at) };
        parts.push(last.stamp);
      }
      parts.push(text);
    }
    const all = Buffer.concat(parts);
    if (all.length > 0) yield all.subarray(0, Math.min(all.length, left));
    left -= all.length;
    if (left <= 0 || linesLeft <= 0) return;
  }
}

/** RFC 3339 with nanoseconds, of which the clock has the first three digits, and a space. */
function stamp(milliseconds: number): Buffer {
  return Buffer.from(`${new Date(milliseconds).toISOString().replace("Z", "000000Z")} `);
}
