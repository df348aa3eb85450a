import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { answerWithoutFaults, awaitWithoutFaults } from "./faults.ts";
import type { Located } from "./place.ts";
import { World } from "./world.ts";

const place = { source: { file: "", text: "", lineOf: () => undefined }, root: "" };

const node = (name: string, spec: unknown = {}): Located => ({
  place,
  object: { apiVersion: "v1", kind: "Node", metadata: { name }, spec } as unknown as KubeObject,
});

/** Fails at the nodes whose spec is not an object, as code does that reads a field of it. */
function namesOf(world: World): string[] {
  return world.all("Node").map(({ object }) => {
    if (typeof object.spec !== "object") throw new TypeError(`spec of a node is ${object.spec}`);
    return object.metadata.name;
  });
}

const many = Array.from({ length: 1000 }, (_, i) => node(`n${i}`));

test("an answer leaves out the objects that cannot be read, and names them", async () => {
  const world = new World([...many.slice(0, 700), node("odd", 5), ...many.slice(700), node("odder", "x")]);
  const expected = {
    answer: many.map(({ object }) => object.metadata.name),
    faults: ["Node odd: spec of a node is 5", "Node odder: spec of a node is x"],
  };
  const brief = ({
    answer,
    faults,
  }: {
    answer: string[];
    faults: readonly { label: string; message: string }[];
  }) => ({
    answer,
    faults: faults.map(({ label, message }) => `${label}: ${message}`).sort(),
  });
  let tries = 0;
  const counting = (each: World): string[] => {
    tries++;
    return namesOf(each);
  };
  assert.deepEqual(brief(answerWithoutFaults(world, counting)), expected);
  // Every node was tried alone, beside the search.
  assert.ok(tries < 1050, String(tries));
  assert.deepEqual(brief(await awaitWithoutFaults(world, async (each) => namesOf(each))), expected);
});

test("of objects that fail only together, the one that the schema rejects is left out", () => {
  const needsBoth = (world: World): number => {
    const nodes = world.all("Node").map(({ object }) => object);
    const odd = nodes.find(({ spec }) => typeof spec !== "object");
    if (odd !== undefined && nodes.some(({ metadata }) => metadata.name === "user"))
      throw new Error("the user reads the odd one");
    return nodes.length;
  };
  const orders = [
    [node("odd", 5), ...many, node("user")],
    [node("user"), ...many, node("odd", 5)],
  ];
  for (const order of orders) {
    const { answer, faults } = answerWithoutFaults(new World(order), needsBoth);
    assert.deepEqual([answer, faults.map(({ label }) => label)], [1001, ["Node odd"]]);
  }
});

test("an error that does not come from an object, or that is the answer, ends it", () => {
  const world = new World([node("a")]);
  const fails = (): never => {
    throw new Error("always");
  };
  assert.throws(() => answerWithoutFaults(world, fails), /always/);
  const missing = new Error("there is no such node");
  const refuses = (): never => {
    throw missing;
  };
  assert.throws(() => answerWithoutFaults(world, refuses, (error) => error === missing), /no such node/);
});
