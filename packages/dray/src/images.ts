import type { ImageMapping } from "@dray/kubelet";
import { UsageError } from "./failure.ts";
import { ourselves } from "./ourselves.ts";

/** Images of well-known drivers, and the programs that we ship for them. */
export function builtInImages(): ImageMapping[] {
  // A driver does little: a small young generation and no helper threads save 12 MiB in every one of them.
  const [command, args] = ourselves(["driver", "example"], ["--max-semi-space-size=1", "--v8-pool-size=0"]);
  return [
    {
      pattern: "registry.k8s.io/dra-example-driver/dra-example-driver:*",
      command: [command, ...args],
    },
  ];
}

/** One word: pieces without blanks, in quotes or not, in any mixture. */
const word = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/** Reads `PATTERN=COMMAND`; the command is split at blanks, single and double quotes hold it together. */
export function parseImageMapping(text: string): ImageMapping {
  const [, pattern, rest = ""] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  const command = (rest.match(word) ?? []).map((part) => part.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  const whole = rest.replaceAll(word, "").trim() === "";
  if (pattern === undefined || command.length === 0 || !whole) {
    throw new UsageError(
      `--image ${text}: must be PATTERN=COMMAND, as in --image 'example.com/tool:*=/usr/bin/tool --flag'`,
    );
  }
  return { pattern, command };
}
