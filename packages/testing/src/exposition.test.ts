import assert from "node:assert/strict";
import { test } from "node:test";
import { readExposition } from "./exposition.ts";

const histogram = [
  "# TYPE h histogram",
  'h_bucket{le="1"} 1',
  'h_bucket{le="+Inf"} 2',
  "h_sum 3",
  "h_count 2",
];

test("metrics are read with their labels and times", () => {
  const text = `# HELP a Help of a.\n# TYPE a gauge\na{b="c\\"\\n\\\\"} 1.5e+3 12\n${histogram.join("\n")}\n`;
  const read = readExposition(text);
  assert.deepEqual(read.get("a"), {
    ...{ name: "a", type: "gauge", help: "Help of a." },
    samples: [{ name: "a", labels: { b: 'c"\n\\' }, value: 1500, at: 12 }],
  });
  assert.equal(read.get("h")?.samples.length, 4);
});

for (const [what, lines] of [
  ["a sample without a type", ["a 1"]],
  ["a sample below another metric", ["# TYPE a gauge", "b 1"]],
  ["a metric in two places", ["# TYPE a gauge", "a 1", "# TYPE a gauge", 'a{b="c"} 1']],
  ["a series twice", ["# TYPE a gauge", 'a{b="1",c="2"} 1', 'a{c="2",b="1"} 1']],
  ["a label twice", ["# TYPE a gauge", 'a{b="1",b="1"} 1']],
  ["a quote that is not escaped", ["# TYPE a gauge", 'a{b="""} 1']],
  ["a value that is no number", ["# TYPE a gauge", "a undefined"]],
  ["a counter below zero", ["# TYPE a counter", "a -1"]],
  ["buckets that fall", histogram.with(1, 'h_bucket{le="1"} 3')],
  ["a histogram without its last bucket", histogram.toSpliced(2, 1)],
  ["a histogram without a sum", histogram.toSpliced(3, 1)],
  ["a count that differs", histogram.with(4, "h_count 1")],
] as const)
  test(`${what} is refused`, () => assert.throws(() => readExposition(`${lines.join("\n")}\n`)));
