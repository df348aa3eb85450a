import type { ImageCredentials } from "../../../images.ts";

export interface BasicCredentials {
  /** `username:password` in base64. */
  readonly basic?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export function readCredentials({
  username,
  password,
  auth,
  identityToken,
  registryToken,
}: ImageCredentials): BasicCredentials {
  const basic =
    username !== undefined && username !== ""
      ? Buffer.from(`${username}:${password ?? ""}`).toString("base64")
      : // Docker's files end such a text with NULs.
        auth &&
        Buffer.from(Buffer.from(auth, "base64").toString("utf8").replace(/\0+$/, "")).toString("base64");
  return {
    ...(basic ? { basic } : {}),
    ...(identityToken ? { identityToken } : {}),
    ...(registryToken ? { registryToken } : {}),
  };
}

/** `Bearer realm="https://...",service="...",scope="..."`. */
export function parseChallenge(text: string): { scheme: string; parameters: ReadonlyMap<string, string> } {
  const [, scheme = "", rest = ""] = /^\s*([\w-]+)\s*(.*)$/.exec(text) ?? [];
  const parameters = new Map<string, string>();
  for (const [, name = "", quoted, plain] of rest.matchAll(
    /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g,
  ))
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "");
  return { scheme: scheme.toLowerCase(), parameters };
}

export function tokenOf(body: Buffer): string | undefined {
  try {
    const { token, access_token: access } = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
    const found = token || access;
    return typeof found === "string" && /^[\x21-\x7e]+$/.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
