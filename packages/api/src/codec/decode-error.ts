import { quoted } from "../text/quoted.ts";

/** A tree or message that cannot be read as its type; the message is Go's. */
export class DecodeError extends Error {
  override readonly name: string = "DecodeError";
}

/** The kind is not registered. */
export class UnknownKindError extends DecodeError {
  override readonly name = "UnknownKindError";
  readonly apiVersion: string;
  readonly kind: string;

  constructor(apiVersion: string, kind: string) {
    super(`no kind ${quoted(kind)} is registered for version ${quoted(apiVersion)}`);
    this.apiVersion = apiVersion;
    this.kind = kind;
  }
}
