import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean, similar } from "./similar.ts";

const words = ["up", "down", "status", "logs", "plan", "--nodes", "--node-name", "DRAAdminAccess"];

test("a slip finds the word that was meant, the nearest first", () => {
  assert.deepEqual(similar("stauts", words), ["status"]);
  assert.deepEqual(similar("STATUS", words), ["status"]);
  assert.deepEqual(similar("--node", words), ["--nodes", "--node-name"]);
  assert.deepEqual(similar("DRAAdminAcess", words), ["DRAAdminAccess"]);
  assert.equal(didYouMean("lgos", words), "did you mean logs?");
  assert.equal(didYouMean("--node", words), "did you mean --nodes or --node-name?");
});

test("an unlike word and a very short one have no suggestion", () => {
  assert.deepEqual(similar("frobnicate", words), []);
  assert.deepEqual(similar("u", words), []);
  assert.deepEqual(similar("x".repeat(100_000), words), []);
  assert.equal(didYouMean("", words), undefined);
});
