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
  const skip =
    query.tailLines === undefined ? 0 : await linesBefore(runtime, logPath, query, query.tailLines);
  let index = 0;
  const follow = query.follow ? signal : undefined;
  for await (const { at, text } of runtime.readLog(logPath, follow)) {
    if (signal.aborted) return;
    if (query.since !== undefined && at < query.since) continue;
    if (index++ < skip) continue;
    const stamped = query.timestamps ? Buffer.concat([Buffer.from(`${stamp(at)} `), text]) : text;
    const chunk = stamped.subarray(0, Math.min(stamped.length, left));
    left -= chunk.length;
    yield chunk;
    if (left <= 0) return;
  }
}

/** Number of lines before the last `tail` ones. */
async function linesBefore(
  runtime: RuntimeService,
  logPath: string,
  { since }: LogQuery,
  tail: number,
): Promise<number> {
  let count = 0;
  for await (const { at } of runtime.readLog(logPath, undefined))
    if (since === undefined || at >= since) count++;
  return Math.max(0, count - tail);
}

/** RFC 3339 with nanoseconds, of which the clock has the first three digits. */
function stamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000000Z");
}
