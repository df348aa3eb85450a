import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgressDeadline } from "./progress-deadline.ts";

const failure = (): Error => new Error("a is missing");

test("a step within the time starts it anew", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = new ProgressDeadline({ timeout: 100, failure });
  let error: unknown;
  deadline.exceeded.catch((reason) => {
    error = reason;
  });
  mock.timers.tick(99);
  deadline.advance();
  mock.timers.tick(99);
  await Promise.resolve();
  assert.equal(error, undefined);
  mock.timers.tick(1);
  await assert.rejects(deadline.exceeded, { message: "a is missing" });
});

test("nothing happens after a stop", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const signal = new AbortController();
  const deadline = new ProgressDeadline({ timeout: 100, failure, signal: signal.signal });
  deadline.stop();
  mock.timers.tick(200);
  signal.abort(new Error("too late"));
  assert.equal(await Promise.race([deadline.exceeded, Promise.resolve("pending")]), "pending");
});

test("an abort ends the wait with its reason, before or after the start", async () => {
  const before = AbortSignal.abort(new Error("stopped"));
  await assert.rejects(new ProgressDeadline({ timeout: 1, failure, signal: before }).exceeded, {
    message: "stopped",
  });
  const controller = new AbortController();
  const deadline = new ProgressDeadline({ timeout: 60_000, failure, signal: controller.signal });
  controller.abort(new Error("stopped"));
  await assert.rejects(deadline.exceeded, { message: "stopped" });
});
