import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { applyToContainer, applyToOciConfig, hostDevice, type OciConfig } from "../index.ts";
import { folder } from "../testing/specs.ts";

const nothing = () => {
  throw new Error("must not look at the host");
};

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

test("OCI: a device node inherits unset fields from the host, whose type must agree", () => {
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
  const directory = folder();
  assert.throws(() => hostDevice(directory), /neither a device node nor a fifo/);
  assert.throws(() => hostDevice(join(directory, "none")), /ENOENT/);
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
