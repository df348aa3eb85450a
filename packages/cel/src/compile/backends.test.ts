import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "@dray/testing/random";
import { type DeviceInput, deviceEnvironment, type Evaluation, type Selector } from "../index.ts";
import { randomAttribute, randomDevice, randomSelector } from "../testing/random.ts";

/** The selector with both back ends; undefined if it does not compile. */
function both(expression: string): readonly [Selector, Selector] | undefined {
  const closures = environments.closures.compile(expression);
  const generated = environments.generated.compile(expression);
  assert.equal(generated.ok, closures.ok);
  if (!closures.ok || !generated.ok) return undefined;
  return [closures, generated];
}

const environments = {
  closures: deviceEnvironment({ stored: true, backend: "closures" }),
  generated: deviceEnvironment({ stored: true, backend: "generated" }),
};

function assertSame(expression: string, devices: readonly DeviceInput[], limits: readonly number[]): number {
  const selectors = both(expression);
  if (selectors === undefined) return 0;
  for (const device of devices) {
    for (const costLimit of limits) {
      const expected: Evaluation = selectors[0].evaluate(device, { costLimit });
      const actual: Evaluation = selectors[1].evaluate(device, { costLimit });
      assert.deepEqual(actual, expected, `${expression}, limit ${costLimit}, ${text(device)}`);
    }
  }
  return devices.length;
}

const text = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));

test("both back ends have the same results for random selectors and limits", () => {
  const random = new Random(20260101);
  let compiled = 0;
  for (let i = 0; i < 3000; i++) {
    const devices = [randomDevice(random), randomDevice(random)];
    const limits = [1_000_000, random.below(60)];
    if (assertSame(randomSelector(random), devices, limits) > 0) compiled++;
  }
  assert.ok(compiled > 2000, `only ${compiled} random selectors compile`);
});

test("an evaluation is cancelled if and only if its cost exceeds the limit", () => {
  const random = new Random(7);
  for (let i = 0; i < 500; i++) {
    const selector = environments.generated.compile(randomSelector(random));
    // There cel-go subtracts 1 after the check of the limit.
    if (!selector.ok || selector.expression.includes("? device : device)")) continue;
    const device = randomDevice(random);
    const { cost } = selector.evaluate(device);
    assert.equal(selector.evaluate(device, { costLimit: cost }).cost, cost);
    if (cost === 0) continue;
    const stopped = selector.evaluate(device, { costLimit: cost - 1 });
    assert.equal(stopped.error, "operation cancelled: actual cost limit exceeded", selector.expression);
    assert.ok(stopped.cost >= cost, selector.expression);
  }
});

test("devices with the same values for what a selector reads have the same result, error and cost", () => {
  const random = new Random(11);
  let narrow = 0;
  for (let i = 0; i < 4000; i++) {
    const selector = environments.generated.compile(randomSelector(random));
    if (!selector.ok) continue;
    const device = randomDevice(random);
    const other = changedElsewhere(random, device, selector);
    if (selector.reads.attributes !== "all") narrow++;
    assert.deepEqual(
      selector.evaluate(other),
      selector.evaluate(device),
      `${selector.expression}\n${text(device)}\n${text(other)}`,
    );
  }
  assert.ok(narrow > 500, `only ${narrow} selectors read single attributes`);
});

/** A device that differs in what the selector does not read. */
function changedElsewhere(random: Random, device: DeviceInput, { reads }: Selector): DeviceInput {
  const driver = reads.driver ? device.driver : "third.example.com";
  const qualified = <T>(entries: Readonly<Record<string, T>> | undefined): Map<string, T> => {
    const all = Object.entries(entries ?? {});
    const bare = all
      .filter(([name]) => !name.includes("/"))
      .map(([name, value]) => [`${device.driver}/${name}`, value] as const);
    return new Map([...bare, ...all.filter(([name]) => name.includes("/"))]);
  };
  const kept = (names: Selector["reads"]["attributes"], name: string): boolean =>
    names === "all" || names.some(([domain, id]) => `${domain}/${id}` === name);
  const attributes = qualified(device.attributes);
  for (const name of [
    ...attributes.keys(),
    "other.example.com/new",
    "other.example.com/model",
    "gpu.example.com/index",
  ]) {
    if (kept(reads.attributes, name)) continue;
    if (random.chance(50)) attributes.delete(name);
    else attributes.set(name, randomAttribute(random, name.slice(name.indexOf("/") + 1)));
  }
  const capacity = qualified(device.capacity);
  for (const name of [...capacity.keys(), "other.example.com/cores"]) {
    if (!kept(reads.capacity, name)) capacity.set(name, { value: "7" });
  }
  return {
    driver,
    attributes: Object.fromEntries(attributes),
    capacity: Object.fromEntries(capacity),
    allowMultipleAllocations: reads.allowMultipleAllocations === (device.allowMultipleAllocations ?? false),
  };
}
