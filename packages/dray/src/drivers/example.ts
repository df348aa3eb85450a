import type { FeatureGate } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import type { Device, DeviceClass } from "@dray/api/resource/v1";
import type { Installation, KnownDriver, Setting, Settings } from "./known.ts";

/** The number in the manifests of the tutorial. */
const defaultDevices = 9;
const maxDevices = 10_000;
const maxPartitions = 80;

const number = (min: number, max: number, example: string): Setting => ({
  example,
  accepted: `a whole number from ${min} to ${max}`,
  accepts: (value) => /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max,
});
const choice = (example: string, ...words: readonly string[]): Setting => ({
  example,
  accepted: `one of ${words.join(", ")}`,
  accepts: (value) => words.includes(value),
});
const yesOrNo = choice("true", "true", "false");

type Profile = "gpu" | "net" | "cpu";

interface ExampleSetting extends Setting {
  /** The variable of the DaemonSet's container. */
  readonly variable?: string;
  /** The profiles with this setting; default: all. */
  readonly profiles?: readonly Profile[];
  /** The feature gate without which the API server drops the field. */
  readonly gate?: FeatureGate;
}

/** Flags and values of the chart of `dra-example-driver` v0.4.0. */
const settings: Readonly<Record<string, ExampleSetting>> = {
  profile: { ...choice("net", "gpu", "net", "cpu"), variable: "DEVICE_PROFILE" },
  devices: {
    ...number(0, maxDevices, String(defaultDevices)),
    variable: "NUM_DEVICES",
    profiles: ["gpu", "net"],
  },
  partitions: {
    ...number(0, maxPartitions, "4"),
    variable: "GPU_PARTITIONS",
    profiles: ["gpu"],
    gate: "DRAPartitionableDevices",
  },
  "multiple-allocations": {
    ...yesOrNo,
    variable: "GPU_ALLOW_MULTIPLE_ALLOCATIONS",
    profiles: ["gpu"],
    gate: "DRAConsumableCapacity",
  },
  "device-status": { ...yesOrNo, variable: "GPU_DEVICE_STATUS", profiles: ["gpu"] },
  "binding-conditions": {
    ...yesOrNo,
    variable: "BINDING_CONDITIONS",
    profiles: ["gpu"],
    gate: "DRADeviceBindingConditions",
  },
  "numa-nodes": { ...number(0, 1024, "8"), variable: "CPU_NUMA_NODES", profiles: ["cpu"] },
  "cpus-per-numa-node": { ...number(1, 1024, "4"), variable: "CPUS_PER_NUMA_NODE", profiles: ["cpu"] },
  "extended-resource": {
    example: "example.com/gpu",
    accepted: "the name of an extended resource",
    accepts: (value) => /^[a-z0-9.-]+\/[A-Za-z0-9_.-]+$/.test(value),
    gate: "DRAExtendedResource",
  },
};

export const exampleDriver: KnownDriver = { settings, install };

/** Reports whether v0.2.0 of the driver, the release of the tutorial, has the setting. */
const isForOldRelease = (key: string): boolean => key === "devices" || key === "extended-resource";

function install(chosen: Settings): Installation {
  const profile = (chosen["profile"] ?? "gpu") as Profile;
  for (const key of Object.keys(chosen)) {
    const { profiles } = settings[key]!;
    if (profiles !== undefined && !profiles.includes(profile))
      throw new Error(`${key} is a setting of profile ${profiles.join(" and ")}, not of ${profile}`);
  }
  const is = (key: string): boolean => chosen[key] === "true";
  const count = (key: string, fallback: number): number => Number(chosen[key] ?? fallback);
  const devices = count("devices", defaultDevices);
  const partitions = count("partitions", 0);
  const driverName = `${profile}.example.com`;
  // Objects of the tutorial keep their names.
  const suffix = profile === "gpu" ? "" : `-${profile}`;
  const name = `dra-example-driver${suffix}`;
  const deviceCount =
    profile === "cpu" ? count("numa-nodes", 8) : devices * (partitions === 0 ? 1 : partitions + 1);
  const isCurrent = (device: Device): boolean =>
    profile !== "gpu" ||
    ((device.consumesCounters !== undefined) === partitions > 0 &&
      (device.allowMultipleAllocations === true) === is("multiple-allocations") &&
      (device.bindingConditions !== undefined) === is("binding-conditions"));
  return {
    id: driverName,
    offers: driverName,
    daemonSet: { namespace: "dra-tutorial", name: `${name}-kubeletplugin` },
    manifests: [
      ["dra", "driver-install"],
      ...(is("device-status") ? [["dra", "driver-options", "device-status.yaml"]] : []),
      ...(is("binding-conditions") ? [["dra", "driver-options", "binding-conditions.yaml"]] : []),
    ],
    adapt(object) {
      if (object.kind === "DaemonSet") return daemonSet(object as DaemonSet);
      return object.kind === "DeviceClass" ? deviceClass(object as DeviceClass) : object;
    },
    deviceCount,
    isOn: (_, devices) => devices?.length === deviceCount && devices.every(isCurrent),
    needs: Object.entries(settings).flatMap(([key, { gate }]) =>
      gate === undefined || [undefined, "false", "0"].includes(chosen[key])
        ? []
        : [{ setting: `${key}=${chosen[key]}`, gate }],
    ),
    ...exampleOf(profile, chosen),
  };

  function daemonSet(set: DaemonSet): DaemonSet {
    const copy = structuredClone(set);
    // The driver's manifest has one.
    const { template, selector } = copy.spec!;
    copy.metadata.name = `${name}-kubeletplugin`;
    for (const labels of [copy.metadata.labels, selector?.matchLabels, template.metadata?.labels])
      if (labels !== undefined) labels["app.kubernetes.io/name"] = name;
    const given = Object.entries({ devices: String(defaultDevices), ...chosen }).flatMap(([key, value]) => {
      const { variable, profiles } = settings[key]!;
      return variable === undefined || profiles?.includes(profile) === false
        ? []
        : [{ name: variable, value }];
    });
    for (const container of template.spec?.containers ?? []) {
      const others = (container.env ?? []).filter((one) => !given.some((other) => other.name === one.name));
      container.env = [...others, ...given];
      // Nodes with a container runtime run the image itself.
      if (container.image !== undefined && !Object.keys(chosen).every(isForOldRelease))
        container.image = container.image.replace(/:v0\.2\.0$/, ":v0.4.0");
    }
    return copy;
  }

  function deviceClass(object: DeviceClass): DeviceClass {
    const extendedResourceName = chosen["extended-resource"];
    return {
      ...object,
      metadata: { ...object.metadata, name: driverName },
      spec: {
        selectors: [{ cel: { expression: `device.driver == '${driverName}'` } }],
        ...(extendedResourceName === undefined ? {} : { extendedResourceName }),
      },
    };
  }
}

/** Returns the command that shows devices with these settings. */
function exampleOf(profile: Profile, chosen: Settings): Pick<Installation, "example" | "commands"> {
  const scenario = (name: string): Pick<Installation, "example" | "commands"> => ({
    example: ["scenarios", name],
    commands: (folder) => [
      `kubectl apply -f ${folder}`,
      `kubectl wait -n ${name} --for=condition=Ready pod/pod0 && kubectl logs -n ${name} pod0 | grep _DEVICE_`,
    ],
  });
  if (profile === "net") return scenario("net-consumable-capacity");
  if (profile === "cpu") return scenario("native-resource-request");
  if (Number(chosen["partitions"] ?? 0) > 0) return scenario("partitionable-devices");
  return {
    example: ["dra", "driver-install", "example"],
    commands: (folder) => [
      `kubectl apply -f ${folder}`,
      "kubectl wait -n dra-tutorial --for=condition=Ready pod/pod0 && kubectl logs -n dra-tutorial pod0 | grep GPU_DEVICE",
    ],
  };
}
