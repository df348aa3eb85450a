import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { layoutOf, prepareDataDir } from "../index.ts";

test("a data directory is made for its owner alone, with what is missing above it", () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-folders-"));
  const layout = layoutOf(join(folder, "a/b/c"));
  prepareDataDir(layout);
  prepareDataDir(layout);
  assert.equal(statSync(layout.logs).mode & 0o777, 0o700);
  rmSync(folder, { recursive: true });
});

test("one that cannot be made is refused with its name", () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-folders-"));
  writeFileSync(join(folder, "file"), "");
  const places = [join(folder, "file"), join(folder, "file/below")];
  // Nobody makes folders there, and Node's own mkdir never comes back.
  if (process.platform === "linux") places.push("/proc/dray", "/proc/dray/below");
  for (const place of places)
    assert.throws(
      () => prepareDataDir(layoutOf(place)),
      /^Error: the data directory .* cannot be written: /,
      place,
    );
  rmSync(folder, { recursive: true });
});
