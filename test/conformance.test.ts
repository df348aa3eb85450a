import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { temporaryFolder } from "@dray/testing/folder";
import { specTests } from "../conformance/cel-spec/tests.ts";
import { KnownDifferences } from "../conformance/known-differences.ts";
import { caseFiles, closeFormats, replayFile } from "../conformance/replay.ts";

const conformance = join(import.meta.dirname, "..", "conformance");
const shown = 10;

describe("recorded answers of Kubernetes' own libraries", () => {
  const known = KnownDifferences.read();
  after(closeFormats);
  for (const folder of ["cel", "alloc", "api"]) {
    for (const file of caseFiles(join(conformance, folder))) {
      test(`${folder}/${basename(file)}`, async () => {
        const { passed, failures, allowed } = await replayFile(file, known);
        const rest = failures.length > shown ? `\nand ${failures.length - shown} more` : "";
        const message = `${failures.length} cases failed:\n${failures.slice(0, shown).join("\n")}${rest}`;
        assert.equal(failures.length, 0, message);
        assert.ok(passed + allowed.size > 0);
      });
    }
  }

  test("every known difference is met by a case", () => assert.deepEqual(known.unmet, []));
});

describe("the CEL specification's own tests", () => {
  const text = readFileSync(join(conformance, "cel-spec-skipped.json"), "utf8");
  const skipped = new Set(Object.values(JSON.parse(text) as Record<string, string[]>).flat());
  const fileOf = (name: string): string => name.slice(0, name.indexOf("/"));
  for (const [file, tests] of Map.groupBy(specTests(), ({ name }) => fileOf(name))) {
    test(file, () => {
      const failures = tests.flatMap(({ name, expression, run }) => {
        const problem = run();
        const listed = skipped.delete(name);
        if (listed)
          return problem === undefined ? [`${name} passes: cel-spec-skipped.json must not list it`] : [];
        return problem === undefined ? [] : [`${name}: ${expression} ${problem}`];
      });
      assert.deepEqual(failures, []);
    });
  }

  test("every test that is left out exists", () => assert.deepEqual([...skipped], []));
});

interface Run {
  readonly status: number | null;
  readonly lines: readonly string[];
}

/** Runs the program over a folder with these files. */
function run(files: Readonly<Record<string, string | Buffer>>): Run {
  const folder = mkdtempSync(join(tmpdir(), "dray-conformance-"));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const program = join(conformance, "run.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, program, folder], {
      encoding: "utf8",
    });
    return { status, lines: (stdout + stderr).replaceAll(`${folder}/`, "").trimEnd().split("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A recorded case with some of its fields replaced. */
function recorded(file: string, change: object = {}): string {
  const [line = ""] = gunzipSync(readFileSync(join(conformance, file)))
    .toString()
    .split("\n");
  return JSON.stringify({ ...(JSON.parse(line) as object), ...change });
}

const cel = {
  group: "cost",
  id: "one",
  expression: 'device.driver == "a"',
  driver: "a",
  features: [],
  stored: true,
  devices: [{}],
  expect: { maxCost: 3, devices: [{ matches: true, cost: 3 }] },
};

describe("npm run conformance", () => {
  test("tells formats by their fields, in plain and in compressed files", () => {
    const { status, lines } = run({
      "a.jsonl": `${JSON.stringify(cel)}\n\n${recorded("alloc/basics.jsonl.gz")}\n`,
      "b.jsonl.gz": gzipSync(JSON.stringify(cel)),
      "README.md": "no cases",
    });
    assert.equal(lines.at(-1), "3 passed, 0 failed", lines.join("\n"));
    assert.equal(status, 0);
  });

  test("shows each disagreement with what was expected", () => {
    const expect = { maxCost: 8, devices: [{ matches: false, cost: 2 }] };
    const allocation = recorded("alloc/basics.jsonl.gz", { expect: { allocations: null } });
    const { status, lines } = run({ "a.jsonl": `${JSON.stringify({ ...cel, expect })}\n${allocation}\n` });
    const text = lines.join("\n");
    assert.match(
      text,
      /^a\.jsonl:1 one\n {2}device\.driver == "a"\n {2}value, device 0\n {4}expected: false\n {4}actual: {3}true\n/,
    );
    assert.match(text, /cost, maxCost\n {4}expected: 8\n {4}actual: {3}3\n/);
    assert.match(text, /cost, device 0\n {4}expected: 2\n {4}actual: {3}3\n/);
    assert.match(
      text,
      /\na\.jsonl:2 basics\/.*\n(.*\n)? {2}allocation\n {4}expected: does not fit\n {4}actual: {3}\[\{"devices"/,
    );
    assert.equal(lines.at(-1), "0 passed, 2 failed");
    assert.equal(status, 1);
  });

  test("of a syntax error the place counts, of others every letter", () => {
    const error = (place: string, text: string): object => ({
      compileError: `compilation failed: ERROR: <input>:${place}: ${text}\n | x\n | ^`,
      type: "RuleInvalid",
    });
    const wrong = { ...cel, devices: [], expression: "(true" };
    const undeclared = { ...cel, devices: [], expression: "x" };
    const right = error("1:1", "undeclared reference to 'x' (in container '')");
    const { lines } = run({
      "a.jsonl": [
        { ...wrong, expect: error("1:6", "Syntax error: as another parser words it") },
        { ...wrong, expect: error("1:7", "Syntax error: as another parser words it") },
        { ...undeclared, expect: right },
        { ...undeclared, expect: { ...right, type: "InternalError" } },
        { ...undeclared, expect: error("1:1", "undeclared reference to 'x'") },
      ]
        .map((line) => JSON.stringify(line))
        .join("\n"),
    });
    assert.equal(lines.at(-1), "2 passed, 3 failed", lines.join("\n"));
  });

  test("reports the cause of a malformed line, and goes on", () => {
    const { status, lines } = run({
      "a.jsonl": [
        "{",
        "[]",
        '{"what":1}',
        JSON.stringify({ ...cel, driver: 3 }),
        JSON.stringify({ ...cel, features: ["Nosuch"] }),
        JSON.stringify({ ...cel, expect: { maxCost: 1, devices: [] } }),
        recorded("alloc/basics.jsonl.gz", { expect: {} }),
        recorded("alloc/basics.jsonl.gz", { allocated: { shared: ["a/b/c"] } }),
        JSON.stringify(cel),
      ].join("\n"),
    });
    const starts = [
      "a.jsonl:1: not JSON: ",
      "a.jsonl:2: [] is no JSON object",
      "a.jsonl:3: no known format has the fields what",
      "a.jsonl:4: driver is 3: it must be of type string",
      "a.jsonl:5: features has Nosuch: known are ConsumableCapacity, ListTypeAttributes",
      "a.jsonl:6: expect.devices has 0 answers: there are 1 devices",
      'a.jsonl:7: expect must have one of "allocations"',
      "a.jsonl:8: allocated.shared has a/b/c: it must be driver/pool/device/shareID",
    ];
    for (const [i, start] of starts.entries()) assert.ok(lines[i]?.startsWith(start), lines[i]);
    assert.equal(lines.at(-1), "1 passed, 8 failed");
    assert.equal(status, 1);
  });

  test("goes on after a file that cannot be read", () => {
    const { status, lines } = run({ "a.jsonl.gz": "not compressed", "b.jsonl": JSON.stringify(cel) });
    assert.match(lines[0] ?? "", /^a\.jsonl\.gz: incorrect header check/);
    assert.equal(lines.at(-1), "1 passed, 1 failed");
    assert.equal(status, 1);
  });

  test("a folder without cases is an error", () => {
    const { status, lines } = run({ "README.md": "no cases" });
    assert.match(lines.at(-1) ?? "", /there is no \.jsonl or \.jsonl\.gz file in it/);
    assert.equal(status, 2);
  });
});

describe("known differences", () => {
  const file = (folder: string, expected: boolean): string => {
    const path = join(folder, "a.jsonl");
    const expect = { maxCost: 3, devices: [{ matches: expected, cost: 3 }] };
    writeFileSync(path, JSON.stringify({ ...cel, expect }));
    return path;
  };
  const listed = (): KnownDifferences => new KnownDifferences("cases: {one: its reason, two: another}");

  test("are counted by reason, and must differ", async (t) => {
    const folder = temporaryFolder(t);
    const differs = await replayFile(file(folder, false), listed());
    assert.deepEqual([differs.passed, differs.failures, [...differs.allowed]], [0, [], [["its reason", 1]]]);
    const agrees = await replayFile(file(folder, true), listed());
    assert.match(agrees.failures[0] ?? "", /it agrees now: take it off the list/);
  });

  test("that no case meets are found", () => {
    const known = listed();
    assert.equal(known.ofCase("one"), "its reason");
    assert.deepEqual(known.unmet, ["two"]);
  });

  test("an unknown rule is an error", () => {
    assert.throws(() => new KnownDifferences("rules: {nosuch: why}"), /rules\.nosuch/);
  });
});

describe("npm run conformance:live", () => {
  const ask = (args: readonly string[], environment: NodeJS.ProcessEnv): Run => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...process.execArgv, join(conformance, "live.ts"), ...args],
      { encoding: "utf8", env: { ...process.env, ...environment } },
    );
    return { status, lines: (stdout + stderr).trimEnd().split("\n") };
  };

  test("finds where ours differs, and writes it down as cases that the runner replays", (t) => {
    const folder = temporaryFolder(t);
    const oracle = join(folder, "oracle");
    // It answers as if nothing ever fitted and every expression had one mistake.
    const answers = `{ allocate: { allocations: null }, cel: { compileError: "no", type: "RuleInvalid" } }`;
    const program = `#!${process.execPath}
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) =>
        console.log(JSON.stringify({ answer: ${answers}[JSON.parse(line).op] })));`;
    writeFileSync(oracle, program, { mode: 0o755 });
    const out = join(folder, "found.jsonl");
    const args = ["--minutes", "0.0001", "--seed", "7", "--out", out];
    const first = ask(args, { DRAY_ORACLE: oracle });
    assert.match(first.lines[0] ?? "", /^seed 7, /);
    assert.match(first.lines.at(-1) ?? "", /differences of seed 7 in /);
    assert.equal(first.status, 1);
    // They are written in the order in which they have been made small, which differs.
    const found = (): string[] => readFileSync(out, "utf8").trimEnd().split("\n").sort();
    const cases = found();
    const replayed = run({ "found.jsonl": cases.join("\n") });
    assert.equal(replayed.lines.at(-1), `0 passed, ${cases.length} failed`);

    ask(args, { DRAY_ORACLE: oracle });
    assert.deepEqual(found(), cases, "the same seed asks other questions");
  });

  test("says so where it cannot run", () => {
    const { status, lines } = ask([], { DRAY_ORACLE: "", PATH: "" });
    assert.match(lines.at(-1) ?? "", /^not run: Go missing/);
    assert.equal(status, 0);
  });

  test("refuses options that make no sense", () => {
    assert.match(ask(["--minutes", "x"], {}).lines.at(-1) ?? "", /--minutes x: it must be/);
    assert.match(ask(["--seed", "x"], {}).lines.at(-1) ?? "", /--seed x: it must be/);
  });
});
