import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedLine, maxLineLength } from "./bounded-line.ts";

const line = (fields: object): string =>
  `${JSON.stringify({ level: 40, time: 1, component: "c", ...fields })}\n`;

test("a line within its limit stays as it is", () => {
  const short = line({ msg: "short", items: [1, 2], text: "x".repeat(30_000) });
  assert.equal(boundedLine(short), short);
});

test("a long line is cut to valid JSON that keeps the message and marks the cut", () => {
  const huge = "x".repeat(10_000_000);
  for (const [name, fields] of Object.entries({
    message: { msg: huge },
    "nested text": { msg: "m", err: { message: huge, causes: [{ message: huge }] } },
    "many items": { msg: "m", items: Array.from({ length: 100_000 }, (_, index) => `item ${index}`) },
    "many texts": { msg: "m", items: Array.from({ length: 100 }, () => huge.slice(0, 10_000)) },
    "many fields": {
      msg: "m",
      ...Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`f${i}`, i])),
    },
  })) {
    const cut = boundedLine(line(fields));
    assert.ok(cut.length <= maxLineLength, `${name}: ${cut.length}`);
    assert.ok(cut.endsWith("\n"));
    const read = JSON.parse(cut) as Record<string, unknown>;
    assert.deepEqual([read["level"], read["component"]], [40, "c"]);
    assert.ok(String(read["msg"]).startsWith(fields.msg.slice(0, 100)), name);
    assert.match(cut, /characters\)|items\)|"cutFrom":/, name);
  }
});
