import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "./options.ts";

test("without options both sides are played once, kube-apiserver first", () => {
  const { sides, minutes, only } = readOptions([]);
  assert.deepEqual([sides, minutes, only], [["peer", "dray"], 0, undefined]);
});

test("without a name of a part all are run; those without scenarios are left out of a search for one", () => {
  const parts = (...args: string[]) => {
    const { scenarios, suites, jobs, specJobs } = readOptions(args);
    return { scenarios, suites, jobs, specJobs };
  };
  assert.deepEqual(parts(), {
    scenarios: true,
    suites: ["dra", "dra-oci", "dra-cri"],
    jobs: 4,
    specJobs: undefined,
  });
  assert.deepEqual(parts("dra", "--jobs", "2"), {
    scenarios: false,
    suites: ["dra"],
    jobs: 2,
    specJobs: 2,
  });
  assert.deepEqual(parts("scenarios").suites, []);
  assert.deepEqual(parts("conformance-dray", "dra").suites, ["dra", "conformance-dray"]);
  assert.deepEqual(
    [["--only", "Job"], ["dra"], ["drivers", "--only", "sample"], []].map(
      (args) => readOptions(args).drivers,
    ),
    [false, false, true, true],
  );
  assert.deepEqual(parts("--only", "Job").suites, []);
  assert.deepEqual(
    [["--only", "Job"], ["dra"], ["scheduling", "--seed", "7"], []].map((args) => {
      const { scheduling, seed } = readOptions(args);
      return [scheduling, seed];
    }),
    [
      [false, undefined],
      [false, undefined],
      [true, 7],
      [true, undefined],
    ],
  );
  assert.deepEqual(
    [["--only", "Job"], ["--against", "peer"], ["two-schedulers"], []].map(
      (args) => readOptions(args).twoSchedulers,
    ),
    [false, false, true, true],
  );
  assert.deepEqual(parts("--against", "peer").suites, []);
  assert.deepEqual(parts("dra-oci", "--only", "kubelet").suites, ["dra-oci"]);
  assert.throws(
    () => readOptions(["e2e"]),
    /e2e: must be scenarios, dra, dra-oci, dra-cri, dra-node, conformance, conformance-dray, conformance-peer, node-conformance, node-conformance-peer, drivers, scheduling or two-schedulers/,
  );
});

test("an invalid value of an option is an error that names the accepted ones", () => {
  assert.throws(() => readOptions(["--against", "nobody"]), /--against nobody: must be both, dray or peer/);
  assert.throws(() => readOptions(["--minutes", "ten"]), /--minutes ten: must be a number from 0 on/);
  assert.throws(() => readOptions(["--jobs", "0"]), /--jobs 0: must be a number from 1 on/);
  assert.throws(() => readOptions(["--seed", "one"]), /--seed one: must be a number from 0 on/);
  assert.throws(() => readOptions(["--only", "("]), /Invalid regular expression/);
  assert.throws(() => readOptions(["--what"]), /--what/);
});
