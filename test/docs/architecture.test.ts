import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const repository = join(import.meta.dirname, "..", "..");

test("every path that docs/architecture.md names exists", () => {
  const text = readFileSync(join(repository, "docs", "architecture.md"), "utf8");
  const paths = [...text.matchAll(/`((?:packages|drivers|scripts|test)\/[^`]*)`/g)].map((match) => match[1]!);
  assert.ok(paths.length > 50, `${paths.length} paths`);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(repository, path))),
    [],
  );
});
