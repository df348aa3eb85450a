import assert from "node:assert/strict";
import { test } from "node:test";
import { bearerToken } from "./credential.ts";

test("a bearer token follows one blank", () => {
  assert.equal(bearerToken(" bEaReR x y"), "x");
  for (const header of [undefined, "", "Bearer", "Bearer ", "Bearer  x", "Bearer\tx", "Basic x"]) {
    assert.equal(bearerToken(header), undefined);
  }
});
