import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../clock.ts";

/** What a client shows the server at a moment. */
export interface Credentials {
  readonly token?: string;
  /** PEM; with `key`. */
  readonly cert?: string;
  readonly key?: string;
}

/** Where credentials come from when they can change while the client lives. */
export interface CredentialSource {
  /**
   * The credentials to use now. `refused` says that the server has just answered 401 to the last ones: look
   * for newer ones at once.
   */
  get(refused?: boolean): Promise<Credentials>;
}

const checkEvery = 10_000;

/** A bearer token in a file that someone rotates, as the kubelet does with projected tokens. */
export function tokenFileSource(file: string, clock: Clock): CredentialSource {
  let current: { token: string; stamp: string } | undefined;
  let checked = Number.NEGATIVE_INFINITY;
  return {
    async get(refused = false) {
      if (current === undefined || refused || clock.now() - checked >= checkEvery) {
        checked = clock.now();
        const { mtimeMs, ino, size } = await stat(file);
        const stamp = `${mtimeMs}/${ino}/${size}`;
        if (current?.stamp !== stamp) current = { token: (await readFile(file, "utf8")).trim(), stamp };
      }
      return { token: current.token };
    },
  };
}
