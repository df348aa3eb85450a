import assert from "node:assert/strict";
import { test } from "node:test";
import { Examples } from "./examples.ts";
import { choices, type Finding, search } from "./search.ts";
import { WorkCounter } from "./work.ts";

test("work that grows with the square of the input is found", async () => {
  const counter = await WorkCounter.start();
  const list = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const workOf = async (count: number): Promise<number> => {
    const numbers = list(count);
    const work = await counter.during(async () => {
      for (const number of numbers) assert.ok(numbers.includes(number));
    });
    return work.get("Array.includes") ?? 0;
  };
  assert.deepEqual([await workOf(10), await workOf(20)], [100, 400]);
  counter.stop();
});

test("lists and maps of all kinds are chosen, each field once", () => {
  const all = choices([], new Examples());
  const ids = all.flatMap(({ places: [place, ...others] }) => (others.length > 0 ? [] : [place.id]));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ["core/v1.Container.env", "meta/v1.ObjectMeta.labels", "rbac/v1.PolicyRule.verbs"])
    assert.ok(ids.includes(id), id);
});

// Findings of `npm run growth`, which searches the others.
const mended = [
  "CustomResourceDefinition spec.names.shortNames",
  "v1 ConfigMap metadata.finalizers",
  "v1 ConfigMap data",
];

test("the work of writes and reads grows with the entries of an object", async () => {
  const findings: Finding[] = [];
  let [places, accepted] = [0, 0];
  await search({
    names: mended,
    part: [1, 1],
    report: (finding) => findings.push(finding),
    progress(_, statuses) {
      places++;
      if (statuses.get("create") === 201 && statuses.get("delete") === 200) accepted++;
    },
  });
  assert.deepEqual(findings, []);
  assert.equal(places, mended.length);
  assert.equal(accepted, mended.length);
});
