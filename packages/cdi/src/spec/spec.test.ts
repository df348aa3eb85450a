import assert from "node:assert/strict";
import { test } from "node:test";
import { CdiError, minimumVersion, parseQualifiedName, parseSpec, validateSpec } from "../index.ts";
import { device, edits, env, spec } from "../testing/specs.ts";

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

test("errors name the field, the value and the accepted values", () => {
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
