import assert from "node:assert/strict";
import { test } from "node:test";
import { errors, failures, normalise, normaliseError, onlyIn } from "./log-lines.ts";

const head = "E1121 10:12:52.123456   26462";

test("two lines of the same failure are one kind, whatever it happened to and when", () => {
  const kinds = new Set(
    [
      `${head} replica_set.go:640] "Unhandled Error" err="sync \\"interop-0-1-ns/interop-app-7d74d6df97\\" failed with read version: 339 is not as new as written version: 372"`,
      `E1122 11:00:00.000001       7 replica_set.go:641] "Unhandled Error" err="sync \\"interop-3-16-ns/interop-app-fbf58dc79\\" failed with read version: 4 is not as new as written version: 5"`,
    ].map(normalise),
  );
  assert.equal(kinds.size, 1);
});

test("identifiers, addresses, times and names under klog's keys are taken away", () => {
  const one = `${head} a.go:1] "Failed" pod="default/web-abc" uid="2d280470-9133-4920-ba89-2099dbfa8bf1" err="Get \\"https://127.0.0.1:6443/api/v1/pods\\": dial tcp 10.1.2.3:6443"`;
  const two = `${head} a.go:2] "Failed" pod="x/y" uid="00000000-9133-4920-ba89-2099dbfa8bf1" err="Get \\"https://127.0.0.1:7000/api/v1/nodes\\": dial tcp 10.9.9.9:7000"`;
  assert.equal(normalise(one), normalise(two));
});

test("errors of one kind are one, whatever the names are, and say what was refused", () => {
  const line = (pod: string, uid: string) =>
    `E1121 10:12:52.1 7 status_manager.go:9] "Failed to get status for pod" err="pods \\"${pod}\\" is forbidden: User \\"u\\" cannot get resource \\"pods\\" in API group \\"\\"" podUID="${uid}"`;
  const log = `${line("a", "1")}\n${line("b-2", "3")}\nI1121 10:12:52.1 7 a.go:1] "Slow" err="x"`;
  const kind =
    'status_manager.go] Failed to get status for pod: pods NAME is forbidden: User NAME cannot get resource "pods" in API group ""';
  assert.deepEqual([...errors(log)], [[kind, 2]]);
  const plain = `E1121 10:12:52.1 7 projected.go:1] Error preparing data for volume ctb-0 for pod ns-1/x: not found`;
  assert.equal(
    normaliseError(plain),
    "projected.go] Error preparing data for volume NAME for pod NAME not found",
  );
});

test("a patch in an error is one name, whatever is quoted in it", () => {
  const patch = '{\\\\\\"message\\\\\\":\\\\\\"no pod sandbox exists\\\\\\"}';
  const line = `E1121 10:12:52.1 7 status_manager.go:9] "Failed to update status for pod" err="failed to patch status \\"${patch}\\" for pod \\"a\\"/\\"b-c\\": pods \\"b-c\\" not found" pod="a/b-c"`;
  assert.equal(
    normaliseError(line),
    "status_manager.go] Failed to update status for pod: failed to patch status NAME for pod NAME pods NAME not found",
  );
});

test("the messages of errors are kept", () => {
  const line = `${head} a.go:1] "Unhandled" err="interop-0/interop-app failed with: \\"interop-app-1\\" is forbidden: terminated"`;
  assert.match(normalise(line) ?? "", /failed with: \\"NAME\\" is forbidden: terminated/);
  const refused = (resource: string) =>
    normalise(
      `${head} a.go:1] "Failed" err="User \\"system:kube-scheduler\\" cannot list resource \\"${resource}\\""`,
    );
  assert.notEqual(refused("pods"), refused("nodes"));
  assert.match(refused("pods") ?? "", /system:kube-scheduler.*cannot list resource.*pods/);
});

test("a line that informs counts only if it carries an error", () => {
  assert.equal(normalise('I1121 10:12:52.123456   26462 a.go:1] "Started" count=3'), undefined);
  assert.match(normalise('I1121 10:12:52.123456   26462 a.go:1] "Retrying" err="no"') ?? "", /^I a\.go\] /);
  assert.equal(normalise("goroutine 1 [running]:"), undefined);
});

test("reports kinds of only one side with their counts", () => {
  const line = (text: string) => `${head} a.go:1] ${text}\n`;
  const ours = failures(line("seldom") + line("often") + line("often") + line("both"));
  const theirs = failures(line("both") + line("other"));
  assert.deepEqual(onlyIn(ours, theirs), [
    { line: "E a.go] often", count: 2 },
    { line: "E a.go] seldom", count: 1 },
  ]);
});
