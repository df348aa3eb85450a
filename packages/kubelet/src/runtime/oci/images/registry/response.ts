import type { IncomingMessage } from "node:http";
import { RegistryError } from "./error.ts";

export function rangeStart(response: IncomingMessage): number {
  const start = /^bytes (\d+)-/.exec(headerText(response, "content-range") ?? "")?.[1];
  return start === undefined ? 0 : Number(start);
}

export function headerText(response: IncomingMessage, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export async function readAll(response: IncomingMessage, maxBytes: number, what: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) {
      response.destroy();
      throw new RegistryError(`${what} has more than ${maxBytes} bytes`, response.statusCode);
    }
    parts.push(chunk as Buffer);
  }
  return Buffer.concat(parts);
}

/** Text of a registry's error for the end of a message (distribution specification, Error Codes). */
export function errorText(body: Buffer): string {
  try {
    const { errors, details } = JSON.parse(body.toString("utf8")) as {
      errors?: readonly { code?: unknown; message?: unknown }[] | null;
      details?: unknown; // Registries in Go write null.
    };
    const texts = (errors ?? []).map(({ code, message }) => [code, message].filter(Boolean).join(": "));
    if (typeof details === "string") texts.push(details);
    return texts.length === 0 ? "" : `: ${texts.join("; ").slice(0, 500)}`;
  } catch {
    return "";
  }
}
