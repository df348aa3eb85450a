import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../base/clock.ts";

/** Credentials of a client. */
export interface Credentials {
  readonly token?: string;
  /** PEM, together with `key`. */
  readonly cert?: string;
  readonly key?: string;
}

/** A source of credentials that change while a client is in use. */
export interface CredentialSource {
  /**
   * Returns the current credentials. `refused`: the server has just responded with 401 to the last ones, so
   * that they must be read again.
   */
  get(refused?: boolean): Promise<Credentials>;
}

/** Milliseconds between checks of a token file. */
const checkInterval = 10_000;

/** A bearer token in a file that is rotated, such as a projected service account token. */
export function tokenFileSource(file: string, clock: Clock): CredentialSource {
  let current: { token: string; stamp: string } | undefined;
  let checked = Number.NEGATIVE_INFINITY;
  return {
    async get(refused = false) {
      if (current === undefined || refused || clock.now() - checked >= checkInterval) {
        checked = clock.now();
        const { mtimeMs, ino, size } = await stat(file);
        const stamp = `${mtimeMs}/${ino}/${size}`;
        if (current?.stamp !== stamp) current = { token: (await readFile(file, "utf8")).trim(), stamp };
      }
      return { token: current.token };
    },
  };
}
