import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import {
  cdiRegistry,
  parseSpec,
  removeSpec,
  specFileName,
  transientIDs,
  UnresolvableDevicesError,
  writeSpec,
} from "./index.ts";
import { env, folder, spec } from "./testing/specs.ts";

test("files: written whole with the lowest version, 0755 folder, listed and removed", async () => {
  const directory = join(folder(), "later", "cdi");
  const content = { kind: "vendor.com/claim", devices: [{ name: "1f", containerEdits: env("A=1") }] };
  const path = await writeSpec(directory, content, "uid-1");
  assert.equal(path, join(directory, "vendor.com-claim_uid-1.json"));
  assert.equal(statSync(directory).mode & 0o777, 0o755);
  assert.equal(JSON.parse(readFileSync(path, "utf8")).cdiVersion, "0.5.0");
  await writeSpec(directory, content);
  assert.deepEqual(readdirSync(directory).sort(), ["vendor.com-claim.json", "vendor.com-claim_uid-1.json"]);
  assert.deepEqual(await transientIDs(directory, "vendor.com/claim"), ["uid-1"]);
  await assert.rejects(writeSpec(directory, { ...content, devices: [] }, "uid-2"), /at least one device/);
  await removeSpec(directory, content.kind, "uid-1");
  await removeSpec(directory, content.kind, "uid-1");
  assert.deepEqual(await transientIDs(directory, "vendor.com/claim"), []);
  assert.throws(() => specFileName("a/b", "../../etc"), /must not have a slash/);
});

test("ignores the temporary file of a killed writer", async () => {
  const directory = folder();
  writeFileSync(join(directory, `spec.${process.pid}.0.tmp`), "half a sp");
  await writeSpec(directory, { kind: "a/b", devices: [{ name: "c", containerEdits: env("A=1") }] });
  assert.deepEqual(await cdiRegistry([directory]).devices(), ["a/b=c"]);
});

test("resolve: the spec's edits once, devices in the order asked, all or none", async () => {
  const directory = folder();
  await writeSpec(directory, {
    kind: "a.com/gpu",
    devices: [
      { name: "0", containerEdits: env("GPU=0") },
      { name: "1", containerEdits: env("GPU=1") },
    ],
    containerEdits: env("COMMON=yes"),
  });
  const registry = cdiRegistry([directory]);
  assert.deepEqual((await registry.resolve(["a.com/gpu=1", "a.com/gpu=0"])).env, [
    "COMMON=yes",
    "GPU=1",
    "GPU=0",
  ]);
  await assert.rejects(registry.resolve(["a.com/gpu=1", "a.com/gpu=7"]), (error: unknown) => {
    assert.ok(error instanceof UnresolvableDevicesError);
    assert.equal(error.message, "unresolvable CDI devices a.com/gpu=7");
    return true;
  });
});

test("the dynamic folder wins over the static one; duplicates exclude each other, a bad file only itself", async () => {
  const [fixed, dynamic] = [folder(), folder()];
  const write = (directory: string, name: string, value: string, ...devices: string[]) =>
    writeFileSync(
      join(directory, name),
      JSON.stringify({
        cdiVersion: "0.3.0",
        kind: "a.com/x",
        devices: devices.map((device) => ({ name: device, containerEdits: env(value) })),
      }),
    );
  write(fixed, "1.json", "FROM=fixed", "both", "only", "twice");
  write(dynamic, "1.json", "FROM=dynamic", "both");
  write(fixed, "2.json", "FROM=other", "twice");
  writeFileSync(join(dynamic, "bad.yaml"), "kind: [");
  writeFileSync(join(dynamic, "notes.txt"), "not a spec");
  const registry = cdiRegistry([fixed, dynamic]);
  assert.deepEqual((await registry.resolve(["a.com/x=both", "a.com/x=only"])).env, [
    "FROM=dynamic",
    "FROM=fixed",
  ]);
  await assert.rejects(registry.resolve(["a.com/x=twice"]), /unresolvable CDI devices a.com\/x=twice/);
  assert.deepEqual(
    (await registry.problems()).map(({ path }) => path),
    [join(dynamic, "bad.yaml"), join(fixed, "2.json")],
  );
  // A definition of higher priority settles the conflict below it.
  write(dynamic, "3.json", "FROM=dynamic", "twice");
  assert.deepEqual((await registry.resolve(["a.com/x=twice"])).env, ["FROM=dynamic"]);
});

test("files and folders that come, change and go are seen at once", async () => {
  const directory = join(folder(), "not-yet");
  const registry = cdiRegistry([directory]);
  assert.deepEqual(await registry.devices(), []);
  const content = (value: string) => ({ kind: "a/b", devices: [{ name: "c", containerEdits: env(value) }] });
  await writeSpec(directory, content("A=1"));
  assert.deepEqual((await registry.resolve(["a/b=c"])).env, ["A=1"]);
  await writeSpec(directory, content("A=2"));
  assert.deepEqual((await registry.resolve(["a/b=c"])).env, ["A=2"]);
  await removeSpec(directory, "a/b");
  await assert.rejects(registry.resolve(["a/b=c"]), UnresolvableDevicesError);
});

test("skips large and special files with the reason, without blocking", async () => {
  const path = folder();
  writeFileSync(join(path, "good.json"), JSON.stringify(spec()));
  execFileSync("mkfifo", [join(path, "pipe.json")]);
  execFileSync("truncate", ["-s", "1T", join(path, "huge.json")]);
  symlinkSync("/dev/zero", join(path, "endless.yaml"));
  symlinkSync("nowhere", join(path, "dangling.yaml"));
  mkdirSync(join(path, "folder.json"));
  const registry = cdiRegistry([path]);
  assert.deepEqual(await registry.devices(), ["vendor.com/gpu=gpu-0"]);
  assert.deepEqual(
    (await registry.problems()).map((one) => [one.path.slice(path.length + 1), one.message]),
    [
      ["endless.yaml", "is a character device; only a regular file is read"],
      ["huge.json", `has ${2 ** 40} bytes; at most ${2 ** 20} bytes are read`],
      ["pipe.json", "is a named pipe; only a regular file is read"],
    ],
  );
});

test("parses long YAML in a thread without blocking the event loop", async () => {
  const path = folder();
  const devices = Array.from({ length: 200 }, (_, i) => ({
    name: `gpu-${i}`,
    containerEdits: env(`A=${i}`),
  }));
  writeFileSync(join(path, "long.yaml"), `# devices\n${stringify(spec({ devices }))}`);
  writeFileSync(join(path, "nested.yaml"), "[".repeat(400_000));
  const registry = cdiRegistry([path]);
  // Reading the nested file takes several seconds, which must not block other work.
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  assert.equal((await registry.devices()).length, 200);
  clearInterval(others);
  assert.ok(turns > 50, `others had ${turns} turns`);
  const [problem] = await registry.problems();
  assert.match(problem!.message, /^neither JSON nor YAML: |^its YAML was not read within 10 s$/);
});

test("ignores an unknown tag without a warning on stderr", async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error) => void warnings.push(warning);
  process.on("warning", hear);
  try {
    const text = "cdiVersion: 0.3.0\nkind: v/c\ndevices: [{name: a, containerEdits: {env: [!x A=b]}}]\n";
    assert.deepEqual(parseSpec(text).devices[0]?.containerEdits.env, ["A=b"]);
    // Warnings are emitted in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(warnings, []);
  } finally {
    process.off("warning", hear);
  }
});
