import assert from "node:assert/strict";
import { test } from "node:test";
import { selectControllers } from "@dray/controllers";

const known = ["deployment-controller", "job-controller", "token-cleaner-controller"];

test("--controllers: * means the defaults; the first entry of a controller counts", () => {
  const selected = (...wanted: string[]): string =>
    selectControllers(known, wanted)
      .map((name) => name.replace("-controller", ""))
      .join();
  assert.equal(selected("*"), "deployment,job");
  assert.equal(selected("*", "token-cleaner-controller"), "deployment,job,token-cleaner");
  assert.equal(selected("-job-controller", "*"), "deployment");
  assert.equal(selected("job-controller"), "job");
  assert.equal(selected("job-controller", "-job-controller"), "job");
  assert.equal(selected("-job-controller", "job-controller"), "");
  assert.equal(selected("*", "-job", "tokencleaner"), "deployment,token-cleaner", "older names");
  assert.throws(() => selectControllers(known, ["*", "-jobs"]), {
    message: /^jobs is not a controller: use \* or any of deployment-controller, job-controller, token-/,
  });
});
