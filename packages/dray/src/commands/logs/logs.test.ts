import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { parse, parseAllDocuments } from "yaml";
import { logFile } from "../../log/destination.ts";
import { rotateInPlace, shiftFiles } from "../../log/rotate.ts";
import { dray, inFolder, start } from "../../testing/program.ts";
import { LogFile } from "./file.ts";

const limits = { maxSize: 300, maxOldFiles: 100 };
/** A morning in a time zone five and a half hours ahead of UTC. */
const noon = Date.parse("2026-01-31T02:00:00.000Z");
const env = { TZ: "Asia/Kolkata", NO_COLOR: "1" };

const line = (seconds: number, msg: string, fields: object = {}): string =>
  `${JSON.stringify({ level: 30, time: noon + seconds * 1000, component: "scheduler", ...fields, msg })}\n`;

/** Creates the data directory of a cluster with two nodes, and its folder of logs. */
function cluster(folder: string): { data: string[]; logs: string } {
  const logs = join(folder, "logs");
  mkdirSync(logs);
  writeFileSync(join(folder, "cluster.json"), JSON.stringify({ nodes: ["worker-1", "worker-2"] }));
  return { data: ["--data-dir", folder], logs };
}

test("logs of all components are merged by time, with local times, levels, components and nodes", () =>
  inFolder(async (folder) => {
    const { data, logs } = cluster(folder);
    const err = {
      type: "Error",
      message: "no",
      stack: "Error: no\n    at place",
      cause: { message: "deep" },
    };
    writeFileSync(
      join(logs, "control-plane.log"),
      line(1, "first", { component: "cluster" }) +
        line(3.5, "third", { level: 50, component: "apiserver", err, key: "a b", n: 1 }),
    );
    const agent = { component: "kubelet", node: "worker-2", level: 40 };
    writeFileSync(join(logs, "agents.log"), line(2, "second \u001b[2J", agent) + line(4, "fourth", agent));
    writeFileSync(join(logs, "up.log"), "node: crashed\n    at once\n");
    utimesSync(join(logs, "up.log"), noon / 1000 + 5, noon / 1000 + 5);

    const [text, some, one, json, yaml, last, stacks] = await Promise.all([
      dray(["logs", ...data], env),
      dray(["logs", "apiserver", "output", ...data], env),
      dray(["logs", "worker-2", "--since", "2026-01-31T02:00:03Z", ...data], env),
      dray(["logs", "kubelet/worker-2", "-o", "json", ...data], env),
      dray(["logs", "kubelet", "-o", "yaml", ...data], env),
      dray(["logs", "--tail", "1", ...data], env),
      dray(["logs", "apiserver", "-v", ...data], env),
    ]);
    assert.equal(
      text.stdout,
      [
        "Jan 31 07:30:01.000  info   cluster             first",
        "Jan 31 07:30:02.000  warn   kubelet/worker-2    second \\x1b[2J",
        'Jan 31 07:30:03.500  error  apiserver           third: no: deep key="a b" n=1',
        "Jan 31 07:30:04.000  warn   kubelet/worker-2    fourth",
        "Jan 31 07:30:05.000  info   output              node: crashed",
        "Jan 31 07:30:05.000  info   output                  at once",
        "",
      ].join("\n"),
    );
    assert.deepEqual([text.code, text.stderr], [0, ""]);
    assert.equal(some.stdout.split("\n").length, 4);
    assert.match(one.stdout, /^\S+ \S+ 07:30:04\.000 .*fourth\n$/);
    const messages = json.stdout
      .trim()
      .split("\n")
      .map((each) => JSON.parse(each) as unknown);
    assert.deepEqual(messages[1], {
      time: "2026-01-31T02:00:04.000Z",
      level: "warn",
      component: "kubelet",
      node: "worker-2",
      message: "fourth",
    });
    assert.deepEqual(
      parseAllDocuments(yaml.stdout).map((document) => parse(String(document))),
      messages,
    );
    assert.match(last.stdout, /^.* at once\n$/);
    assert.match(stacks.stdout, /third: no.*\n {4}Error: no\n {4}at place\n/);
  }));

test("an unknown component is answered with those that exist, and a folder without a cluster is named", () =>
  inFolder(async (folder) => {
    const { data } = cluster(folder);
    const [typo, node, none, empty, since] = await Promise.all([
      dray(["logs", "shceduler", ...data]),
      dray(["logs", "worker-3", ...data]),
      dray(["logs", "--data-dir", join(folder, "none")]),
      dray(["logs", ...data]),
      dray(["logs", "--since", "yesterday", ...data]),
    ]);
    assert.equal(typo.code, 2);
    assert.match(
      typo.stderr,
      /^error: unknown component shceduler: did you mean scheduler\? It must be one of cluster, apiserver, .*kubelet\/worker-2\nSee `dray logs --help`\.\n$/,
    );
    assert.match(node.stderr, /did you mean worker-1 or worker-2\?/);
    assert.equal(none.code, 1);
    const absent = join(folder, "none");
    assert.equal(
      none.stderr,
      `error: there is no cluster in ${absent}: \`dray up --data-dir ${absent}\` makes one\n`,
    );
    assert.deepEqual([empty.code, empty.stdout], [0, ""]);
    assert.equal(empty.stderr, `no lines in ${join(folder, "logs")}\n`);
    assert.equal(since.code, 2);
    assert.match(since.stderr, /--since yesterday: must be a duration above 0, such as 10m/);
  }));

async function read(lines: AsyncGenerator<{ line: string }>): Promise<string[]> {
  const found: string[] = [];
  for await (const { line } of lines) found.push(line);
  return found;
}

test("every line of a log that rotates is read once, however often it rotates between two looks", () =>
  inFolder(async (folder) => {
    const path = join(folder, "x.log");
    const log = logFile(path, () => "", limits);
    const written: string[] = [];
    const write = (count: number): void => {
      for (let i = 0; i < count; i++) {
        written.push(`line ${written.length} ${"x".repeat(40)}`);
        log.write(`${written.at(-1)}\n`);
      }
    };
    write(20);
    const file = new LogFile(path);
    const found = await read(file.history(0));
    assert.deepEqual(found, written);
    for (const count of [1, 0, 3, 10, 30, 1]) {
      write(count);
      for (const each of await read(file.added())) found.push(each);
      assert.deepEqual(found, written, `after ${count} lines`);
    }
    await file.close();
    const old = readdirSync(folder).filter((name) => /\.\d+$/.test(name));
    assert.ok(old.length > 5, "it has rotated");
    for (const name of old) {
      const { size } = statSync(join(folder, name));
      assert.ok(size > limits.maxSize / 2 && size <= limits.maxSize, `${name} has ${size} bytes`);
    }
  }));

test("a line is read when it is complete, and the end of a file that was cut is read from its copy", () =>
  inFolder(async (folder) => {
    const path = join(folder, "x.log");
    const file = new LogFile(path);
    assert.deepEqual(await read(file.history(0)), [], "it is not there yet");
    appendFileSync(path, "one\ntw");
    assert.deepEqual(await read(file.added()), ["one"]);
    appendFileSync(path, "o\nthr");
    assert.deepEqual(await read(file.added()), ["two"]);
    appendFileSync(path, `ee\n${"x".repeat(limits.maxSize)}\n`);
    rotateInPlace(path, limits);
    appendFileSync(path, "five\n");
    assert.deepEqual(await read(file.added()), ["three", "x".repeat(limits.maxSize), "five"]);
    appendFileSync(path, "six, cut");
    shiftFiles(path, limits);
    appendFileSync(path, "seven\n");
    assert.deepEqual(await read(file.added()), ["six, cut", "seven"]);
    await file.close();
  }));

test("every line is read once, at any moment of a rotation", () =>
  inFolder(async (folder) => {
    const path = join(folder, "x.log");
    const name = (number: number): string => (number === 0 ? path : `${path}.${number}`);
    const lines = 150;
    const step = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    let isWritten = false;
    /** Lines and renames in separate turns of the event loop. */
    const write = async (): Promise<void> => {
      for (let line = 0, old = 0; line < lines; line++) {
        appendFileSync(path, `${line}\n`);
        await step();
        if (line % 3 > 0) continue;
        for (let number = old++; number >= 0; number--) {
          renameSync(name(number), name(number + 1));
          if (number % 5 === line % 5) await step();
        }
      }
      isWritten = true;
    };
    writeFileSync(path, "");
    const [early, late] = [new LogFile(path), new LogFile(path)];
    const found = await read(early.history(0));
    const writing = write();
    const readOn = async (file: LogFile, into: string[]): Promise<void> => {
      while (!isWritten) {
        for (const line of await read(file.added())) into.push(line);
        await step();
      }
      for (const line of await read(file.added())) into.push(line);
    };
    const reading = readOn(early, found);
    for (let turn = 0; turn < 50; turn++) await step();
    const foundLate = await read(late.history(0));
    await Promise.all([writing, reading, readOn(late, foundLate)]);
    const all = Array.from({ length: lines }, (_, line) => `${line}`);
    assert.deepEqual(found, all);
    assert.deepEqual(foundLate, all);
    await early.close();
    await late.close();
    rmSync(name(20));
    const gap = new LogFile(path);
    const rest = await read(gap.history(0));
    assert.ok(rest.includes("0") && rest.includes(`${lines - 1}`), "a number without a file hides no other");
    await gap.close();
  }));

test("-f goes on with what comes, over a rotation", () =>
  inFolder(async (folder) => {
    const { data, logs } = cluster(folder);
    const log = logFile(join(logs, "control-plane.log"), () => "", limits);
    log.write(line(0, "0"));
    const child = start(["logs", "-f", "-o", "json", ...data]);
    let stdout = "";
    child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    const messages = (): string[] =>
      stdout
        .split("\n")
        .slice(0, -1)
        .map((each) => (JSON.parse(each) as { message: string }).message);
    try {
      await eventually("the first line is there", () => messages().length === 1);
      const wanted = ["0"];
      for (let i = 1; i < 40; i++) {
        log.write(line(i, `${i}`));
        wanted.push(`${i}`);
      }
      await eventually("all lines are there", () => messages().length >= wanted.length);
      writeFileSync(join(logs, "agents.log"), line(50, "a new file", { component: "kubelet" }));
      await eventually("a file that was not there is read", () => messages().includes("a new file"));
      assert.deepEqual(messages(), [...wanted, "a new file"]);
    } finally {
      child.kill("SIGKILL");
    }
  }));
