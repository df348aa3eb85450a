import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder, output, start } from "../../testing/program.ts";

const root = join(import.meta.dirname, "../../../../..");
const old = "apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata:\n  name: a # comment\n";
const migrated = old.replace("v1beta1", "v1");

test("the transcript in docs/migrate.md is what the example gives", async () => {
  const { stdout, stderr, code } = await dray(["migrate", join(root, "examples/migrate")]);
  assert.equal(code, 0);
  const document = readFileSync(join(root, "docs/migrate.md"), "utf8");
  const [, shown] = /^\$ dray migrate .*\n((?:.*\n)*?)```/m.exec(document) ?? [];
  // The notes come first, the summary last.
  const [, notes, summary] = /^(.*\n)(.*\n)$/s.exec(stderr.replaceAll(`${root}/`, "")) ?? [];
  assert.equal(`${notes}${stdout}${summary}`, shown);
});

test("standard input is migrated to standard output, JSON too", async () => {
  const child = start(["migrate", "-", "-q", "--device-class", "example.com/a=b"], {}, { stdin: "pipe" });
  child.stdin?.end(
    '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"resources":{"limits":{"example.com/a":1}}}]}}',
  );
  const { stdout, stderr, code } = await output(child);
  assert.deepEqual([code, stderr], [0, ""]);
  const { items } = JSON.parse(stdout) as {
    items: { spec: { spec: { devices: { requests: unknown[] } } } }[];
  };
  assert.deepEqual(items[1]!.spec.spec.devices.requests, [{ name: "a", exactly: { deviceClassName: "b" } }]);
});

test("--write changes the files that have to, with their permissions, and none if one cannot be read", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "a.yaml");
    const bad = join(folder, "b.yaml");
    writeFileSync(file, old);
    chmodSync(file, 0o640);
    writeFileSync(bad, "a: {{ .Values.a }}\nb: [\n");
    const refused = await dray(["migrate", folder, "--write"]);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /b\.yaml:3: is not YAML: .*\n {2}hint: a template of Helm is rendered first/,
    );
    assert.equal(readFileSync(file, "utf8"), old);
    const { stdout, stderr, code } = await dray(["migrate", file, "--write"]);
    assert.deepEqual([code, stdout], [0, `${file}: 1 object changed\n`]);
    assert.equal(stderr, "1 migrated of 1 object\n");
    assert.equal(readFileSync(file, "utf8"), migrated);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    const again = await dray(["migrate", file, "--write"]);
    assert.deepEqual([again.stdout, again.stderr], ["", "nothing to migrate of 1 object\n"]);
  });
});

test("wrong usage", async () => {
  for (const [args, message] of [
    [[], "name the manifests"],
    [["-", "--write"], "--write: standard input is not a file"],
    [["x.yaml", "--write", "-o", "json"], "--write writes the files themselves"],
    [["x.yaml", "--device-class", "gpu"], "--device-class gpu: must be RESOURCE=CLASS"],
  ] as const) {
    const { code, stderr } = await dray(["migrate", ...args]);
    assert.equal(code, 2, stderr);
    assert.ok(stderr.includes(message), stderr);
  }
  const missing = await dray(["migrate", "no-such-file.yaml"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /no-such-file\.yaml: there is no such file or directory/);
});
