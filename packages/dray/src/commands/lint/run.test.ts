import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { githubText } from "../../lint/print.ts";
import { ruleIds, rules } from "../../lint/rules.ts";
import { dray, inFolder, output, sources, start } from "../../testing/program.ts";

const root = join(import.meta.dirname, "../../../../..");
const document = readFileSync(join(root, "docs/lint.md"), "utf8");
const example = join(root, "examples/lint/broken.yaml");
const cluster = join(root, "examples/plan/cluster.yaml");

test("docs/lint.md lists the rules of the code, and no others, with their severities", () => {
  const rows = [...document.matchAll(/^\| `([a-z-]+)` \| (\w+) \| (.*) \|$/gm)].map(([, ...cells]) => cells);
  assert.deepEqual(
    rows,
    ruleIds.map((id) => [id, rules[id].severity, rules[id].about]),
  );
});

test("the transcript in docs/lint.md is what the example gives", async () => {
  const { stdout, stderr, code } = await dray(["lint", example, "--cluster", cluster]);
  assert.deepEqual([code, stderr], [1, ""]);
  const [, shown] = /^\$ dray lint examples\/lint .*\n((?:.*\n)*?)```/m.exec(document) ?? [];
  assert.equal(stdout.replaceAll(`${root}/`, ""), shown);
});

interface LintData {
  readonly findings: readonly { readonly rule: string; readonly severity: string; readonly line?: number }[];
  readonly summary: Readonly<Record<string, unknown>>;
}

test("json and yaml have the same findings; rules and severities can be left out; exit codes", async () => {
  const args = ["lint", example, "--cluster", cluster];
  const all = [
    "selector-never-matches",
    "count-too-high",
    "missing-template",
    "unknown-field",
    "undeclared-claim",
    "unused-claim",
  ];
  const [json, yaml, errors, ignored, well] = await Promise.all([
    dray([...args, "-o", "json"]),
    dray([...args, "-o", "yaml"]),
    dray([...args, "--severity", "error"]),
    dray([
      ...args,
      "--ignore",
      all.slice(0, 3).join(),
      "--ignore",
      "unknown-field,undeclared-claim",
      "-o",
      "json",
    ]),
    dray(["lint", "-f", join(root, "examples/plan")]),
  ]);
  const data = JSON.parse(json.stdout) as LintData;
  assert.deepEqual(parse(yaml.stdout), data);
  assert.deepEqual(
    data.findings.map(({ rule }) => rule),
    all,
  );
  assert.deepEqual(data.summary, {
    kubernetesVersion: "1.37",
    files: 1,
    objects: 4,
    unchecked: 0,
    errors: 5,
    warnings: 1,
  });
  assert.doesNotMatch(errors.stdout, /warning:/);
  assert.equal(errors.code, 1);
  const left = JSON.parse(ignored.stdout) as LintData;
  assert.deepEqual(
    left.findings.map(({ rule, severity }) => [rule, severity]),
    [["unused-claim", "warning"]],
  );
  // Warnings alone leave the exit code at 0.
  assert.equal(ignored.code, 0);
  assert.deepEqual(
    [well.code, well.stdout],
    [0, "nothing found in 9 objects, by the rules of Kubernetes 1.37\n"],
  );
});

test("lints the output of helm on standard input, with annotations of a workflow", async () => {
  const child = start(["lint", "-", "-o", "github", "-q"], {}, { stdin: "pipe" });
  child.stdin?.end(`---
# Source: chart/templates/empty.yaml
---
# Source: chart/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: main, image: "a,b:c", imag: 100%}]
`);
  const { code, stdout, stderr } = await output(child);
  assert.deepEqual([code, stderr], [1, ""]);
  assert.equal(
    stdout,
    '::error file=standard input,line=9,title=unknown-field::Pod default/p: unknown field "spec.containers[0].imag"%0Ahint: did you mean image or imagePullPolicy?\n',
  );
});

test("kinds that are not built in are counted, and named", async () => {
  await inFolder(async (folder) => {
    writeFileSync(join(folder, "w.yaml"), "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n");
    const { code, stdout, stderr } = await dray(["lint", folder]);
    assert.deepEqual(
      [code, stdout, stderr],
      [
        0,
        "nothing found in 1 object, by the rules of Kubernetes 1.37\n",
        "note: not checked, since their kinds are not built in: Widget (example.com/v1)\n",
      ],
    );
  });
});

test("an unreadable file and wrong usage exit with 2; other files are checked", async () => {
  const [missing, none, rule, unreachable] = await Promise.all([
    dray(["lint", "/nonexistent.yaml", example]),
    dray(["lint"]),
    dray(["lint", example, "--ignore", "unknown-fields"]),
    dray(["lint", example, "--kubeconfig", "/nonexistent"]),
  ]);
  assert.deepEqual(
    [missing, none, rule, unreachable].map(({ code }) => code),
    [2, 2, 2, 2],
  );
  assert.match(
    missing.stdout,
    /^(?:.*\n)*.*nonexistent.yaml: error: there is no such file or directory \[unreadable\]/,
  );
  assert.match(missing.stdout, /\[unknown-field\]/);
  assert.match(none.stderr, /name the manifests: files, directories, - for standard input/);
  assert.match(rule.stderr, /--ignore unknown-fields: no such rule: did you mean unknown-field\?/);
  assert.match(unreachable.stderr, /^error: .*\/nonexistent/);
});

test("annotations escape the characters that would end them", () => {
  const found = {
    rule: "invalid",
    severity: "warning",
    file: "a,b:c.yaml",
    message: "100%\nof it",
    details: ["why"],
    hints: [],
  } as const;
  assert.equal(githubText(found), "::warning file=a%2Cb%3Ac.yaml,title=invalid::100%25%0Aof it%0Awhy\n");
});

test("lint is loaded by no other command", async () => {
  await inFolder(async (folder) => {
    const hooks = join(folder, "hooks.mjs");
    writeFileSync(
      hooks,
      `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write(url + "\\n"); return next(url, context); } });`,
    );
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(hooks)}`, DRAY_TEST_PROGRAM: sources };
    const [plan, lint] = await Promise.all([
      dray(["plan", "-f", cluster], env),
      dray(["lint", cluster], env),
    ]);
    assert.match(plan.stderr, /\/src\/plan\/plan\.ts\n/);
    assert.doesNotMatch(plan.stderr, /\/src\/lint\/|\/apiserver\/src\/server\.ts/);
    assert.match(lint.stderr, /\/src\/lint\/lint\.ts\n/);
  });
});
