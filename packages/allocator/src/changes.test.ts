import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceTaint, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import fc from "fast-check";
import { driver, makeClaim, nodes, questions } from "./testing/clusters.ts";
import { comparable } from "./testing/compare.ts";
import { allocatorOf, answerOf, withAllocation } from "./testing/engine.ts";
import { type Question, referenceAllocate, variantOf } from "./testing/reference.ts";
import { allocatedBy } from "./testing/world.ts";

/** `DRAY_RUNS` multiplies the number of runs. */
const numRuns = 100 * Number(process.env["DRAY_RUNS"] ?? 1);

type Step =
  | { readonly kind: "slice"; readonly from: Question; readonly which: number; readonly name: number }
  | { readonly kind: "no-slice" | "hold" | "free"; readonly which: number }
  | { readonly kind: "rule"; readonly name: number; readonly device: number; readonly effect: string }
  | { readonly kind: "no-rule"; readonly name: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("slice" as const),
    from: questions(),
    which: fc.nat(9),
    // An existing name or a new one.
    name: fc.nat(3),
  }),
  fc.record({ kind: fc.constantFrom("no-slice", "hold", "hold", "free", "free"), which: fc.nat(9) }),
  fc.record({
    kind: fc.constant("rule" as const),
    name: fc.nat(1),
    device: fc.nat(3),
    effect: fc.constantFrom("NoSchedule", "NoExecute", "None"),
  }),
  fc.record({ kind: fc.constant("no-rule" as const), name: fc.nat(1) }),
);

/**
 * Reports whether slices disagree on their number: then the first slice decides, and after updates the order
 * is undefined.
 */
function countsDisagree(slices: readonly ResourceSlice[]): boolean {
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}/${spec.pool.generation}`);
  return [...pools.values()].some(
    (list) => new Set(list.map(({ spec }) => spec.pool.resourceSliceCount)).size > 1,
  );
}

const ruleOf = ({ name, device, effect }: Extract<Step, { kind: "rule" }>): DeviceTaintRule => ({
  apiVersion: "resource.k8s.io/v1beta2",
  kind: "DeviceTaintRule",
  metadata: { name: `rule-${name}`, uid: "", resourceVersion: "", creationTimestamp: "" },
  spec: {
    deviceSelector: device === 0 ? { driver } : { device: `d${device - 1}` },
    taint: { key: name === 0 ? "a" : "b", effect },
  },
});

/** A cluster whose changes update one allocator, while the reference gets its current state. */
class ChangingCluster {
  readonly #question: Question;
  readonly #allocator;
  readonly #slices: Map<string, ResourceSlice>;
  readonly #rules = new Map<string, DeviceTaintRule>();
  readonly #held: ResourceClaim[] = [];
  #made = 0;

  constructor(question: Question) {
    this.#question = { ...question, allocated: {} };
    this.#allocator = allocatorOf(this.#question);
    this.#slices = new Map(question.slices.map((slice) => [slice.metadata.name, slice]));
  }

  play(step: Step): void {
    switch (step.kind) {
      case "slice": {
        const slice = step.from.slices[step.which % step.from.slices.length]!;
        const names = [...this.#slices.keys(), "another"];
        const metadata = { ...slice.metadata, name: names[step.name % names.length]! };
        const object = { ...slice, metadata };
        this.#allocator.update({ kind: "slice", object, deleted: false });
        this.#slices.set(metadata.name, object);
        break;
      }
      case "no-slice": {
        const object = [...this.#slices.values()][step.which % Math.max(1, this.#slices.size)];
        if (object === undefined) break;
        this.#allocator.update({ kind: "slice", object, deleted: true });
        this.#slices.delete(object.metadata.name);
        break;
      }
      case "rule": {
        const object = ruleOf(step);
        this.#allocator.update({ kind: "rule", object, deleted: false });
        this.#rules.set(object.metadata.name, object);
        break;
      }
      case "no-rule": {
        const object = this.#rules.get(`rule-${step.name}`);
        if (object === undefined) break;
        this.#allocator.update({ kind: "rule", object, deleted: true });
        this.#rules.delete(object.metadata.name);
        break;
      }
      case "hold":
        this.#hold(step.which);
        break;
      case "free": {
        const [object] = this.#held.splice(step.which % Math.max(1, this.#held.length), 1);
        if (object !== undefined) this.#allocator.update({ kind: "claim", object, deleted: true });
      }
    }
  }

  /** Allocates a free device to another claim. */
  #hold(which: number): void {
    const devices = [...this.#slices.values()].flatMap(({ spec }) =>
      (spec.devices ?? []).map(({ name }) => ({ driver: spec.driver, pool: spec.pool.name, device: name })),
    );
    const device = devices[which % Math.max(1, devices.length)];
    if (device === undefined) return;
    const held = this.#held.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
    if (held.some((other) => other.device === device.device && other.pool === device.pool)) return;
    const object = withAllocation(makeClaim(`holder-${this.#made++}`, {}), {
      devices: { results: [{ request: "r", ...device }] },
    });
    this.#held.push(object);
    this.#allocator.update({ kind: "claim", object, deleted: false });
  }

  check(): void {
    const slices = [...this.#slices.values()];
    if (countsDisagree(slices)) return;
    const { claims } = this.#question;
    const question: Question = {
      ...this.#question,
      slices: slices.map((slice) => this.#tainted(slice)),
      allocated: allocatedBy(this.#held.map(({ status }) => status!.allocation!)),
    };
    const names = this.#allocator.candidates(claims);
    const candidates = names && new Set(names);
    for (const node of nodes) {
      const wanted = referenceAllocate({ ...question, node });
      const answer = answerOf(this.#allocator.allocate(node, claims));
      assert.deepEqual(comparable(answer), comparable(wanted), `on ${node.metadata.name}`);
      if (candidates === undefined || candidates.has(node.metadata.name)) continue;
      const refused = "nodeError" in wanted || ("allocations" in wanted && wanted.allocations === null);
      assert.ok(refused, `${node.metadata.name} is not a candidate`);
    }
  }

  #tainted(slice: ResourceSlice): ResourceSlice {
    const rules = [...this.#rules.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const taintsOf = (name: string): DeviceTaint[] =>
      rules
        .filter(({ spec: { deviceSelector: wanted } }) =>
          wanted?.driver === undefined ? wanted?.device === name : wanted.driver === slice.spec.driver,
        )
        .flatMap(({ spec }) => spec.taint ?? []);
    const devices = (slice.spec.devices ?? []).map((device) => ({
      ...device,
      taints: [...(device.taints ?? []), ...taintsOf(device.name)],
    }));
    return { ...slice, spec: { ...slice.spec, ...(slice.spec.devices === undefined ? {} : { devices }) } };
  }
}

test("an allocator that was updated agrees with a new one", () => {
  const changing = questions().filter(({ features }) => variantOf(features) !== "stable");
  fc.assert(
    fc.property(changing, fc.array(step, { minLength: 1, maxLength: 10, size: "max" }), (question, steps) => {
      const cluster = new ChangingCluster(question);
      cluster.check();
      for (const step of steps) {
        cluster.play(step);
        cluster.check();
      }
    }),
    { numRuns },
  );
});
