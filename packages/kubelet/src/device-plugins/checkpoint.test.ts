import assert from "node:assert/strict";
import { test } from "node:test";
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from "./checkpoint.ts";

const checkpoint: Checkpoint = {
  entries: [
    {
      podUid: "uid",
      container: "main",
      resource: "example.com/gpu",
      ids: ["a", "b", "c"],
      numaNodes: new Map([
        ["a", [0, 1]],
        ["b", [1]],
      ]),
      response: {
        envs: { A: "1" },
        mounts: [{ containerPath: "/c", hostPath: "/h", readOnly: true }],
        devices: [],
        annotations: {},
        cdiDevices: [{ name: "example.com/gpu=a" }],
      },
    },
  ],
  registered: new Map([["example.com/gpu", ["a", "b", "c", "d"]]]),
  bootId: "boot",
};

test("the file has the kubelet's fields, and is read as it was written", () => {
  const text = formatCheckpoint(checkpoint);
  const { Data, BootID } = JSON.parse(text);
  assert.deepEqual(Data.PodDeviceEntries[0], {
    PodUID: "uid",
    ContainerName: "main",
    ResourceName: "example.com/gpu",
    DeviceIDs: { "-1": ["c"], "0": ["a"], "1": ["a", "b"] },
    AllocResp: Data.PodDeviceEntries[0].AllocResp,
  });
  assert.deepEqual(Data.RegisteredDevices, { "example.com/gpu": ["a", "b", "c", "d"] });
  assert.equal(BootID, "boot");
  assert.deepEqual(parseCheckpoint(text), checkpoint);
});

test("detects every changed byte of the data, and names a malformed part", () => {
  const text = formatCheckpoint(checkpoint);
  for (const [from, to] of [
    ['"a"', '"x"'],
    ["uid", "udi"],
    ['"boot"', '"toob"'],
  ] as const)
    assert.throws(() => parseCheckpoint(text.replace(from, to)), /its checksum is wrong/);
  assert.throws(() => parseCheckpoint("[]"), /the file must be an object/);
  assert.throws(() => parseCheckpoint('{"Data":1,"BootID":2}'), /BootID must be a string/);
  assert.throws(() => parseCheckpoint(text.slice(0, -1)), SyntaxError);
});
