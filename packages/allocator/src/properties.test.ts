import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hardQuestions, limitQuestions, matchingQuestions, nodes, questions } from "./testing/clusters.ts";
import { comparable } from "./testing/compare.ts";
import { allocatorOf, answerOf, emptyAllocator, frozen } from "./testing/engine.ts";
import { type Question, referenceAllocate, variantOf } from "./testing/reference.ts";

/** `DRAY_RUNS` multiplies the number of runs. */
const times = Number(process.env["DRAY_RUNS"] ?? 1);
const runs = (numRuns: number): fc.Parameters<unknown> => ({ numRuns: numRuns * times });

/** Upstream iterates over a Go map of pools, so that every order is possible. */
function hasRandomOrder({ features, slices }: Question): boolean {
  const pools = new Set(slices.map(({ spec }) => `${spec.driver}/${spec.pool.name}`));
  return variantOf(features) === "stable" && pools.size > 1;
}

const usual = questions().filter((question) => !hasRandomOrder(question));
const hard: readonly (readonly [what: string, questions: fc.Arbitrary<Question>])[] = [
  ["many devices are interchangeable", hardQuestions()],
  ["each request matches different devices", matchingQuestions()],
  ["claims can exceed the maximum number of devices", limitQuestions()],
];
const any = fc.oneof(usual, ...hard.map(([, arbitrary]) => arbitrary));

test("returns the result of the reference, and does not change its inputs", () => {
  fc.assert(
    fc.property(usual, (question) => {
      const wanted = comparable(referenceAllocate(question));
      frozen(question);
      const result = allocatorOf(question).allocate(question.node, question.claims);
      assert.deepEqual(comparable(answerOf(result)), wanted);
    }),
    runs(600),
  );
});

for (const [what, arbitrary] of hard) {
  test(`returns what the reference returns where ${what}`, () => {
    fc.assert(
      fc.property(arbitrary, (question) => {
        const result = allocatorOf(question).allocate(question.node, question.claims);
        assert.deepEqual(comparable(answerOf(result)), comparable(referenceAllocate(question)));
      }),
      runs(250),
    );
  });
}

test("a search that is stopped again and again returns the same result", () => {
  fc.assert(
    fc.property(any, fc.infiniteStream(fc.boolean()), (question, stops) => {
      const undisturbed = answerOf(allocatorOf(question).allocate(question.node, question.claims));
      const always = allocatorOf(question).allocate(question.node, question.claims, {
        shouldStop: () => true,
      });
      assert.deepEqual(answerOf(always), undisturbed);
      const shouldStop = (): boolean => stops.next().value;
      const sometimes = allocatorOf(question).allocate(question.node, question.claims, { shouldStop });
      assert.deepEqual(answerOf(sometimes), undisturbed);
    }),
    runs(200),
  );
});

test("the order of slices does not matter where upstream sorts them", () => {
  const sorted = questions().filter(({ features }) => variantOf(features) !== "stable");
  fc.assert(
    fc.property(sorted, fc.infiniteStream(fc.nat()), (question, numbers) => {
      const slices = question.slices
        .map((slice) => ({ slice, place: numbers.next().value }))
        .sort((a, b) => a.place - b.place)
        .map(({ slice }) => slice);
      const shuffled = { ...question, slices };
      assert.deepEqual(
        answerOf(allocatorOf(shuffled).allocate(question.node, question.claims)),
        answerOf(allocatorOf(question).allocate(question.node, question.claims)),
      );
    }),
    runs(200),
  );
});

test("the index rules out only nodes that refuse the claims", () => {
  fc.assert(
    fc.property(usual, (question) => {
      const names = allocatorOf(question).candidates(question.claims);
      if (names === undefined) return;
      const candidates = new Set(names);
      for (const node of nodes) {
        if (candidates.has(node.metadata.name)) continue;
        const answer = referenceAllocate({ ...question, node });
        assert.ok("nodeError" in answer || ("allocations" in answer && answer.allocations === null));
      }
    }),
    runs(300),
  );
});

test("explain agrees with allocate, and does not influence it", () => {
  fc.assert(
    fc.property(any, (question) => {
      const allocator = allocatorOf(question);
      const before = answerOf(allocator.allocate(question.node, question.claims));
      const { outcome, message } = allocator.explain(question.node, question.claims);
      if ("error" in before)
        assert.deepEqual({ outcome, message }, { outcome: "error", message: before.error });
      else if ("nodeError" in before) assert.equal(outcome, "refused");
      else assert.equal(outcome, before.allocations === null ? "refused" : "allocated");
      assert.deepEqual(answerOf(allocator.allocate(question.node, question.claims)), before);
    }),
    runs(200),
  );
});

test("an explanation counts every device once, and is plain data", () => {
  fc.assert(
    fc.property(any, (question) => {
      const explanation = allocatorOf(question).explain(question.node, question.claims);
      assert.deepEqual(JSON.parse(JSON.stringify(explanation)), structuredClone(explanation));
      for (const request of explanation.claims.flatMap(({ requests }) => requests)) {
        const refused = request.refused.reduce((sum, { count }) => sum + count, 0);
        const chosen = new Set(request.chosen).size;
        // The rest are suitable, but were not needed, or not reached.
        assert.ok(chosen + refused <= request.seen, JSON.stringify(request));
        assert.ok(chosen <= request.suitable && request.seen - refused <= request.suitable);
        assert.ok(request.chosen.length <= request.wanted);
        // A pool may be invalid because two devices have the same name.
        const published = question.slices.flatMap(({ spec: { driver, pool, devices = [] } }) =>
          devices.map(({ name }) => `${driver}/${pool.name}/${name}`),
        );
        const isUnique = (id: string): boolean => published.indexOf(id) === published.lastIndexOf(id);
        const named = request.refused.flatMap(({ devices }) => devices.filter(isUnique));
        assert.equal(new Set(named).size, named.length);
        assert.ok(named.every((device) => !request.chosen.includes(device)));
        for (const { count, devices } of request.refused) assert.equal(devices.length, Math.min(count, 5));
      }
    }),
    runs(200),
  );
});

test("without slices, the result is that of the reference", () => {
  fc.assert(
    fc.property(questions(), (question) => {
      const bare = { ...question, slices: [], allocated: {} };
      const allocator = emptyAllocator(question.features);
      for (const object of question.classes) allocator.update({ kind: "class", object, deleted: false });
      const result = allocator.allocate(question.node, question.claims);
      assert.deepEqual(comparable(answerOf(result)), comparable(referenceAllocate(bare)));
    }),
    runs(50),
  );
});
