import { quoted, StatusError } from "@dray/api";
import { readTime, TimeError } from "@dray/api/codec";

/** Parses `gracePeriodSeconds` and the like: an int64. Throws 400 with Go's message. */
export function integerOption(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) {
    throw StatusError.of("BadRequest", `strconv.ParseInt: parsing ${quoted(text)}: invalid syntax`);
  }
  const value = BigInt(text);
  if (value > 9223372036854775807n || value < -9223372036854775808n) {
    throw StatusError.of("BadRequest", `strconv.ParseInt: parsing ${quoted(text)}: value out of range`);
  }
  return Number(value);
}

/** Parses an RFC 3339 time, in UTC; present but empty is Go's zero time. Throws 400. */
export function timeOption(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  try {
    return (text === "" || text === "null" ? null : readTime(text, "Time")) ?? "0001-01-01T00:00:00Z";
  } catch (error) {
    if (error instanceof TimeError) throw StatusError.of("BadRequest", error.message);
    throw error;
  }
}

/** Parses `ports=80,443&ports=8080`. Throws 400 for an invalid port number. */
export function portsOption(query: URLSearchParams, name: string): number[] {
  return query
    .getAll(name)
    .flatMap((value) => value.split(","))
    .map((text) => {
      const digits = /^\d+$/.test(text);
      if (digits && Number(text) < 65_536) return Number(text);
      const reason = digits ? "value out of range" : "invalid syntax";
      throw StatusError.of(
        "BadRequest",
        `cannot convert to []int32: strconv.ParseUint: parsing ${quoted(text)}: ${reason}`,
      );
    });
}
