import assert from "node:assert/strict";
import { test } from "node:test";
import { pemBlocks, pemContent } from "./pem.ts";

test("a block goes up to the first end of its type", () => {
  const text =
    "x\n-----BEGIN A-----\r\n1\n-----END B-----\n-----END A-----\n-----BEGIN B-----\n2\n-----END B-----\n";
  assert.deepEqual(
    [...pemBlocks(text)].map(({ type, body }) => [type, body]),
    [
      ["A", "1\n-----END B-----\n"],
      ["B", "2\n"],
    ],
  );
  assert.equal([...pemBlocks(text)][1]!.block, "-----BEGIN B-----\n2\n-----END B-----");
  assert.deepEqual([...pemBlocks("-----BEGIN A-----\nnever ends")], []);
});

test("skips a million blocks without an end at once", { timeout: 60_000 }, () => {
  // To look for the end of each in all of the rest takes hours.
  assert.deepEqual([...pemBlocks("-----BEGIN A-----\n".repeat(1_000_000))], []);
});

test("the content of a block is its base64, without headers", () => {
  const content = (body: string): string | undefined => pemContent({ type: "A", body, block: "" });
  assert.equal(content("AAEC\r\nAwQ=\n"), "AAECAwQ=");
  assert.equal(content("Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nAAEC\n"), "AAEC");
  assert.equal(content("only: headers"), "");
  for (const broken of ["AAE", "AA*C\n", "=AAE", "A===\n"]) assert.equal(content(broken), undefined, broken);
});
