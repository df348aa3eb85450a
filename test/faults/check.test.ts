import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "./check.ts";
import type { Attempt, Change, Histories, Story } from "./history.ts";

const truth: Change[] = [
  { type: "put", name: "a", revision: 2, value: "c/1" },
  { type: "put", name: "a", revision: 3, value: "c/2" },
  { type: "put", name: "b", revision: 5, value: "c/3" },
  { type: "delete", name: "a", revision: 6 },
];
const attempt = (rest: Partial<Attempt>): Attempt => ({
  client: "c",
  verb: "update",
  name: "a",
  value: "",
  expected: 0,
  outcome: "done",
  ...rest,
});
const attempts: Attempt[] = [
  attempt({ verb: "create", value: "c/1", revision: 2 }),
  attempt({ value: "c/2", expected: 2, revision: 3 }),
  attempt({ verb: "create", name: "b", value: "c/3", outcome: "unknown" }),
  attempt({ verb: "delete", expected: 3 }),
  attempt({ value: "c/4", expected: 2, outcome: "refused" }),
];
const story: Story = {
  revision: 2,
  list: new Map([["a", { revision: 2, value: "c/1" }]]),
  changes: truth.slice(1),
};
const histories: Histories = {
  attempts,
  reads: [
    { client: "c", name: "a", atLeast: 3, found: { revision: 3, value: "c/2" } },
    { client: "c", name: "a", atLeast: 3 },
  ],
  watchers: [[story]],
};

test("a history in which every promise was kept is right", () => {
  assert.deepEqual(check(histories, truth), []);
});

const broken: [string, RegExp, Partial<Histories>, (readonly Change[])?][] = [
  ["a lost create", /create of a .* is lost/, {}, truth.slice(1)],
  ["a lost update", /update of a .* is lost/, {}, [truth[0]!, ...truth.slice(2)]],
  ["a lost deletion", /delete of a .* is lost/, {}, truth.slice(0, 3)],
  [
    "an update over another",
    /was done on revision 2/,
    {
      attempts: [
        ...attempts.slice(0, 1),
        attempt({ value: "c/2", expected: 1, revision: 3 }),
        ...attempts.slice(2),
      ],
    },
  ],
  [
    "a refused write that was done",
    /was refused and done/,
    { attempts: [...attempts.slice(0, 2), { ...attempts[2]!, outcome: "refused" }, ...attempts.slice(3)] },
  ],
  ["a write by nobody", /nobody wrote it/, { attempts: attempts.filter(({ name }) => name !== "b") }],
  [
    "a write done twice",
    /was done 2 times/,
    {},
    [...truth, { type: "put", name: "b", revision: 7, value: "c/3" }],
  ],
  [
    "a revision that came twice",
    /does not come after/,
    {},
    [...truth.slice(0, 3), { ...truth[3]!, revision: 5 }],
  ],
  ["a revision that was given twice", /given twice/, { attempts: [...attempts, attempts[1]!] }],
  [
    "a read of the past",
    /after it was told of 3/,
    { reads: [{ client: "c", name: "a", atLeast: 3, found: { revision: 2, value: "c/1" } }] },
  ],
  ["a read of nothing", /as gone/, { reads: [{ client: "c", name: "b", atLeast: 5 }] }],
  [
    "half a write",
    /never so/,
    { reads: [{ client: "c", name: "a", atLeast: 0, found: { revision: 3, value: "half" } }] },
  ],
  [
    "a watch with a gap",
    /put b c\/3 at 5 was/,
    { watchers: [[{ ...story, changes: [truth[1]!, truth[3]!] }]] },
  ],
  [
    "a watch that repeats",
    /came where/,
    { watchers: [[{ ...story, changes: [truth[1]!, truth[1]!, truth[2]!] }]] },
  ],
  ["a watch out of order", /came where/, { watchers: [[{ ...story, changes: [truth[2]!, truth[1]!] }]] }],
  ["a list of what was not", /list is not/, { watchers: [[{ ...story, list: new Map() }]] }],
];
for (const [what, error, part, store = truth] of broken) {
  test(`${what} is found`, () => {
    assert.match(check({ ...histories, ...part }, store).join("\n"), error);
  });
}
