import assert from "node:assert/strict";
import { test } from "node:test";
import { headersOf } from "./headers.ts";

test("the authority of a request over HTTP/2 is its Host", () => {
  const { headers, repeated } = headersOf([
    ":method",
    "GET",
    ":authority",
    "a:1",
    "Host",
    "b",
    "Accept",
    "x",
  ]);
  assert.deepEqual({ ...headers }, { host: "a:1", accept: "x" });
  assert.equal(repeated, undefined);
});
