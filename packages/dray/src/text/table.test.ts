import assert from "node:assert/strict";
import { test } from "node:test";
import { facts, plainFormat, table } from "./table.ts";

const titles = [
  "NODE",
  { title: "HELD BY", wraps: true },
  { title: "CLAIMS", drop: 1 },
  { title: "TAINTED", drop: 2 },
  { title: "UID", wide: true },
];
const rows = [
  ["node-1", "default/training-claim for training-pod-0, default/other for other-pod", "2", "-", "u1"],
  ["node-2", "-", "-", "-", "u2"],
];

test("a table for a pipe has one line for each row, without the columns of -o wide", () => {
  assert.equal(
    table(titles, rows),
    [
      "NODE     HELD BY                                                                  CLAIMS   TAINTED",
      "node-1   default/training-claim for training-pod-0, default/other for other-pod   2        -",
      "node-2   -                                                                        -        -",
      "",
    ].join("\n"),
  );
});

test("a narrow table has narrow gaps, then cells of several lines", () => {
  assert.equal(
    table(titles, rows, { ...plainFormat, width: 60 }),
    [
      "NODE    HELD BY                            CLAIMS  TAINTED",
      "node-1  default/training-claim for         2       -",
      "        training-pod-0, default/other for",
      "        other-pod",
      "node-2  -                                  -       -",
      "",
    ].join("\n"),
  );
});

test("a narrower one loses columns, first those that say nothing, and names them", () => {
  assert.equal(
    table(titles, rows, { ...plainFormat, width: 40 }),
    [
      "NODE    HELD BY                 CLAIMS",
      "node-1  default/training-claim  2",
      "        for training-pod-0,",
      "        default/other for",
      "        other-pod",
      "node-2  -                       -",
      "(narrow terminal: without TAINTED; -o wide has all columns)",
      "",
    ].join("\n"),
  );
  for (let width = 20; width < 110; width++)
    for (const line of table(titles, rows, { ...plainFormat, width }).split("\n"))
      assert.ok(line.startsWith("(") || line.length <= width, `${width}: ${line}`);
});

test("wide has all columns whatever the width, and --no-headers only rows", () => {
  const wide = table(titles, rows, { width: 40, wide: true, headers: true });
  assert.match(wide, /^NODE +HELD BY +CLAIMS +TAINTED +UID\nnode-1 .* u1\nnode-2 .* u2\n$/);
  assert.equal(table(["A", "B"], [["1", "2"]], { ...plainFormat, headers: false }), "1   2\n");
  assert.equal(
    table(["A", { title: "B", drop: 1 }], [["aaaaaaaa", "b"]], { width: 8, wide: false, headers: false }),
    "aaaaaaaa\n",
  );
});

test("a long name is broken behind a separator, and a fact beside its name", () => {
  assert.equal(
    facts([["device", "gpu.example.com/node-1/gpu-0"]], { ...plainFormat, width: 26 }),
    ["device  gpu.example.com/", "        node-1/gpu-0", ""].join("\n"),
  );
});
