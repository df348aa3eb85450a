import type { ApiRequest } from "@dray/client";

/**
 * Parses raw headers: names and values alternate, as sent. A name may be anything: the records have no
 * prototype. The authority of an HTTP/2 request is its Host.
 */
export function headersOf(raw: readonly string[]): Pick<ApiRequest, "headers" | "repeated"> {
  const headers: Record<string, string> = Object.create(null);
  let repeated: Record<string, string[]> | undefined;
  let authority: string | undefined;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    if (name.startsWith(":")) {
      if (name === ":authority") authority = raw[at + 1]!;
      continue;
    }
    const value = decoded(raw[at + 1]!);
    const first = headers[name];
    if (first === undefined) {
      headers[name] = value;
      continue;
    }
    repeated ??= Object.create(null) as Record<string, string[]>;
    repeated[name] ??= [first];
    repeated[name].push(value);
  }
  if (authority !== undefined) headers["host"] = authority;
  return repeated === undefined ? { headers } : { headers, repeated };
}

/** Node decodes a header as Latin-1; Kubernetes uses UTF-8. */
function decoded(value: string): string {
  return /[^\0-\x7f]/.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value;
}
