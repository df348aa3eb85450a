import type { Random } from "@dray/testing/random";

/** Driver of the devices of the crowd's nodes. */
export const nodeDriver = "sim.example.com";
/** Driver of devices that every node of the crowd reaches. */
export const networkDriver = "net.example.com";
/** On the nodes of a crowd that run the example driver. */
export const driverLabel = "chaos.example.com/driver";

/** Name of a device that may break or get a taint. */
export const randomDevice = (random: Random): string =>
  random.pick([`gpu-${random.below(2)}`, `link-${random.below(2)}`, "slow-0"]);

const attached = {
  bindingConditions: [`${nodeDriver}/attached`],
  bindingFailureConditions: [`${nodeDriver}/failed`],
};

/**
 * Devices of one node: whole or in partitions (KEP-4815), shared by capacity (KEP-5075), with binding
 * conditions (KEP-5007) that come late or never, and one whose first prepare fails.
 */
const nodeDevices: readonly object[] = [
  {
    name: "gpu-{index}",
    count: 2,
    attributes: { type: "gpu" },
    counters: { memory: "80Gi" },
    partitions: [
      {
        name: "{device}-part-{index}",
        count: 3,
        attributes: { type: "part" },
        counters: { memory: "30Gi" },
      },
    ],
  },
  {
    name: "link-{index}",
    count: 2,
    attributes: { type: "link" },
    capacity: { bandwidth: "10" },
    allowMultipleAllocations: true,
  },
  {
    name: "slow-{index}",
    count: 2,
    attributes: { type: "slow" },
    bindsToNode: true,
    ...attached,
    binds: { after: "300ms" },
  },
  { name: "sick", attributes: { type: "sick" }, ...attached, binds: { fails: "no cable" } },
  { name: "flaky", attributes: { type: "flaky" }, prepareFails: 1 },
];

/** Devices that pods of all nodes compete for. */
const networkDevices: readonly object[] = [
  { name: "port-{index}", count: 20, attributes: { type: "port" } },
  {
    name: "uplink",
    attributes: { type: "uplink" },
    capacity: { bandwidth: "40" },
    allowMultipleAllocations: true,
  },
];

const onCrowd = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: "crowd", operator: "In", values: ["true"] }] }],
};

const classOf = (driver: string, type: string): object => ({
  name: `${type}.${driver}`,
  selectors: [`device.driver == "${driver}" && device.attributes["${driver}"].type == "${type}"`],
  ...(type === "gpu" ? { extendedResourceName: `${nodeDriver}/gpu` } : {}),
});

/**
 * A fleet whose first nodes have no devices, as the example driver brings its own, and whose others have
 * simulated ones.
 */
export function crowdFleet(plain: readonly string[], simulated: readonly string[]): object {
  return {
    apiVersion: "dray.dev/v1alpha1",
    kind: "Fleet",
    nodes: [
      { names: plain, labels: { [driverLabel]: "true" } },
      {
        names: simulated,
        labels: { crowd: "true" },
        capacity: { cpu: 4 },
        drivers: [{ driver: nodeDriver, profile: "partitions", pools: [{ devices: nodeDevices }] }],
      },
    ],
    network: [
      {
        driver: networkDriver,
        pools: [{ name: "fabric", nodeSelector: onCrowd, devices: networkDevices }],
      },
    ],
    deviceClasses: [
      ...["gpu", "part", "link", "slow", "sick", "flaky"].map((type) => classOf(nodeDriver, type)),
      ...["port", "uplink"].map((type) => classOf(networkDriver, type)),
    ],
  };
}
