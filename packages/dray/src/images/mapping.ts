import type { ImageMapping } from "@dray/kubelet";
import { UsageError } from "../failure.ts";

/** One word: pieces without blanks, in quotes or not, in any mixture. */
const word = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/** Splits a command at blanks; single and double quotes hold it together. Undefined for an open quote or no word. */
export function parseCommand(text: string): readonly string[] | undefined {
  const words = (text.match(word) ?? []).map((part) => part.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return words.length === 0 || text.replaceAll(word, "").trim() !== "" ? undefined : words;
}

/** Reads `PATTERN=COMMAND` of `--image`. */
export function parseImageMapping(text: string): ImageMapping {
  const [, pattern, rest = ""] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  const command = parseCommand(rest);
  if (pattern === undefined || command === undefined) {
    throw new UsageError(
      `--image ${text}: must be PATTERN=COMMAND, as in --image 'example.com/tool:*=/usr/bin/tool --flag'`,
    );
  }
  return { pattern, command };
}
