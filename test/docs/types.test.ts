import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "../harness.ts";
import { blocksOf } from "./markdown.ts";
import { pages } from "./pages.ts";

test("every TypeScript block of README and docs is correct by the strictest options", () => {
  const folder = join(repository, ".dray", "docs-types");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const from = new Map<string, string>();
  for (const page of pages())
    for (const { language, text, line, note } of blocksOf(join(repository, page))) {
      if (language !== "ts") continue;
      const name = `${page.replaceAll(/\W/g, "-")}-${line}.ts`;
      // A comment above the block declares the names that the surrounding text introduces.
      const known = note?.startsWith("known: ") ? `${note.slice("known: ".length)}\n` : "";
      writeFileSync(join(folder, name), `${known}${text}export {};\n`);
      from.set(name, `${page}:${line}`);
    }
  assert.ok(from.size > 5, `only ${from.size} blocks`);
  // Shows that a mistake is found.
  writeFileSync(join(folder, "mistake.ts"), 'export const count: number = "one";\n');
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: { noUnusedLocals: false },
      include: ["*.ts"],
    }),
  );
  const { stdout } = spawnSync(
    join(repository, "node_modules", ".bin", "tsc"),
    ["-p", join(folder, "tsconfig.json")],
    { encoding: "utf8" },
  );
  const errors = stdout.replaceAll(
    /[\w./-]*?([\w-]+\.ts)\((\d+),\d+\)/g,
    (whole, name: string, line: string) =>
      from.has(name) ? `${from.get(name)}, line ${line} of the block` : whole,
  );
  assert.match(errors, /^[^\n]*mistake\.ts\(1,14\): error TS2322: [^\n]*\n$/);
  rmSync(folder, { recursive: true });
});
