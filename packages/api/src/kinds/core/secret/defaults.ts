import type { Secret } from "../../../generated/core/v1.ts";
import { setKey } from "../../../json/parser.ts";
import type { Wire } from "../../../objects/wire.ts";

/** Base64 of a text's UTF-8 bytes. */
function encoded(text: string): string {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

export function defaultSecret(secret: Wire<Secret>): void {
  secret.type ||= "Opaque";
  // `stringData` is a way of writing only: it never comes back.
  for (const [name, text] of Object.entries(secret.stringData ?? {})) {
    secret.data ??= {};
    setKey(secret.data, name, encoded(text));
  }
  delete secret.stringData;
}
