import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, ResourceClaim } from "@dray/api/resource/v1";
import {
  allocatorWith,
  claim,
  gpuClass,
  meta,
  node,
  oneDevice,
  slice,
  stored,
  update,
} from "../testing/single-node.ts";

test("explains every device by the first check that ruled it out", () => {
  const allocator = allocatorWith(
    slice("p", [
      { name: "small", attributes: { big: { bool: false } } },
      {
        name: "tainted",
        attributes: { big: { bool: true } },
        taints: [{ key: "broken", effect: "NoSchedule" }],
      },
      { name: "held", attributes: { big: { bool: true } } },
      { name: "good", attributes: { big: { bool: true } } },
    ]),
  );
  const results = [{ request: "r", driver: "gpu.example.com", pool: "p", device: "held" }];
  update(allocator, stored(claim("other"), 1, { devices: { results } }));
  const big = 'device.attributes["gpu.example.com"].big';
  const explanation = allocator.explain(node, [claim("c", 2, big)]);
  const names = (device: string): string[] => [`gpu.example.com/p/${device}`];
  assert.deepEqual(explanation, {
    node: "worker",
    outcome: "refused",
    message: "cannot allocate all claims",
    claims: [
      {
        claim: "default/c",
        requests: [
          {
            request: "r",
            deviceClass: "gpu",
            wanted: 2,
            seen: 4,
            suitable: 1,
            chosen: names("good"),
            refused: [
              {
                check: "request-selector",
                cause: big,
                selector: { expression: big, values: { "gpu.example.com/big": false } },
                count: 1,
                devices: names("small"),
              },
              {
                check: "taint",
                cause: "untolerated taint broken:NoSchedule",
                taint: { key: "broken", effect: "NoSchedule" },
                count: 1,
                devices: names("tainted"),
              },
              {
                check: "in-use",
                cause: "allocated to claim default/other",
                holder: "default/other",
                count: 1,
                devices: names("held"),
              },
            ],
          },
        ],
      },
    ],
  });
});

test("names five devices per group, or with allDevices all of them and the suitable ones", () => {
  const many = Array.from({ length: 8 }, (_, i) => ({
    name: `d${i}`,
    ...(i < 7 && { taints: [{ key: "broken", effect: "NoSchedule" }] }),
  }));
  const allocator = allocatorWith(slice("p", many));
  const [few, all] = [undefined, { allDevices: true }].map(
    (options) => allocator.explain(node, [claim("c")], options).claims[0]!.requests[0]!,
  );
  assert.deepEqual([few!.refused[0]!.devices.length, few!.suitableDevices], [5, undefined]);
  assert.deepEqual([all!.refused[0]!.devices.length, all!.suitableDevices], [7, ["gpu.example.com/p/d7"]]);
});

test("a device that does not match is not explained as in use, and an error of a selector on a device in use is ignored", () => {
  const nic = slice("nics", [{ name: "nic", attributes: { big: { bool: true } } }]);
  const allocator = allocatorWith(
    { ...nic, spec: { ...nic.spec, driver: "nic.example.com" } },
    slice("p", [
      { name: "small", attributes: { big: { bool: false } } },
      { name: "big", attributes: { big: { bool: true } } },
      { name: "unlabelled" },
    ]),
  );
  const held = [
    ["nic.example.com", "nics", "nic"],
    ["gpu.example.com", "p", "small"],
    ["gpu.example.com", "p", "big"],
    ["gpu.example.com", "p", "unlabelled"],
  ].map(([driver = "", pool = "", device = ""]) => ({ request: "r", driver, pool, device }));
  update(allocator, stored(claim("other"), 1, { devices: { results: held } }));
  const expression = 'device.attributes["gpu.example.com"].big';
  const { outcome, claims } = allocator.explain(node, [claim("c", 1, expression)]);
  // The search never asked the selector about the device on which it fails.
  assert.equal(outcome, "refused");
  assert.deepEqual(
    claims[0]!.requests[0]!.refused.map(({ check, devices }) => [check, devices]),
    [
      ["in-use", ["gpu.example.com/p/big", "gpu.example.com/p/unlabelled"]],
      ["request-selector", ["gpu.example.com/p/small"]],
      ["class-selector", ["nic.example.com/nics/nic"]],
    ],
  );
});

test("a claim without a namespace is named without one", () => {
  const allocator = allocatorWith(oneDevice);
  const { namespace: _, ...metadata } = meta("mine");
  const mine = { ...claim("mine", 40), metadata } as ResourceClaim;
  const nowhere = { ...mine, metadata: { ...metadata, namespace: "" } };
  for (const object of [mine, nowhere]) {
    const result = allocator.allocate(node, [object]);
    assert.equal(result.type, "error");
    assert.match(result.type === "error" ? result.message : "", /^claim mine, request r: /);
    assert.equal(allocator.explain(node, [object]).claims[0]!.claim, "mine");
  }
});

test("explains a constraint by the conflicting values in the deepest partial solution", () => {
  const numa = (name: string, value: number): Device => ({ name, attributes: { numa: { int: value } } });
  const allocator = allocatorWith(slice("p", [numa("a", 0), numa("b", 0), numa("c", 1)]));
  const constraints = [{ matchAttribute: "gpu.example.com/numa" }];
  const wanted = claim("c", 3);
  const explanation = allocator.explain(node, [
    { ...wanted, spec: { devices: { ...wanted.spec.devices, constraints } } },
  ]);
  const [request] = explanation.claims[0]!.requests;
  assert.deepEqual(request!.chosen, ["gpu.example.com/p/a", "gpu.example.com/p/b"]);
  assert.deepEqual(request!.refused, [
    {
      check: "constraint",
      cause: "matchAttribute gpu.example.com/numa: 1 here, 0 on gpu.example.com/p/a",
      constraint: {
        kind: "matchAttribute",
        attribute: "gpu.example.com/numa",
        value: 1,
        other: 0,
        otherDevice: "gpu.example.com/p/a",
      },
      count: 1,
      devices: ["gpu.example.com/p/c"],
    },
  ]);
});

test("names the devices of each request if the claim can be allocated", () => {
  const explanation = allocatorWith(oneDevice).explain(node, [claim("c")]);
  assert.equal(explanation.outcome, "allocated");
  assert.deepEqual(explanation.claims[0]!.requests[0]!.chosen, ["gpu.example.com/p/d"]);
});

test("explains a missing class and a failing selector", () => {
  const allocator = allocatorWith(oneDevice);
  const bad = allocator.explain(node, [claim("c", 1, 'device.attributes["x"].nosuch')]);
  assert.match(bad.claims[0]!.requests[0]!.refused[0]!.cause, /no such key: nosuch/);
  allocator.update({ kind: "class", object: gpuClass, deleted: true });
  const missing = allocator.explain(node, [claim("c")]).claims[0]!.requests[0]!.refused[0]!;
  assert.deepEqual(
    [missing.check, missing.cause],
    [
      "error",
      'claim default/c, request r: could not retrieve device class gpu: deviceclass.resource.k8s.io "gpu" not found',
    ],
  );
});

test("explains that a solution cannot be expressed as an allocation", () => {
  const zoned = { ...node, metadata: { ...node.metadata, labels: { zone: "a" } } };
  const term = (value: string) => ({
    matchExpressions: [{ key: "zone", operator: "In", values: [value] }],
  });
  const published = slice("s", [{ name: "d", nodeSelector: { nodeSelectorTerms: [term("a"), term("b")] } }]);
  const { nodeName: _, ...spec } = published.spec;
  const allocator = allocatorWith({ ...published, spec: { ...spec, perDeviceNodeSelection: true } });
  const asked = [claim("c")];
  const result = allocator.allocate(zoned, asked);
  assert.ok(result.type === "error");
  const { outcome, message } = allocator.explain(zoned, asked);
  assert.deepEqual({ outcome, message }, { outcome: "error", message: result.message });
});
