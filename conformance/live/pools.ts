import type { Random } from "@dray/testing/random";

/** Settings that all parts of a random cluster share. */
export interface Plan {
  readonly random: Random;
  readonly drivers: readonly string[];
  readonly has: (feature: string) => boolean;
  /** Whether mistakes are made: most of these questions end in an error. */
  readonly wild: boolean;
}

export interface Slice {
  readonly metadata: object;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The slices of a pool; some of `wild` ones are missing or disagree. */
export function randomPool(plan: Plan, driver: string, name: string): Slice[] {
  const { random, has, wild } = plan;
  const counters = has("PartitionableDevices");
  const shared = random.chance(0.6);
  const groups = has("CompatibilityGroups");
  let next = 0;
  const deviceSlices = random.list(1, 2, () => {
    const where = randomPlace(random, has("PartitionableDevices"));
    const devices = random.list(wild ? 0 : 2, 7, () => {
      const own = "perDeviceNodeSelection" in where ? randomPlace(random, false) : {};
      // Now and then a name that another slice has: the pool is invalid.
      const device = wild && random.chance(0.02) ? "d0" : `d${next++}`;
      return { name: device, ...own, ...randomDevice(plan, { driver, counters, shared, groups }) };
    });
    return {
      ...where,
      devices,
      ...(has("OptionalNodeOperations") && random.chance(0.4) && { skipNodeOperations: ["*"] }),
    };
  });
  const counterSlices = counters ? [{ nodeName: "node-1", sharedCounters: randomCounterSets(random) }] : [];
  const specs: Record<string, unknown>[] = [...counterSlices, ...deviceSlices];
  const generation = random.int(1, 2);
  return specs.flatMap((spec, i) => {
    const pool = {
      name,
      generation: wild && random.chance(0.06) ? generation + 1 : generation,
      resourceSliceCount: wild && random.chance(0.06) ? specs.length + 1 : specs.length,
    };
    const slice = {
      metadata: { name: `${driver.split(".")[0]}-${name}-${random.pick("abc".split(""))}${i}` },
      spec: { driver, pool, ...spec },
    };
    return wild && random.chance(0.03) ? [] : [slice];
  });
}

function randomPlace(random: Random, perDevice: boolean): Record<string, unknown> {
  const terms = (key: string, values: string[]): object => ({
    nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values }] }],
  });
  if (perDevice && random.chance(0.4)) return { perDeviceNodeSelection: true };
  const places = [
    { nodeName: "node-1" },
    { nodeName: "node-1" },
    { nodeName: "node-1" },
    { allNodes: true },
    { allNodes: true },
    { nodeSelector: terms("zone", ["a"]) },
    { nodeSelector: terms("rack", random.pick([["7"], ["7", "8"], ["8"]])) },
    {
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }] }],
      },
    },
    { nodeName: "node-2" },
  ];
  return random.pick(places);
}

interface PoolKind {
  readonly driver: string;
  readonly counters: boolean;
  readonly shared: boolean;
  readonly groups: boolean;
}

function randomDevice({ random, has, wild }: Plan, { driver, counters, shared, groups }: PoolKind): object {
  const consumes = counters && random.chance(0.8);
  const capacity = has("ConsumableCapacity") || random.chance(0.2);
  const binding = has("DeviceBindingAndStatus") && random.chance(0.2);
  return {
    attributes: randomAttributes(random, has, driver),
    ...(capacity && { capacity: randomCapacity(random, has) }),
    ...(consumes && { consumesCounters: randomConsumption(random, groups, wild) }),
    ...(has("DeviceTaints") &&
      random.chance(0.2) && { taints: random.list(1, 2, () => randomTaint(random)) }),
    ...(shared && has("ConsumableCapacity") && { allowMultipleAllocations: true }),
    ...(binding && { bindingConditions: ["Ready"], bindingFailureConditions: ["Failed"] }),
    ...(binding && random.chance(0.3) && { bindsToNode: true }),
  };
}

function randomAttributes(random: Random, has: Plan["has"], driver: string): Record<string, object> {
  const lists = has("ListTypeAttributes") && random.chance(0.6);
  const numa = lists ? { ints: random.some([0, 1, 2], 0.5) } : { int: random.int(0, 2) };
  const attributes: [string, object, number][] = [
    ["model", { string: random.pick(["a", "b"]) }, 0.85],
    ["numa", numa, 0.85],
    ["idx", { int: random.int(0, 3) }, 0.4],
    ["fw", { version: random.pick(["1.2.3", "1.10.0", "1.2.3+b1"]) }, 0.3],
    ["resource.kubernetes.io/numaNode", { int: random.int(0, 1) }, 0.3],
    [
      `${driver}/root`,
      lists ? { strings: random.some(["x", "y"], 0.6) } : { string: random.pick(["x", "y"]) },
      0.3,
    ],
    ["ok", { bool: random.chance(0.5) }, 0.2],
  ];
  return Object.fromEntries(
    attributes.filter(([, , often]) => random.chance(often)).map(([name, value]) => [name, value]),
  );
}

function randomCapacity(random: Random, has: Plan["has"]): object {
  const whole = random.pick(["8Gi", "4Gi", "6Gi"]);
  const policies = [
    { default: "1Gi" },
    { default: "2Gi", validValues: ["1Gi", "2Gi", "4Gi"] },
    { default: "1Gi", validRange: { min: "1Gi", step: "1Gi" } },
    { default: "1Gi", validRange: { min: "512Mi", max: "4Gi" } },
    { default: "0", validRange: { min: "0", step: "1" } },
  ];
  const cores = has("FractionalCapacityRange")
    ? { value: "4", requestPolicy: { default: "500m", validRange: { min: "500m", step: "500m" } } }
    : { value: "4", ...(random.chance(0.4) && { requestPolicy: { default: "1", validValues: ["1", "2"] } }) };
  return {
    mem: { value: whole, ...(random.chance(0.6) && { requestPolicy: random.pick(policies) }) },
    ...(random.chance(0.3) && { cores }),
  };
}

function randomCounterSets(random: Random): object[] {
  return random.list(2, 3, (i) => ({
    name: `cs${i}`,
    counters: {
      m: { value: String(random.int(4, 12)) },
      n: { value: String(random.int(1, 3)) },
    },
  }));
}

function randomConsumption(random: Random, groups: boolean, wild: boolean): object[] {
  const sets = random.chance(0.2) ? ["cs0", "cs1"] : [wild && random.chance(0.02) ? "nosuch" : "cs0"];
  return sets.map((counterSet) => ({
    counterSet,
    counters: { m: { value: String(random.int(1, 4)) }, ...(random.chance(0.15) && { n: { value: "1" } }) },
    ...(groups &&
      random.chance(0.7) && { compatibilityGroups: random.pick([["a"], ["b"], ["a", "b"], ["c"]]) }),
  }));
}

function randomTaint(random: Random): object {
  const effect = random.pick(["NoSchedule", "NoExecute", "None"]);
  return { key: random.pick(["x", "y"]), effect, ...(random.chance(0.4) && { value: "v" }) };
}
