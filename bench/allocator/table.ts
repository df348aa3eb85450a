/**
 * Inputs on which a plain search takes exponential time, each for any size: large for the clock, small for
 * the proof.
 */
import type { Device, DeviceConstraint, DeviceRequest, ResourceClaim } from "@dray/api/resource/v1";
import {
  asking,
  claim,
  defaultFeatures,
  deviceClass,
  driver,
  gpuClass,
  type Input,
  is,
  node,
  numa,
  slice,
} from "./objects.ts";

export interface Row {
  readonly name: string;
  /** The requests, the devices, and the difficulty of the case. */
  readonly what: string;
  readonly large: Input;
  /** The same in a size that a plain search can finish. */
  readonly small: Input;
}

const stable = ["AdminAccess", "DeviceTaints", "PartitionableDevices", "PrioritizedList"];

function input(
  devices: readonly Device[],
  claims: readonly ResourceClaim[],
  more: Partial<Input> = {},
): Input {
  const pool = { name: "pool", generation: 1, resourceSliceCount: 1 };
  return {
    features: defaultFeatures,
    nodes: [node("node")],
    claims,
    classes: [gpuClass],
    slices: [slice("devices", { driver, pool, nodeName: "node", devices: [...devices] })],
    held: [],
    ...more,
  };
}

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
const plain = (n: number): Device[] =>
  times(n, (i) => ({ name: `d${i}`, attributes: { index: { int: i } } }));
const request = (r: number, count: number, expression?: string): DeviceRequest => ({
  name: `r${r}`,
  exactly: asking(count, expression),
});
const list = (
  r: number,
  ...alternatives: readonly (readonly [count: number, expression?: string])[]
): DeviceRequest => ({
  name: `r${r}`,
  firstAvailable: alternatives.map(([count, expression], s) => ({
    name: `s${s}`,
    ...asking(count, expression),
  })),
});
const ask = (requests: DeviceRequest[], constraints: DeviceConstraint[] = []): ResourceClaim[] => [
  claim("claim", { requests, constraints }),
];
const never = `"none" in device.attributes["${driver}"]`;
const model = (name: string, value: string): Device => ({ name, attributes: { model: { string: value } } });
const root = "resource.kubernetes.io/pcieRoot";

function oneMore(n: number, features = defaultFeatures): Input {
  return input(plain(n), ask([request(0, n + 1)]), { features });
}

function lastImpossible(requests: number, devices: number): Input {
  return input(plain(devices), ask([...times(requests, (r) => request(r, 1)), request(requests, 1, never)]));
}

function lastClaimImpossible(claims: number, devices: number): Input {
  const all = times(claims, (c) => claim(`claim-${c}`, { requests: [request(0, 1)] }));
  return input(plain(devices), [...all, claim("last", { requests: [request(0, 1, never)] })]);
}

/** Groups of equal value, all too small. */
function groups(count: number, size: number): Input {
  const devices = times(count * size, (i) => ({ name: `d${i}`, attributes: { [numa]: { int: i % count } } }));
  return input(devices, ask([request(0, size + 1)], [{ matchAttribute: numa }]));
}

/**
 * As many pairs of a GPU and a NIC on one root are wanted as there are, but one NIC is on a root of its own.
 */
function pairs(count: number): Input {
  const at = (name: string, value: string, n: number): Device => ({
    name,
    attributes: { model: { string: value }, [root]: { string: `root-${n}` } },
  });
  const devices = [
    ...times(count, (i) => at(`gpu-${i}`, "gpu", i)),
    ...times(count, (i) => at(`nic-${i}`, "nic", i === 0 ? count : i)),
  ];
  const requests = times(count, (i) => [
    request(2 * i, 1, is("model", "gpu")),
    request(2 * i + 1, 1, is("model", "nic")),
  ]);
  const constraints = times(count, (i) => ({
    requests: [`r${2 * i}`, `r${2 * i + 1}`],
    matchAttribute: root,
  }));
  return input(devices, ask(requests.flat(), constraints));
}

function alternatives(lists: number, devices: number): Input {
  const eight = times(8, (i): [number, string] => [1, `device.attributes["${driver}"].index != ${100 + i}`]);
  return input(plain(devices), ask([...times(lists, (r) => list(r, ...eight)), request(lists, 1, never)]));
}

/** As many devices of class other as fit beside few, but not beside all. */
function allOrTwo(n: number): Input {
  const devices = [...times(n, (i) => model(`a${i}`, "a")), ...times(2, (i) => model(`b${i}`, "b"))];
  const first: DeviceRequest = {
    name: "r0",
    firstAvailable: [
      { name: "all", deviceClassName: "a", allocationMode: "All" },
      { name: "two", deviceClassName: "a", allocationMode: "ExactCount", count: 2 },
    ],
  };
  const second: DeviceRequest = {
    name: "r1",
    exactly: { deviceClassName: "b", allocationMode: "ExactCount", count: 2 },
  };
  const classes = [deviceClass("a", is("model", "a")), deviceClass("b", is("model", "b"))];
  return input(devices, ask([first, second]), { classes });
}

const xyy = [model("d0", "x"), model("d1", "y"), model("d2", "y")];

/** Partitions of one unit each of a counter set that has one unit too few. */
function partitions(n: number, wanted: number): Input {
  const pool = { name: "pool", generation: 1, resourceSliceCount: 2 };
  const devices = times(n, (i) => ({
    name: `d${i}`,
    consumesCounters: [{ counterSet: "gpu", counters: { slice: { value: "1" } } }],
  }));
  const counters = { slice: { value: String(wanted - 1) } };
  return input(devices, ask([request(0, wanted)]), {
    slices: [
      slice("counters", { driver, pool, nodeName: "node", sharedCounters: [{ name: "gpu", counters }] }),
      slice("devices", { driver, pool, nodeName: "node", devices }),
    ],
  });
}

/** Selectors that cost nearly as much as they may, on every device, for every request. */
function expensive(devices: number, requests: number, loops: number): Input {
  const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
  const nested = (depth: number, r: number): string =>
    depth === 0
      ? `device.attributes["${driver}"].index >= ${-r}`
      : `${ten}.all(x${depth}, ${nested(depth - 1, r)})`;
  return input(plain(devices), ask(times(requests, (r) => request(r, 1, nested(loops, r)))));
}

/** More expressions than the cache of a scheduler holds, on every device. */
function expressions(devices: number, requests: number): Input {
  return input(
    plain(devices),
    ask(times(requests, (r) => request(r, 1, `device.attributes["${driver}"].index >= ${r}`))),
  );
}

export const rows: readonly Row[] = [
  { name: "one-more", what: "n identical devices, n+1 wanted", large: oneMore(31), small: oneMore(6) },
  {
    name: "one-more-stable",
    what: "the same, stable implementation",
    large: oneMore(31, stable),
    small: oneMore(5, stable),
  },
  {
    name: "last-request",
    what: "requests for one device each, the last one impossible",
    large: lastImpossible(15, 31),
    small: lastImpossible(3, 5),
  },
  {
    name: "last-claim",
    what: "claims for one device each, the last one impossible",
    large: lastClaimImpossible(15, 31),
    small: lastClaimImpossible(3, 5),
  },
  {
    name: "groups",
    what: "matchAttribute: 16 groups of 4 devices, 5 wanted",
    large: groups(16, 4),
    small: groups(3, 3),
  },
  {
    name: "large-groups",
    what: "matchAttribute: 2 groups of 31 devices, 32 wanted",
    large: groups(2, 31),
    small: groups(2, 5),
  },
  { name: "pairs", what: "GPU and NIC on one root: one pair too few", large: pairs(8), small: pairs(2) },
  {
    name: "alternatives",
    what: "lists of 8 alternatives, the last request impossible",
    large: alternatives(8, 12),
    small: alternatives(2, 3),
  },
  {
    name: "limit",
    what: "two requests {32 or 16} of 64 devices",
    large: input(plain(64), ask([list(0, [32], [16]), list(1, [32], [16])])),
    small: input(plain(33), ask([list(0, [32], [16]), list(1, [32], [16])])),
  },
  { name: "all-or-two", what: "{all 31 of a, or 2} and 2 of b", large: allOrTwo(31), small: allOrTwo(31) },
  {
    name: "two-and-one",
    what: "devices x, y, y: 2 of any and 1 x",
    large: input(xyy, ask([request(0, 2), request(1, 1, is("model", "x"))])),
    small: input(xyy, ask([request(0, 2), request(1, 1, is("model", "x"))])),
  },
  {
    name: "two-lists",
    what: "devices x, y, y: {3 y or 2 any} and {2 any or 1 x}",
    large: input(xyy, ask([list(0, [3, is("model", "y")], [2]), list(1, [2], [1, is("model", "x")])])),
    small: input(xyy, ask([list(0, [3, is("model", "y")], [2]), list(1, [2], [1, is("model", "x")])])),
  },
  {
    name: "partitions",
    what: "64 partitions on one counter set, one more than fits",
    large: partitions(64, 16),
    small: partitions(6, 4),
  },
  {
    name: "expensive",
    what: "32 devices, 4 requests, selectors that cost nearly 1,000,000",
    large: expensive(32, 4, 5),
    small: expensive(3, 2, 2),
  },
  {
    name: "expressions",
    what: "16 distinct selectors on 64 devices",
    large: expressions(64, 16),
    small: expressions(6, 4),
  },
];
