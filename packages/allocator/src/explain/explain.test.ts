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
                selector: { of: "request", expression: big, values: { "gpu.example.com/big": false } },
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
  // A slice of a manifest may have several terms too; the API server refuses it.
  const nodeSelector = { nodeSelectorTerms: [term("a"), term("b")] };
  const whole = { ...slice("s", [{ name: "d" }]), spec: { ...spec, devices: [{ name: "d" }], nodeSelector } };
  const ofSlice = allocatorWith(whole);
  assert.deepEqual(ofSlice.allocate(zoned, asked), result);
  assert.equal(ofSlice.explain(zoned, asked).outcome, "error");
});

test("counts of requests are exact beyond 2^53", () => {
  const many = (count: bigint): ResourceClaim => claim("c", count as never);
  const allocator = allocatorWith(slice("s", [{ name: "d" }]));
  for (const count of [9223372036854775807n, 4611686018427387904n]) {
    const message = `claim default/c, request r: adding ${count} devices exceeds the claim limit of 32, with 0 already accounted for`;
    assert.deepEqual(allocator.allocate(node, [many(count)]), { type: "error", message });
    const { claims } = allocator.explain(node, [many(count)]);
    assert.equal(claims[0]!.requests[0]!.exactWanted, String(count));
  }
});

test("an incomplete pool is the reason only for devices that the selectors choose", () => {
  const nics = slice("nics", [{ name: "n0" }, { name: "n1" }]);
  const other = {
    ...nics,
    spec: { ...nics.spec, driver: "nic.example.com", pool: { ...nics.spec.pool, resourceSliceCount: 2 } },
  };
  const half = slice("half", [{ name: "g" }]);
  const own = { ...half, spec: { ...half.spec, pool: { ...half.spec.pool, resourceSliceCount: 2 } } };
  const { refused } = allocatorWith(other, own).explain(node, [claim("c")]).claims[0]!.requests[0]!;
  assert.deepEqual(
    refused.map(({ check, devices }) => [check, devices]),
    [
      ["pool", ["gpu.example.com/half/g"]],
      ["class-selector", ["nic.example.com/nics/n0", "nic.example.com/nics/n1"]],
    ],
  );
});

test("the figures of a capacity are those of its policy and of what others leave", () => {
  const memory = (policy: object, value = "100"): Device =>
    ({
      name: "d",
      allowMultipleAllocations: true,
      capacity: { memory: { value, ...(policy && { requestPolicy: policy }) } },
    }) as Device;
  const figures = (device: Device, asked: string | undefined, taken?: string): unknown => {
    const allocator = allocatorWith(slice("p", [device]));
    if (taken !== undefined) {
      const shareID = "00000000-0000-0000-0000-000000000001";
      const consumedCapacity = { memory: taken };
      const results = [
        { request: "r", driver: "gpu.example.com", pool: "p", device: "d", shareID, consumedCapacity },
      ];
      update(allocator, stored(claim("other"), 1, { devices: { results } }));
    }
    const wanted = claim("c");
    const [request] = wanted.spec.devices!.requests!;
    const requests = asked === undefined ? {} : { capacity: { requests: { memory: asked } } };
    const spec = { devices: { requests: [{ ...request!, exactly: { ...request!.exactly!, ...requests } }] } };
    const [refused] = allocator.explain(node, [{ ...wanted, spec }]).claims[0]!.requests[0]!.refused;
    return [refused?.cause, refused?.capacity?.fitting?.["memory"]];
  };
  const steps = { default: "10", validRange: { min: "10", max: "50", step: "10" } };
  assert.deepEqual(figures(memory(steps), "60"), [
    "capacity memory: 60 asked, 100 left; the request policy of the device accepts 10 to 50 in steps of 10",
    "50",
  ]);
  // 70 are taken: the policy and the rest both limit the request.
  assert.deepEqual(figures(memory(steps), "60", "70"), [
    "capacity memory: 60 asked, 30 left; the request policy of the device accepts 10 to 50 in steps of 10",
    "30",
  ]);
  assert.deepEqual(figures(memory(steps), "31", "65"), [
    "capacity memory: 31 asked (which counts as 40), 35 left; the request policy of the device accepts 10 to 50 in steps of 10",
    "30",
  ]);
  const values = { default: "20", validValues: ["20", "40", "80"] };
  assert.deepEqual(figures(memory(values), "70", "30"), [
    "capacity memory: 70 asked (which counts as 80), 70 left; the request policy of the device accepts only 20, 40, 80",
    "40",
  ]);
  // Without a request and a policy it is the whole device.
  assert.deepEqual(figures(memory({}), undefined, "70"), ["capacity memory: 100 asked, 30 left", "30"]);
  assert.deepEqual(figures(memory({}), "200"), ["capacity memory: 200 asked, 100 left", "100"]);
  assert.deepEqual(figures(memory(steps), "20", "95"), [
    "capacity memory: 20 asked, 5 left; the request policy of the device accepts 10 to 50 in steps of 10",
    undefined,
  ]);
});

test("an error of a selector lists the attributes that the device has", () => {
  const allocator = allocatorWith(slice("p", [{ name: "d", attributes: { model: { string: "x" } } }]));
  const expression = 'device.attributes["gpu.example.com"].modle == "x"';
  const refused = allocator.explain(node, [claim("c", 1, expression)]).claims[0]!.requests[0]!.refused;
  assert.deepEqual(refused[0]!.selector, {
    of: "request",
    expression,
    values: { "gpu.example.com/modle": null },
    error: "no such key: modle",
    available: { attributes: ["gpu.example.com/model"] },
  });
});

test("a request for all devices that fails names the devices on which its selector fails", () => {
  const allocator = allocatorWith(slice("p", [{ name: "d" }]));
  const asked = claim("c", 1, 'device.attributes["gpu.example.com"].big');
  const [request] = asked.spec.devices!.requests!;
  const { count: _, ...exactly } = request!.exactly!;
  const all = { ...request!, exactly: { ...exactly, allocationMode: "All" as const } };
  const { outcome, claims } = allocator.explain(node, [{ ...asked, spec: { devices: { requests: [all] } } }]);
  assert.equal(outcome, "error");
  assert.deepEqual(
    claims[0]!.requests[0]!.refused.map(({ check, devices }) => [check, devices]),
    [
      ["error", []],
      ["error", ["gpu.example.com/p/d"]],
    ],
  );
});
