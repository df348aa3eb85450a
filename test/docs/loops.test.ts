import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "../harness.ts";
import { blocksOf } from "./markdown.ts";

const languages = new Set(["sh", "console", "bash", "shell"]);

test("loops of pages end, and say what did not happen", () => {
  const names = execFileSync("git", ["ls-files", "*.md"], { cwd: repository, encoding: "utf8" });
  const endless = names
    .trimEnd()
    .split("\n")
    .flatMap((page) =>
      blocksOf(join(repository, page))
        .filter(({ language }) => languages.has(language))
        .flatMap(({ text, line }) =>
          text
            .split("\n")
            .filter((command) => /\b(until|while|for) .*\bdo\b/.test(command.replace(/^\$ /, "")))
            .filter((command) => !isBounded(command))
            .map((command) => `${page}:${line}: ${command}`),
        ),
    );
  assert.deepEqual(endless, []);
});

/** The last round of a loop that waits has a message; a loop over names ends with them. */
function isBounded(command: string): boolean {
  if (!/\bsleep\b|\b(until|while) /.test(command)) return true;
  const rounds = /\bfor i in \$\(seq (\d+)\); do /.exec(command)?.[1];
  return rounds !== undefined && command.includes(`[ $i -lt ${rounds} ] || `);
}
