import assert from "node:assert/strict";
import { test } from "node:test";
import { refill, wrapText } from "./wrap.ts";

test("long lines are broken at spaces, with a hanging indent", () => {
  assert.equal(
    wrapText("short\n  request gpu: wants 1 device of the class gpu.example.com\n", 30),
    ["short", "  request gpu: wants 1 device", "        of the class", "        gpu.example.com", ""].join(
      "\n",
    ),
  );
});

test("a pipe, a command, a row of a wide table and a long name are left as they are", () => {
  const command = "    fix: kubectl delete resourceslice worker-1-gpu.example.com -n default";
  const row = "default/pod-0   Running   node-1   gpu.example.com/node-1/gpu-0";
  const name = "  gpu.example.com/some-pool-with-a-long-name/gpu-0";
  for (const line of [command, row, name]) assert.equal(wrapText(line, 30), line);
  assert.equal(wrapText("a b ".repeat(50), Number.POSITIVE_INFINITY), "a b ".repeat(50));
});

test("colors have no width", () => {
  const colored = "\u001b[31mproblem:\u001b[39m twelve letters";
  assert.equal(wrapText(colored, 25), colored);
});

test("the paragraphs of a help are filled anew; examples and short lines stay", () => {
  const long = `${"word ".repeat(21)}at the end`;
  const text = `\nExample:\n  dray top --watch\n${long}\nof it.\nSTATE: free.\n`;
  const filled = refill(text, 60).split("\n");
  assert.deepEqual(filled.slice(0, 3), ["", "Example:", "  dray top --watch"]);
  assert.ok(filled.every((line) => line.length <= 60));
  assert.deepEqual(filled.slice(-2), ["STATE: free.", ""]);
  assert.match(filled.slice(0, -2).join(" "), /word at the end of it\.$/);
});
