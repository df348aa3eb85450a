import assert from "node:assert/strict";
import { appendFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { temporaryFolder } from "@dray/testing/folder";
import fc from "fast-check";
import { collect } from "../../testing/runtime-contract/pod.ts";
import type { LogLine } from "../service.ts";
import { followLog } from "./log-follower.ts";
import { LogFormat } from "./log-format.ts";

const time = "2016-10-06T00:17:09.669794202Z";
const at = Date.parse(time);
const never = new AbortController().signal;

function read(lines: readonly string[]): LogLine[] {
  const format = new LogFormat();
  const all = lines.flatMap((line) => [...format.read(Buffer.from(line))]);
  return [...all, ...format.rest()];
}
const texts = (lines: readonly LogLine[]) => lines.map(({ text }) => text.toString("utf8"));

test("lines of the CRI log format", () => {
  const lines = read([
    `${time} stdout F whole\n`,
    `${time} stderr F \n`,
    `${time} stdout F\n`,
    `${time} stdout P first \n`,
    `${time} stderr P other`,
    `${time} stdout P:tag second \n`,
    `${time} stdout F:tag last\n`,
    `${time} stdout P cut off\n`,
  ]);
  assert.deepEqual(texts(lines), ["whole\n", "\n", "\n", "first second last\n", "other", "cut off"]);
  assert.ok(lines.every((line) => line.at === at));
});

test("skips malformed lines", () => {
  const wrong = [
    "",
    "\n",
    "x\n",
    `${time}\n`,
    `${time} stdout\n`,
    "never stdout F x\n",
    `${time} stdin F x\n`,
  ];
  assert.deepEqual(read(wrong), []);
  fc.assert(fc.property(fc.array(fc.string()), (any) => Array.isArray(read(any))));
});

test("a line without an end comes in pieces that fit in memory", () => {
  const part = `${time} stdout P ${"x".repeat(1 << 14)}\n`;
  const lines = read(Array.from({ length: 200 }, () => part));
  assert.equal(texts(lines).join(""), "x".repeat(200 << 14));
  assert.ok(lines.every(({ text }) => text.length <= (1 << 20) + (1 << 14)));
});

function log(t: { after(run: () => void): void }) {
  const folder = temporaryFolder(t);
  const path = join(folder, "0.log");
  const write = (text: string) => appendFileSync(path, `${time} stdout F ${text}\n`);
  return { folder, path, write };
}

test("a log is followed over its rotations until it has ended", async (t) => {
  const { folder, path, write } = log(t);
  let over = false;
  const seen: string[] = [];
  const following = (async () => {
    const ended = async () => over;
    for await (const lines of followLog({ path, clock: systemClock, follow: never, ended }))
      for (const { text } of lines) seen.push(`${text}`);
  })();
  const until = async (count: number) => {
    while (seen.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  write("a");
  await until(1);
  for (let round = 0; round < 3; round++) {
    renameSync(path, join(folder, `old-${round}`));
    // The runtime has not opened its new file yet.
    appendFileSync(join(folder, `old-${round}`), `${time} stdout F late ${round}\n`);
    write(`new ${round}`);
    await until(3 + 2 * round);
  }
  write("last");
  over = true;
  await following;
  assert.deepEqual(
    seen.map((each) => each.trim()),
    ["a", ...[0, 1, 2].flatMap((round) => [`late ${round}`, `new ${round}`]), "last"],
  );
});

test("a missing log is empty; rejects a log that is a link", async (t) => {
  const { folder, path } = log(t);
  const all = () => collect(followLog({ path, clock: systemClock, ended: async () => true }));
  assert.deepEqual(await all(), []);
  writeFileSync(join(folder, "secret"), `${time} stdout F secret\n`);
  symlinkSync(join(folder, "secret"), path);
  await assert.rejects(all(), /ELOOP/);
});
