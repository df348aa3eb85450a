import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { stringify } from "yaml";
import {
  applyToContainer,
  applyToOciConfig,
  CdiError,
  type ContainerEdits,
  cdiRegistry,
  hostDevice,
  minimumVersion,
  type OciConfig,
  parseQualifiedName,
  parseSpec,
  removeSpec,
  specFileName,
  transientIDs,
  UnresolvableDevicesError,
  validateSpec,
  writeSpec,
} from "./index.ts";

const root = mkdtempSync("/tmp/dray-cdi-");
after(() => rmSync(root, { recursive: true }));
let folders = 0;
function folder(): string {
  const path = join(root, String(folders++));
  mkdirSync(path);
  return path;
}

const env = (value: string): ContainerEdits => ({ env: [value] });
const spec = (over: object = {}) => ({
  cdiVersion: "1.1.0",
  kind: "vendor.com/gpu",
  devices: [{ name: "gpu-0", containerEdits: env("A=1") }],
  ...over,
});
const device = (over: object) => spec({ devices: [{ name: "gpu-0", containerEdits: env("A=1"), ...over }] });
const edits = (containerEdits: object) => spec({ containerEdits });

test("a spec is read from JSON and from YAML, null is unset", () => {
  const expected = {
    cdiVersion: "0.3.0",
    kind: "vendor.com/gpu",
    devices: [{ name: "a", containerEdits: env("A=1") }],
  };
  assert.deepEqual(parseSpec(JSON.stringify({ ...expected, containerEdits: null })), expected);
  const yaml = `
cdiVersion: "0.3.0"
kind: vendor.com/gpu
containerEdits: null
devices:
- name: a
  containerEdits: {env: ["A=1"]}
`;
  assert.deepEqual(parseSpec(yaml), expected);
  assert.throws(() => parseSpec("{"), /^CdiError: neither JSON nor YAML: /);
});

test("what is wrong is named: field, value and what would be accepted", () => {
  const cases: [object, string][] = [
    [
      spec({ colour: 1 }),
      "colour: unknown field; known are cdiVersion, kind, annotations, devices, containerEdits",
    ],
    [{ kind: "a/b", devices: [] }, "devices: at least one device is required"],
    [spec({ devices: undefined }), "devices: required"],
    [spec({ kind: "vendor.com" }), 'kind: "vendor.com" must have the form vendor/class'],
    [
      spec({ kind: "1vendor/gpu" }),
      'kind: "1vendor" is no vendor: it must begin with a letter, end with a letter or digit, and may have "_", "-" and "." between',
    ],
    [
      device({ name: "-a" }),
      'devices[0].name: "-a" is no device name: it must begin and end with a letter or digit and may have "_", "-", "." and ":" between',
    ],
    [
      device({ containerEdits: {} }),
      "devices[0].containerEdits: a device must change something: at least one edit is required",
    ],
    [
      device({ containerEdits: { env: [] } }),
      "devices[0].containerEdits: a device must change something: at least one edit is required",
    ],
    [spec({ devices: [...spec().devices, ...spec().devices] }), 'devices[1].name: duplicate "gpu-0"'],
    [edits({ env: ["=1"] }), 'containerEdits.env[0]: "=1" must have the form NAME=value'],
    [
      edits({ deviceNodes: [{ path: "" }] }),
      'containerEdits.deviceNodes[0].path: "" must be a string that is not empty',
    ],
    [
      edits({ deviceNodes: [{ path: "/dev/a", type: "x" }] }),
      'containerEdits.deviceNodes[0].type: "x" is not supported, supported are "b", "c", "u", "p", ""',
    ],
    [
      edits({ deviceNodes: [{ path: "/dev/a", permissions: "rx" }] }),
      'containerEdits.deviceNodes[0].permissions: "rx" must be letters of "rwm", or "none"',
    ],
    [
      edits({ deviceNodes: [{ path: "/dev/a", uid: -1 }] }),
      "containerEdits.deviceNodes[0].uid: -1 must be an integer from 0 to 4294967295",
    ],
    [edits({ mounts: [{ hostPath: "/a" }] }), "containerEdits.mounts[0].containerPath: required"],
    [
      edits({ hooks: [{ hookName: "later", path: "/bin/true" }] }),
      'containerEdits.hooks[0].hookName: "later" is not supported, supported are "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"',
    ],
    [
      edits({
        netDevices: [
          { hostInterfaceName: "eth0", name: "a" },
          { hostInterfaceName: "eth1", name: "a" },
        ],
      }),
      'containerEdits.netDevices[1].name: duplicate "a"',
    ],
    [
      edits({ intelRdt: { closID: "a/b" } }),
      'containerEdits.intelRdt.closID: "a/b" must be the name of a folder',
    ],
    [spec({ annotations: { a: 1 } }), 'annotations["a"]: 1 must be a string'],
    [
      spec({ cdiVersion: "0.9.0" }),
      'cdiVersion: "0.9.0" is not known, known are 0.3.0, 0.4.0, 0.5.0, 0.6.0, 0.7.0, 0.8.0, 1.0.0, 1.1.0',
    ],
  ];
  for (const [value, message] of cases) {
    assert.throws(() => validateSpec({ cdiVersion: "1.1.0", ...value }), { name: "CdiError", message });
  }
  assert.throws(() => parseSpec('{"cdiVersion":"1.1.0","kind":"a/b","devices":[null]}'), {
    message: "devices[0]: undefined must be an object",
  });
});

test("the lowest version that suffices, and none lower is accepted", () => {
  const cases: [string, object][] = [
    ["0.3.0", spec()],
    ["0.4.0", edits({ mounts: [{ hostPath: "/a", containerPath: "/a", type: "tmpfs" }] })],
    ["0.5.0", edits({ deviceNodes: [{ path: "/dev/a", hostPath: "/dev/b" }] })],
    ["0.5.0", device({ name: "0a" })],
    ["0.6.0", device({ annotations: { a: "b" } })],
    ["0.6.0", spec({ kind: "vendor.com/gpu.mig" })],
    ["0.7.0", edits({ additionalGids: [5] })],
    ["0.7.0", edits({ intelRdt: { closID: "a" } })],
    ["1.1.0", edits({ netDevices: [{ hostInterfaceName: "eth0", name: "a" }] })],
    ["1.1.0", edits({ intelRdt: { enableMonitoring: true } })],
    ["1.1.0", device({ containerEdits: { intelRdt: { schemata: ["L3:0=f"] } } })],
  ];
  for (const [version, value] of cases) {
    const valid = validateSpec(value);
    assert.equal(minimumVersion(valid), version);
    assert.equal(validateSpec({ ...valid, cdiVersion: version }).cdiVersion, version);
    if (version !== "0.3.0") {
      assert.throws(() => validateSpec({ ...valid, cdiVersion: "0.3.0" }), {
        message: `cdiVersion: "0.3.0" is too low: what this spec uses needs ${version}`,
      });
    }
  }
});

test("qualified names", () => {
  assert.deepEqual(parseQualifiedName("k8s.gpu.example.com/gpu=0a-b:c"), {
    vendor: "k8s.gpu.example.com",
    class: "gpu",
    device: "0a-b:c",
  });
  for (const bad of ["gpu-0", "vendor.com=gpu", "a/b/c=d", "a/b=", "a/b=-", "/b=c"]) {
    assert.throws(() => parseQualifiedName(bad), CdiError, bad);
  }
});

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

test("a left-over temporary file of a killed writer is in nobody's way", async () => {
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

test("the dynamic folder wins over the static one; equals take each other out; a bad file only itself", async () => {
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

const nothing = () => {
  throw new Error("must not look at the host");
};

test("what is not a file of a modest size is passed over with its reason, and held up nobody", async () => {
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

test("long YAML is read in a thread: what is slow or broken in it holds up nothing else", async () => {
  const path = folder();
  const devices = Array.from({ length: 200 }, (_, i) => ({
    name: `gpu-${i}`,
    containerEdits: env(`A=${i}`),
  }));
  writeFileSync(join(path, "long.yaml"), `# devices\n${stringify(spec({ devices }))}`);
  writeFileSync(join(path, "nested.yaml"), "[".repeat(400_000));
  const registry = cdiRegistry([path]);
  // Reading the nested one takes several seconds, in which other work gets its turns.
  let turns = 0;
  const others = setInterval(() => turns++, 1);
  assert.equal((await registry.devices()).length, 200);
  clearInterval(others);
  assert.ok(turns > 50, `others had ${turns} turns`);
  const [problem] = await registry.problems();
  assert.match(problem!.message, /^neither JSON nor YAML: |^its YAML was not read within 10 s$/);
});

test("OCI: the table of edits, in its order, on a configuration that stays as it is", () => {
  const config = Object.freeze({
    ociVersion: "1.2.0",
    process: {
      env: ["PATH=/bin", "A=0", "AB=0"],
      user: { uid: 1000, gid: 0, additionalGids: [5] },
      cwd: "/",
    },
    mounts: [
      { destination: "/proc", source: "proc" },
      { destination: "/data/sub", source: "old" },
    ],
    hooks: { poststop: [{ path: "/bin/first" }] },
    linux: {
      devices: [
        { path: "/dev/gpu0", type: "c", major: 1, minor: 1 },
        { path: "/dev/zero", type: "c", major: 1, minor: 5 },
      ],
      resources: { devices: [{ allow: false, access: "rwm" }] },
    },
  });
  const before = JSON.stringify(config);
  const result = applyToOciConfig(
    config,
    {
      env: ["A=1", "NEW=x=y"],
      deviceNodes: [
        { path: "/dev/gpu0", type: "c", major: 195, minor: 0, permissions: "rw" },
        { path: "/dev/secret", type: "c", major: 195, minor: 1, permissions: "none", uid: 0, gid: 7 },
        { path: "/dev/pipe", type: "p" },
      ],
      netDevices: [{ hostInterfaceName: "eth7", name: "rdma0" }],
      mounts: [
        { hostPath: "/h/sub", containerPath: "/data/sub", options: ["ro", "bind"] },
        { hostPath: "/h", containerPath: "/data", type: "bind" },
      ],
      hooks: [
        { hookName: "poststop", path: "/bin/second", args: ["second"], timeout: 3 },
        { hookName: "createContainer", path: "/bin/ldcache" },
      ],
      intelRdt: { closID: "gold" },
      additionalGids: [0, 44, 5],
    },
    nothing,
  );
  assert.equal(JSON.stringify(config), before);
  assert.deepEqual(result, {
    ociVersion: "1.2.0",
    process: {
      env: ["PATH=/bin", "A=1", "AB=0", "NEW=x=y"],
      user: { uid: 1000, gid: 0, additionalGids: [5, 44] },
      cwd: "/",
    },
    mounts: [
      { destination: "/proc", source: "proc" },
      { destination: "/data", source: "/h", type: "bind" },
      { destination: "/data/sub", source: "/h/sub", options: ["ro", "bind"] },
    ],
    hooks: {
      poststop: [{ path: "/bin/first" }, { path: "/bin/second", args: ["second"], timeout: 3 }],
      createContainer: [{ path: "/bin/ldcache" }],
    },
    linux: {
      devices: [
        { path: "/dev/zero", type: "c", major: 1, minor: 5 },
        { path: "/dev/gpu0", type: "c", major: 195, minor: 0, uid: 1000 },
        { path: "/dev/secret", type: "c", major: 195, minor: 1, uid: 0, gid: 7 },
        { path: "/dev/pipe", type: "p", major: 0, minor: 0, uid: 1000 },
      ],
      resources: {
        devices: [
          { allow: false, access: "rwm" },
          { allow: true, type: "c", major: 195, minor: 0, access: "rw" },
          { allow: true, type: "c", major: 195, minor: 1 },
        ],
      },
      netDevices: { eth7: { name: "rdma0" } },
      intelRdt: { closID: "gold" },
    },
  });
});

test("OCI: what a device node leaves out comes from the host, whose type must agree", () => {
  const host = (path: string) => {
    assert.equal(path, "/dev/host");
    return { type: "b" as const, major: 8, minor: 16, fileMode: 0o660 };
  };
  const node = { path: "/dev/disk", hostPath: "/dev/host" };
  const apply = (more: object) =>
    applyToOciConfig<OciConfig>({}, { deviceNodes: [{ ...node, ...more }] }, host);
  assert.deepEqual(apply({}), {
    linux: {
      devices: [{ path: "/dev/disk", type: "b", major: 8, minor: 16, fileMode: 0o660 }],
      resources: { devices: [{ allow: true, type: "b", major: 8, minor: 16, access: "rwm" }] },
    },
  });
  assert.equal(apply({ type: "b", fileMode: 0o600 }).linux?.devices?.[0]?.fileMode, 0o600);
  assert.throws(() => apply({ type: "c" }), {
    name: "CdiError",
    message: "device node /dev/disk: its type is c, on the host /dev/host is of type b",
  });
});

test("OCI: an empty edit changes nothing", () => {
  const config = { mounts: [{ destination: "/a/b" }, { destination: "/a" }] };
  assert.deepEqual(applyToOciConfig(config, {}, nothing), config);
});

test("the host's device nodes", { skip: process.platform !== "linux" }, () => {
  const { type, major, minor } = hostDevice("/dev/null");
  assert.deepEqual({ type, major, minor }, { type: "c", major: 1, minor: 3 });
  assert.throws(() => hostDevice(root), /neither a device node nor a fifo/);
  assert.throws(() => hostDevice(join(root, "none")), /ENOENT/);
});

test("a plain container follows the same rules", () => {
  const container = {
    name: "ctr0",
    env: ["A=0"],
    mounts: [{ hostPath: "/x", containerPath: "/data/sub" }],
    deviceNodes: [{ path: "/dev/a" }],
    hooks: [],
  };
  assert.deepEqual(
    applyToContainer(container, {
      env: ["A=1", "B=2"],
      mounts: [{ hostPath: "/y", containerPath: "/data" }],
      deviceNodes: [{ path: "/dev/a", hostPath: "/dev/b" }],
      hooks: [{ hookName: "poststart", path: "/bin/true" }],
    }),
    {
      name: "ctr0",
      env: ["A=1", "B=2"],
      mounts: [
        { hostPath: "/y", containerPath: "/data" },
        { hostPath: "/x", containerPath: "/data/sub" },
      ],
      deviceNodes: [{ path: "/dev/a", hostPath: "/dev/b" }],
      hooks: [{ hookName: "poststart", path: "/bin/true" }],
    },
  );
  assert.deepEqual(container.env, ["A=0"]);
});

test("a tag that nobody knows is passed over without a word on stderr", async () => {
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
