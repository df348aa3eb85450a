/** Random devices of a few nodes, with claims that have some of them, for the headroom of `dray top`. */
import type { Random } from "@dray/testing/random";
import { claim, deviceClass, type Manifest, pool, slice, template } from "./draft.ts";

export const driver = "gpu.example.com";

const node = (name: string, random: Random): Manifest => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  spec: random.chance(0.1) ? { unschedulable: true } : {},
});

/** Attributes by which selectors find a device; `id` is unique in a cluster. */
const attributes = (id: string, random: Random): Manifest => ({
  id: { string: id },
  kind: { string: random.pick(["a", "b"]) },
  numa: { int: random.below(2) },
});

const taints = (random: Random): Manifest =>
  random.chance(0.1) ? { taints: [{ key: "broken", effect: "NoSchedule" }] } : {};

function plainDevice(name: string, id: string, random: Random): Manifest {
  return {
    name,
    attributes: attributes(id, random),
    capacity: { memory: { value: random.pick(["10Gi", "20Gi"]) } },
    ...taints(random),
  };
}

/** A device that several claims share. */
function sharedDevice(name: string, id: string, random: Random): Manifest {
  const policy = random.pick([
    undefined,
    { default: "3", validRange: { min: "2", max: "8" } },
    { default: "4", validValues: ["4", "8"] },
  ]);
  return {
    name,
    attributes: attributes(id, random),
    allowMultipleAllocations: true,
    capacity: { memory: { value: random.pick(["8", "10"]), ...(policy && { requestPolicy: policy }) } },
    ...taints(random),
  };
}

interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, { readonly value: string }>>;
}

/** Makes a device a partition that consumes random amounts of some counters. */
function partition(base: Manifest, sets: readonly CounterSet[], random: Random, groups: boolean): Manifest {
  const used = random.chance(0.8) ? [random.pick(sets)] : sets;
  const compatibilityGroups = groups ? random.some(["x", "y"], 0.6) : [];
  const consumesCounters = used.flatMap(({ name, counters }) => {
    const own = Object.keys(counters).filter(() => random.chance(0.7));
    if (own.length === 0) return [];
    const amounts = Object.fromEntries(own.map((key) => [key, { value: String(random.int(1, 5)) }]));
    return [
      {
        counterSet: name,
        counters: amounts,
        ...(compatibilityGroups.length > 0 && { compatibilityGroups }),
      },
    ];
  });
  return consumesCounters.length === 0 ? base : { ...base, consumesCounters };
}

export interface FleetOptions {
  /** Devices have compatibility groups (KEP-5963). */
  readonly groups: boolean;
  /** Some pools are for several nodes. */
  readonly common: boolean;
}

/** Returns one pool of devices: of a node, of all nodes, or with a node for each device. */
function poolOfDevices(
  name: string,
  nodes: readonly string[],
  random: Random,
  { groups, common }: FleetOptions,
): Manifest[] {
  const reach = common ? random.pick(["node", "all", "each"]) : "node";
  const hasCounters = random.chance(0.6);
  const sets = random.list(1, 2, (i): CounterSet => {
    const counters = random.list(1, 2, (c) => [`c${c}`, { value: String(random.int(4, 10)) }] as const);
    return { name: `s${i}`, counters: Object.fromEntries(counters) };
  });
  const devices = random.list(1, hasCounters ? 5 : 3, (i) => {
    const make = random.chance(0.25) ? sharedDevice : plainDevice;
    const device = make(`d${i}`, `${name}-d${i}`, random);
    const own = hasCounters && random.chance(0.9) ? partition(device, sets, random, groups) : device;
    return reach === "each" ? { ...own, nodeName: random.pick(nodes) } : own;
  });
  const place = {
    node: { nodeName: random.pick(nodes) },
    all: { allNodes: true },
    each: { perDeviceNodeSelection: true },
  }[reach];
  const of = { driver, pool: pool(name, hasCounters ? 2 : 1), ...place };
  const own = [slice(`${name}-devices`, { ...of, devices })];
  return hasCounters ? [slice(`${name}-counters`, { ...of, sharedCounters: sets }), ...own] : own;
}

const classes: readonly Manifest[] = [
  deviceClass("any", `device.driver == "${driver}"`),
  deviceClass("a", `device.attributes["${driver}"].kind == "a"`),
  deviceClass("b", `device.attributes["${driver}"].kind == "b"`),
];

function request(name: string, deviceClassName: string, random: Random): Manifest {
  const exactly = {
    deviceClassName,
    ...(random.chance(0.3) && { count: 2 }),
    ...(random.chance(0.3) && { capacity: { requests: { memory: random.pick(["2", "5"]) } } }),
    ...(random.chance(0.2) && { tolerations: [{ key: "broken", operator: "Exists" }] }),
  };
  return { name, exactly };
}

/** Returns templates for requests of all kinds. */
function templates(random: Random): Manifest[] {
  const match = [{ matchAttribute: `${driver}/numa` }];
  const one = [request("r", random.pick(["any", "a"]), random)];
  const pair = [request("r", "a", random), request("s", random.pick(["b", "any"]), random)];
  const first = { name: "r", firstAvailable: [] as Manifest[] };
  for (const name of random.shuffled(["a", "b"])) {
    const { exactly } = request(name, name, random);
    first.firstAvailable.push({ name, ...exactly });
  }
  const all = [{ name: "r", exactly: { deviceClassName: "a", allocationMode: "All" } }];
  const kinds: Manifest[] = [
    { requests: one },
    { requests: pair },
    { requests: random.chance(0.5) ? one : pair, constraints: match },
    { requests: [first] },
    { requests: all },
  ];
  return kinds.map((devices, i) => template(`t${i}`, { devices }));
}

/** Returns the objects without claims; the test lets the allocator place some. */
export function randomFleet(random: Random, options: FleetOptions): Manifest[] {
  const nodes = random.list(1, 3, (i) => `n${i}`);
  const pools = random.list(1, 3, (i) => poolOfDevices(`p${i}`, nodes, random, options)).flat();
  const claims = random.list(0, 2, (i) =>
    claim(`held-${i}`, { devices: { requests: [request("r", "any", random)] } }),
  );
  return [...nodes.map((name) => node(name, random)), ...pools, ...classes, ...templates(random), ...claims];
}
