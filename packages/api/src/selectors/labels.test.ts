import assert from "node:assert/strict";
import { test } from "node:test";
import { labelSelectorOf, matchesIfValid } from "./labels.ts";

test("an invalid selector among others matches nothing", () => {
  const selector = (key: string) => () => labelSelectorOf({ matchLabels: { [key]: "a" } });
  assert.equal(matchesIfValid(selector("app"), { app: "a" }), true);
  assert.equal(matchesIfValid(selector(""), { app: "a", "": "a" }), false);
  const failing = (): never => assert.fail("another error");
  assert.throws(() => matchesIfValid(failing, {}), /another error/);
});
