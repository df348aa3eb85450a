import assert from "node:assert/strict";
import { test } from "node:test";
import { readFleet } from "../index.ts";
import { header, read, withDevices } from "./testing.ts";

const bad: readonly (readonly [text: string, ...messages: RegExp[]])[] = [
  ["nodes: [{name: n1, drivers: 1}]", /^fleet\.yaml:3: nodes\[0\]\.drivers: 1 must be a list$/],
  ["nodes: [{}]", /nodes\[0\]: must have exactly one of name, names and pattern/],
  ["nodes: [{name: a, pattern: b}]", /nodes\[0\]: must have exactly one of name, names and pattern/],
  ["nodes: [{name: A_B}]", /nodes\[0\]\.name: "A_B" cannot name a node: .*lower/],
  ["nodes: [{name: n1, count: 2}]", /nodes\[0\]\.name: "n1" is the same for each of 2 nodes: use \{index\}/],
  ["nodes: [{names: [n1], count: 2}]", /nodes\[0\]\.count: goes with name only/],
  ["nodes: [{name: n1, count: 0}]", /nodes\[0\]\.count: 0 must be a whole number from 1 to 20000$/],
  [
    "node: []",
    /^fleet\.yaml:3: node: unknown field; known are apiVersion, deviceClasses, kind, metadata, network, nodes$/,
  ],
  ["nodes: []", /^fleet\.yaml:1: there are no devices in it: nodes, network or ResourceSlices are needed$/],
  ["nodes: [{name: n1, labels: {a: 1}}]", /nodes\[0\]\.labels\.a: 1 must be a text: put it in quotes/],
  [
    "nodes: [{name: n1, capacity: {cpu: lots}}]",
    /nodes\[0\]\.capacity\.cpu: "lots" must be a quantity such as 80Gi/,
  ],
  [
    "nodes: [{name: n1, labels: {a: x1}}, {name: n1, labels: {a: y1}}]",
    /node n1 has label a=y1 here and a=x1 before$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: X}]}]",
    /nodes\[0\]\.drivers\[0\]\.driver: "X" cannot name a driver: .*lower/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, profile: tpu}]}]",
    /profile: "tpu" is not supported, supported are "basic", "fpga", "sriov", "partitions"$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, options: {a: 1}}]}]",
    /options: the profile "basic" has no options/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, profile: fpga, options: {a: 1}}]}]",
    /options\.a: unknown field; known are bitstreams, idleImage, programTime$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, profile: sriov, options: {subnet: 10.0.0.1\\/24}}]}]".replace(
      "\\",
      "",
    ),
    /options\.subnet: "10\.0\.0\.1\/24" has bits set behind the first 24/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, profile: sriov, options: {interfaces: all}}]}]",
    /options\.interfaces: "all" is not supported, supported are "create", "existing", "none"$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, metadata: [v2]}]}]",
    /drivers\[0\]\.metadata\[0\]: "v2" is not supported, supported are "v1alpha1", "v1beta1"$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, metadata: [v1beta1]}, {driver: d.example.com}]}]",
    /driver d\.example\.com has metadata \["v1beta1"\] in one place and \[\] in another$/,
  ],
  [
    "nodes: [{name: n1, drivers: [{driver: d.example.com, pools: [{}, {}]}]}]",
    /node n1: driver d\.example\.com has pool "n1" twice: give one of them another name$/,
  ],
  [
    "nodes: [{names: [a, b], drivers: [{driver: d.example.com, pools: [{name: p}]}]}]",
    /pool "p" of d\.example\.com is on a and on b: use \{node\} in its name$/,
  ],
  [
    "network: [{driver: d.example.com, pools: [{name: p}]}]",
    /network\[0\]\.pools\[0\]: must have either allNodes: true or a nodeSelector/,
  ],
  [
    "network: [{driver: d.example.com, pools: [{name: p, nodeSelector: {}}]}]",
    /network\[0\]\.pools\[0\]\.nodeSelector\.nodeSelectorTerms: (Required|Invalid)/,
  ],
  ["deviceClasses: [{selectors: []}]", /deviceClasses\[0\]\.name: nothing must be the name of a DeviceClass/],
];
for (const [text, ...messages] of bad)
  test(`refused: ${text}`, () => {
    for (const message of messages) assert.throws(() => read(text), { name: "FleetError", message });
  });

const badDevices: readonly (readonly [devices: string, message: RegExp])[] = [
  ["[{}]", /devices\[0\]\.name: nothing must be the name of a device, such as gpu-\{index\}$/],
  ["[{name: GPU}]", /devices\[0\]\.name: Invalid value: "GPU"/],
  ["[{name: gpu, count: 2}]", /devices\[0\]: device "gpu" is in pool n1 twice: use \{index\} in the name$/],
  ['[{name: "gpu-{indx}"}]', /"gpu-\{indx\}" has \{indx\}, which is not known; known are \{node\}, /],
  ['[{name: "gpu-{index/0}"}]', /"gpu-\{index\/0\}" divides by 0$/],
  [
    '[{name: gpu, attributes: {a: "{node+1}"}}]',
    /"\{node\+1\}" calculates with \{node\}, which is not a number$/,
  ],
  ["[{name: gpu, attributes: {a: 1.5}}]", /attributes\.a: 1\.5 must be a whole number/],
  ["[{name: gpu, attributes: {a: []}}]", /attributes\.a: \[\] must have numbers only, texts only/],
  ["[{name: gpu, attributes: {a: {text: b}}}]", /attributes\.a\.text: unknown field; known are bool, /],
  ["[{name: gpu, attributes: {a-b: 1}}]", /devices\[0\]\.attributes: Invalid value: "a-b"/],
  [`[{name: gpu, attributes: {a: ${"x".repeat(65)}}}]`, /devices\[0\]\.attributes\[a\]\.string: Too long/],
  [
    `[{name: gpu, attributes: {${Array.from({ length: 33 }, (_, i) => `a${i}: 1`).join(", ")}}}]`,
    /devices\[0\]: .*(too many|at most 32|must not exceed 32|maximum number of attributes)/i,
  ],
  [
    "[{name: gpu, capacity: {memory: many}}]",
    /capacity\.memory: "many" must be a quantity such as 80Gi or 100/,
  ],
  [
    "[{name: gpu, taints: [{key: a, effect: Explode}]}]",
    /devices\[0\]\.taints\[0\]\.effect: Unsupported value: "Explode"/,
  ],
  [
    "[{name: gpu, taints: [{key: a, colour: red}]}]",
    /unknown field "spec\.devices\[0\]\.taints\[0\]\.colour"/,
  ],
  [
    "[{name: gpu, consumesCounters: [{counterSet: s, counters: {a: {value: 1}}}]}]",
    /device gpu consumes from counter set "s", which the pool lacks: it has none$/,
  ],
  [
    "[{name: gpu, partitions: [{name: p, counters: {a: 1}}]}]",
    /partitions: partitions share the counters of their device, which has none: add counters$/,
  ],
  ["[{name: gpu, counters: {a: 1}, partitions: [{name: p}]}]", /partitions\[0\]: counters is missing/],
  [
    "[{name: gpu, counters: {a: 1}, partitions: [{name: p, counters: {b: 1}}]}]",
    /device p consumes counter "b", which set gpu-counters lacks: it has a$/,
  ],
  ["[{name: gpu, numaNode: -1}]", /numaNode: -1 must be a whole number from 0 to 1023$/],
  ["[{name: gpu, pcieRoot: 40}]", /pcieRoot: 40 must be a text/],
  ["[{name: gpu, pcieRoot: root}]", /pcieRoot: "root" must be of the form pci0000:40$/],
  ["[{name: gpu, prepareDelay: 5}]", /prepareDelay: 5 must be a duration such as 500ms, 30s, 2m or 1h30m$/],
  ["[{name: gpu, prepareFails: 0}]", /prepareFails: 0 must be a whole number from 1 to 1000000$/],
  [
    "[{name: gpu, health: [{health: Unhealthy}]}]",
    /health\[0\]: after is missing: how long after the driver's start, such as 30s$/,
  ],
  [
    "[{name: gpu, health: [{after: 1s, health: Sick}]}]",
    /health\[0\]\.health: "Sick" is not supported, supported are "Healthy", "Unhealthy", "Unknown"$/,
  ],
  [
    "[{name: gpu, health: [{after: 2s, health: Unhealthy}, {after: 1s, health: Healthy}]}]",
    /item 1 is 1 s after the start, before item 0: put them in order$/,
  ],
  [
    "[{name: gpu, unhealthyTaint: {effect: X}}]",
    /unhealthyTaint\.effect: "X" is not supported, supported are "NoSchedule", "NoExecute", "None"$/,
  ],
  ["[{name: gpu, cdi: {env: [X]}}]", /cdi\.env\[0\]: "X" must have the form NAME=value$/],
  ["[{name: gpu, cdi: {mounts: [{hostPath: a}]}}]", /cdi\.mounts\[0\]/],
  ["[{name: gpu, env: {A: 1}}]", /env\.A: 1 must be a text: put it in quotes/],
  ["[{name: gpu, colour: red}]", /devices\[0\]\.colour: unknown field; known are /],
];
for (const [devices, message] of badDevices)
  test(`refused: devices: ${devices.slice(0, 100)}`, () => {
    assert.throws(() => withDevices(devices), { name: "FleetError", message });
  });

test("more devices than a machine can hold are refused before it tries", () => {
  const gpus = 'counters: {m: 1}, partitions: [{name: "{device}-{index}", count: 10000, counters: {m: 1}}]';
  assert.throws(() => withDevices(`[{name: "gpu-{index}", count: 10000, ${gpus}}]`), {
    message: /devices\[0\]: makes more than 10000 devices with its partitions: split it over several nodes$/,
  });
  const pools = 'pools: [{devices: [{name: "gpu-{index}", count: 100}]}]';
  const text = `${header}nodes: [{name: "n-{index}", count: 20000, drivers: [{driver: d.example.com, ${pools}}]}]`;
  assert.throws(() => readFleet([{ file: "fleet.yaml", text }], { maxDevices: 1000 }), {
    message: /: the nodes up to n-10 have more than 1000 devices together: describe fewer$/,
  });
});

test("links of devices that the pool lacks are refused", () => {
  assert.throws(() => withDevices("[{name: a}]", ", links: {l: {g: [b]}}"), {
    message: /links\.l\.g\[0\]: "b" matches no device of the pool: it has a$/,
  });
});

test("all mistakes are reported together, once each, with their lines", () => {
  const text = `
nodes:
  - name: n-{index}
    count: 100
    drivers:
      - driver: gpu.example.com
        pools:
          - devices:
              - {name: a, prepareDelay: soon}
              - {name: b, numaNode: x}
`;
  assert.throws(() => read(text), {
    message: [
      'fleet.yaml:11: nodes[0].drivers[0].pools[0].devices[0].prepareDelay: "soon" must be a duration such as 500ms, 30s, 2m or 1h30m',
      'fleet.yaml:12: nodes[0].drivers[0].pools[0].devices[1].numaNode: "x" must be a whole number from 0 to 1023',
    ].join("\n"),
  });
});

for (const [what, text, message] of [
  ["no YAML", "a: [", /^f: .*(is not YAML)/],
  ["a key twice", "a: 1\na: 2", /^f:2: key "a" already set in map$/],
  [
    "nothing",
    "# a comment",
    /^f: there is nothing in it: a Fleet \(apiVersion: dray\.dev\/v1alpha1, kind: Fleet\)/,
  ],
  ["a list", "- 1", /^f:1: \[1\] must be an object$/],
  ["no kind", "apiVersion: v1", /kind: nothing must be the kind of an object/],
  [
    "another version",
    "apiVersion: dray.dev/v2\nkind: Fleet",
    /apiVersion: "dray\.dev\/v2" is not supported, supported are "dray\.dev\/v1alpha1"$/,
  ],
  [
    "another kind of ours",
    "apiVersion: dray.dev/v1alpha1\nkind: Flet",
    /kind: "Flet" is not supported, supported are "Fleet"$/,
  ],
  ["no devices", "apiVersion: v1\nkind: Pod", /there are no devices in it/],
] as const)
  test(`a file with ${what} is refused`, () => {
    const mistake = (error: Error): boolean => {
      assert.equal(error.name, "FleetError");
      assert.match(error.message.replace(/^f(:\d+)?: is not YAML/, "f: is not YAML"), message);
      return true;
    };
    assert.throws(() => readFleet([{ file: "f", text }]), mistake);
  });
