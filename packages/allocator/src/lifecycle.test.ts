import assert from "node:assert/strict";
import { test } from "node:test";
import type { Allocator, Reservation } from "@dray/allocator";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import fc from "fast-check";
import { nodes, questions } from "./testing/clusters.ts";
import { comparable } from "./testing/compare.ts";
import { allocatorOf, answerOf, finished, withAllocation } from "./testing/engine.ts";
import { type Question, referenceAllocate, variantOf } from "./testing/reference.ts";
import { allocatedBy, checkWorld } from "./testing/world.ts";

/** `DRAY_RUNS` multiplies the number of runs. */
const numRuns = 150 * Number(process.env["DRAY_RUNS"] ?? 1);

type Step =
  | {
      readonly kind: "take";
      readonly claim: number;
      readonly node: number;
      readonly end: "commit" | "rollback" | "wait";
    }
  | { readonly kind: "settle"; readonly commit: boolean }
  | { readonly kind: "delete"; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      claim: fc.nat(3),
      node: fc.nat(nodes.length - 1),
      end: fc.constantFrom("commit", "commit", "rollback", "wait"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("settle" as const), commit: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), which: fc.nat() }) },
);

interface Waiting {
  readonly name: string;
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult;
  readonly reservation: Reservation;
}

/**
 * Reports whether all pools are complete, as nothing is allocated from others and their counters are unknown,
 * and whether the name of a device is unique in its pool (Device.name of resource.k8s.io/v1). The allocator
 * of Kubernetes rejects a pool only where one node sees a name twice; two devices of one name on two nodes
 * are the same device to it.
 */
function isWhole({ features, slices }: Question): boolean {
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  const stable = variantOf(features) === "stable";
  return (
    !(stable && pools.size > 1) &&
    [...pools.values()].every((list) => {
      const names = list.flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name));
      return (
        new Set(names).size === names.length &&
        list.every(({ spec }) => Number(spec.pool.resourceSliceCount) === list.length)
      );
    })
  );
}

/** Applies steps to the allocator and to a plain list of allocations, and compares them after each. */
class World {
  readonly #question: Question;
  readonly #allocator: Allocator;
  /** By the name of the claim. */
  readonly #held = new Map<string, AllocationResult>();
  readonly #stored = new Map<string, ResourceClaim>();
  readonly #waiting: Waiting[] = [];
  #made = 0;

  constructor(question: Question) {
    this.#question = { ...question, allocated: {} };
    this.#allocator = allocatorOf(this.#question);
  }

  play(step: Step): void {
    if (step.kind === "take") this.#take(step.claim, step.node, step.end);
    else if (step.kind === "delete") this.#delete(step.which);
    else this.#settle(this.#waiting.pop(), step.commit);
    checkWorld(this.#question.slices, this.#held.values());
  }

  #take(number: number, node: number, end: "commit" | "rollback" | "wait"): void {
    const { claims } = this.#question;
    const template = claims[number % claims.length]!;
    const name = `claim-${this.#made++}`;
    const claim = { ...template, metadata: { ...template.metadata, name, uid: name } };
    const question = {
      ...this.#question,
      node: nodes[node]!,
      claims: [claim],
      allocated: allocatedBy(this.#held.values()),
    };
    const result = finished(this.#allocator.allocate(question.node, question.claims));
    assert.deepEqual(comparable(answerOf(result)), comparable(referenceAllocate(question)));
    if (result.type !== "allocated") return;
    const allocation = result.allocations[0]!;
    const reservation = this.#allocator.reserve(question.claims, result.allocations);
    this.#held.set(name, allocation);
    const waiting = { name, claim, allocation, reservation };
    if (end === "wait") this.#waiting.push(waiting);
    else this.#settle(waiting, end === "commit");
  }

  #settle(waiting: Waiting | undefined, commit: boolean): void {
    if (waiting === undefined) return;
    const { name, claim, allocation, reservation } = waiting;
    if (commit) {
      const stored = withAllocation(claim, allocation);
      this.#allocator.update({ kind: "claim", object: stored, deleted: false });
      reservation.commit();
      this.#stored.set(name, stored);
    } else {
      reservation.rollback();
      this.#held.delete(name);
    }
  }

  #delete(which: number): void {
    const object = [...this.#stored.values()][which % Math.max(1, this.#stored.size)];
    if (object === undefined) return;
    this.#allocator.update({ kind: "claim", object, deleted: true });
    this.#stored.delete(object.metadata.name);
    this.#held.delete(object.metadata.name);
  }
}

test("while claims come and go, no device is allocated twice and no counter or capacity is exceeded", () => {
  fc.assert(
    fc.property(
      questions().filter(isWhole),
      fc.array(step, { minLength: 4, maxLength: 14 }),
      (question, steps) => {
        const world = new World(question);
        for (const step of steps) world.play(step);
      },
    ),
    { numRuns },
  );
});
