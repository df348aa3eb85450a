import type { Random } from "@dray/testing/random";
import type { Plan } from "./pools.ts";

export function randomClass({ random, has }: Plan, driver: string): object {
  const name = driver.split(".")[0];
  const selector = random.chance(0.9)
    ? `device.driver == "${driver}"`
    : `device.attributes["${driver}"].?model.orValue("a") == "a"`;
  const config = [{ opaque: { driver, parameters: random.pick([{ mode: "m" }, { n: 0 }, {}]) } }];
  return {
    metadata: { name },
    spec: {
      selectors: [{ cel: { expression: selector } }],
      ...(has("AdminAccess") && random.chance(0.4) && { config }),
    },
  };
}

export function randomClaim(plan: Plan, index: number): object {
  const { random, drivers, has } = plan;
  const requests = random.list(random.chance(0.02) ? 0 : 1, random.pick([1, 2, 3]), (i) =>
    randomRequest(plan, `r${i}`),
  );
  const names = requests.map(({ name }) => name);
  const part = (): object => (random.chance(0.6) ? {} : { requests: random.some(names, 0.6) });
  const keys = [
    ...drivers.map((driver) => `${driver}/numa`),
    ...["model", "root", "idx"].map((id) => `${random.pick(drivers)}/${id}`),
    "resource.kubernetes.io/numaNode",
    ...(has("DerivedAttributes") ? ["d.example.com/k"] : []),
  ];
  const distinct = has("distinctAttribute") ? 0.25 : 0;
  const constraint = (): object => ({
    ...part(),
    [random.chance(distinct) ? "distinctAttribute" : "matchAttribute"]: random.pick(keys),
  });
  const config = (): object => ({
    opaque: { driver: random.pick(drivers), parameters: { n: 0 } },
    ...part(),
  });
  return {
    metadata: { name: `c${index}`, namespace: "default", uid: `00000000-0000-5000-8000-00000000000${index}` },
    spec: {
      devices: {
        requests,
        ...(random.chance(0.3) && { constraints: random.list(1, 2, constraint) }),
        ...(random.chance(0.25) && { config: random.list(1, 2, config) }),
      },
    },
  };
}

function randomRequest(plan: Plan, name: string): { readonly name: string } {
  const { random, has } = plan;
  if (has("PrioritizedList")) {
    const firstAvailable = random.list(1, 3, (i) => ({ name: `s${i}`, ...randomAsk(plan) }));
    return { name, firstAvailable } as { name: string };
  }
  const admin = has("AdminAccess") && random.chance(0.3) ? { adminAccess: random.chance(0.9) } : {};
  return { name, exactly: { ...randomAsk(plan), ...admin } } as { name: string };
}

function randomAsk({ random, drivers, has, wild }: Plan): object {
  const driver = random.pick(drivers);
  const deviceClassName = random.chance(0.9)
    ? driver.split(".")[0]
    : wild && random.chance(0.1)
      ? "nosuch"
      : "any";
  const all = random.chance(0.08);
  const tolerations = [
    { operator: "Exists" },
    { key: "x", operator: "Exists" },
    { key: "y", operator: "Equal", value: "v" },
  ];
  const amounts = {
    mem: random.pick(["1Gi", "1Gi", "2Gi", "1500Mi", wild ? "9Gi" : "4Gi", "0", "5"]),
    ...(random.chance(0.2) && { cores: random.pick(["1", "500m", "3"]) }),
  };
  const derived = random.pick([
    '"a"',
    "device.driver",
    `device.attributes["${driver}"].?model.orValue("a")`,
    `device.attributes["${driver}"].numa`,
    `has(device.attributes["${driver}"].idx) ? "i" : "n"`,
  ]);
  return {
    deviceClassName,
    ...(random.chance(0.4) && {
      selectors: random.list(1, 2, () => ({ cel: { expression: randomSelector(random, driver, wild) } })),
    }),
    ...(all
      ? { allocationMode: "All" }
      : { allocationMode: "ExactCount", count: random.pick([1, 1, 1, 1, 2, 2, 3]) }),
    ...(has("DeviceTaints") && { tolerations: random.some(tolerations, 0.6) }),
    ...(has("ConsumableCapacity") && { capacity: { requests: amounts } }),
    ...(has("DerivedAttributes") && {
      derivedAttributes: [{ name: "d.example.com/k", expression: derived }],
    }),
  };
}

function randomSelector(random: Random, driver: string, wild: boolean): string {
  const own = `device.attributes["${driver}"]`;
  const safe = [
    `${own}.?model.orValue("b") == "b"`,
    `${own}.?model.orValue("a") == "a"`,
    `has(${own}.idx) && ${own}.idx != 0`,
    `!has(${own}.fw) || ${own}.fw.compareTo(semver("1.2.3")) >= 0`,
    `has(device.capacity["${driver}"].mem)`,
    `!has(${own}.ok) || ${own}.ok`,
    "!device.allowMultipleAllocations || true",
    `!("${driver}" in device.capacity) || device.capacity["${driver}"].mem.compareTo(quantity("5Gi")) > 0`,
  ];
  const faulty = [
    `${own}.model == "a"`,
    `${own}.idx > 0`,
    `device.capacity["${driver}"].mem.compareTo(quantity("5Gi")) > 0`,
    `${own}.model`,
    `${own}.model ==`,
    "device.allowMultipleAllocations",
  ];
  return random.pick(wild && random.chance(0.3) ? faulty : safe);
}
