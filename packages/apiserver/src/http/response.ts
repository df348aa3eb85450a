import type { BodyResponse } from "@dray/client";

type Headers = Record<string, string | readonly string[]>;

const encoder = new TextEncoder();

/** Creates a response whose bytes are encoded on first use. */
export function bodyResponse(
  status: number,
  headers: Headers,
  make: () => string | Uint8Array,
  object?: object,
): BodyResponse {
  let bytes: Uint8Array | undefined;
  return {
    type: "body",
    status,
    headers,
    ...(object === undefined ? {} : { object }),
    bytes() {
      if (bytes === undefined) {
        const made = make();
        bytes = typeof made === "string" ? encoder.encode(made) : made;
      }
      return bytes;
    },
  };
}

export function textResponse(status: number, text: string, headers: Headers = {}): BodyResponse {
  return bodyResponse(
    status,
    {
      "cache-control": "no-cache, private",
      "content-type": "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
      ...headers,
    },
    () => text,
  );
}

/** Returns 404 in plain text, for a path that is not served. */
export const noPage = (): BodyResponse => textResponse(404, "404 page not found\n");
