import type { ImageMapping } from "@dray/kubelet";
import { UsageError } from "../terminal/failure.ts";

/** One word: pieces without spaces, in quotes or not, in any mixture. */
const word = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/**
 * Splits a command at spaces outside of single and double quotes. Returns undefined for an open quote or an
 * empty command.
 */
export function parseCommand(text: string): readonly string[] | undefined {
  const words = (text.match(word) ?? []).map((part) => part.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return words.length === 0 || text.replaceAll(word, "").trim() !== "" ? undefined : words;
}

/** Throws a UsageError if a command ends with `/` but is not the path of a program folder. */
export function checkFolder([first = "", ...others]: readonly string[]): void {
  if (first.endsWith("/") && (others.length > 0 || !first.startsWith("/") || first === "/"))
    throw new UsageError(
      `${[first, ...others].join(" ")}: a folder of programs must be an absolute path that ends with / and stands alone, as /opt/driver/bin/`,
    );
}

/** Largest number of a user or group in Linux. */
const maxId = 2 ** 32 - 2;

/** Parses `UID[:GID]`; the group has the user's number if it has none. Throws a UsageError. */
export function parseUser(text: string): { readonly uid: number; readonly gid: number } {
  const [, uid = "", gid = uid] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(text) ?? [];
  const user = { uid: Number(uid), gid: Number(gid) };
  if (uid === "" || Math.max(user.uid, user.gid) > maxId)
    throw new UsageError(
      `--user ${text}: must be UID or UID:GID, numbers from 0 to ${maxId}, as in --user 65532:65532`,
    );
  return user;
}

/** Parses `PATTERN=COMMAND` of `--image`. */
export function parseImageMapping(text: string): ImageMapping {
  const [, pattern, rest = ""] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  const command = parseCommand(rest);
  if (pattern === undefined || command === undefined) {
    throw new UsageError(
      `--image ${text}: must be PATTERN=COMMAND, as in --image 'example.com/tool:*=/usr/bin/tool --flag'`,
    );
  }
  checkFolder(command);
  return { pattern, command };
}
