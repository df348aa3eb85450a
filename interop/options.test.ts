import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "./options.ts";

test("without options both sides are played once, kube-apiserver first", () => {
  const { sides, minutes, only } = readOptions([]);
  assert.deepEqual([sides, minutes, only], [["peer", "dray"], 0, undefined]);
});

test("a value that an option does not take is refused with what it takes", () => {
  assert.throws(() => readOptions(["--against", "nobody"]), /--against nobody: must be both, dray or peer/);
  assert.throws(() => readOptions(["--minutes", "ten"]), /--minutes ten: must be a number from 0 on/);
  assert.throws(() => readOptions(["--jobs", "0"]), /--jobs 0: must be a number from 1 on/);
  assert.throws(() => readOptions(["--only", "("]), /Invalid regular expression/);
  assert.throws(() => readOptions(["--what"]), /--what/);
});
