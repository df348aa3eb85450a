import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { openSubPath } from "./sub-path.ts";

/** Path of what a subPath names. */
function resolveSubPath(volume: string, subPath: string, create: boolean): string {
  const entry = openSubPath(volume, subPath, create);
  try {
    return entry.currentPath;
  } finally {
    entry.close();
  }
}

describe("subPath", () => {
  let root = "";
  let volume = "";
  let other = "";

  beforeEach(() => {
    root = mkdtempSync("/tmp/dray-sub-path-");
    volume = join(root, "volume");
    other = join(root, "other");
    mkdirSync(join(volume, "here/below"), { recursive: true });
    mkdirSync(other);
    writeFileSync(join(volume, "file"), "");
  });

  afterEach(() => rmSync(root, { recursive: true }));

  test("is what it names, through links within the volume", () => {
    symlinkSync("here", join(volume, "relative"));
    symlinkSync(join(volume, "here"), join(volume, "absolute"));
    symlinkSync("../here/./below", join(volume, "here/up"));
    for (const [subPath, place] of [
      ["here/below", "here/below"],
      ["relative/below", "here/below"],
      ["absolute/below", "here/below"],
      ["relative/up", "here/below"],
      ["file", "file"],
      [".", ""],
    ] as const)
      assert.equal(resolveSubPath(volume, subPath, true), join(volume, place));
  });

  test("is made with the mode of the volume where it is missing, unless it must be there", () => {
    chmodSync(volume, 0o777);
    symlinkSync("here", join(volume, "link"));
    assert.equal(resolveSubPath(volume, "link/a/b", true), join(volume, "here/a/b"));
    assert.equal(statSync(join(volume, "here/a")).mode & 0o7777, 0o777);
    assert.throws(() => resolveSubPath(volume, "missing", false), {
      message: 'subPath "missing" does not exist in the volume',
    });
    assert.equal(existsSync(join(volume, "missing")), false);
  });

  test("leads nowhere out of the volume, and makes nothing there", () => {
    symlinkSync(other, join(volume, "absolute"));
    symlinkSync("../other", join(volume, "relative"));
    symlinkSync("../../other/made", join(volume, "here/dangling"));
    symlinkSync(`${volume}/../other`, join(volume, "through"));
    symlinkSync(`${volume}-2`, join(volume, "beside"));
    symlinkSync("/", join(volume, "root"));
    for (const subPath of [
      "absolute/x",
      "relative",
      "here/dangling",
      "through",
      "beside",
      "root/etc",
      "here/../..",
    ])
      assert.throws(() => resolveSubPath(volume, subPath, true), {
        message: `subPath ${JSON.stringify(subPath)} leads out of the volume`,
      });
    assert.deepEqual(readdirSync(other), []);
    assert.deepEqual(readdirSync(root).sort(), ["other", "volume"]);
  });

  test("ends where links go in a circle or a file is in the way", () => {
    symlinkSync("b", join(volume, "a"));
    symlinkSync("a", join(volume, "b"));
    assert.throws(() => resolveSubPath(volume, "a", true), {
      message: 'subPath "a" has too many symbolic links',
    });
    assert.throws(() => resolveSubPath(volume, "file/x", true), {
      message: 'subPath "file/x": file is not a directory',
    });
  });
});
