import type { DaemonSet } from "@dray/api/apps/v1";
import type { Installation, KnownDriver, Settings } from "./known.ts";

const defaults = { resource: "example.com/device", devices: "4", env: "DEVICES" } as const;
const maxDevices = 10_000;

/** A device plugin of simulated devices, an extended resource for pods. */
export const devicePluginExample: KnownDriver = {
  settings: {
    resource: {
      example: "nvidia.com/gpu",
      accepted: "the name of an extended resource",
      accepts: (value) => /^[a-z0-9.-]+\/[A-Za-z0-9_.-]+$/.test(value),
    },
    devices: {
      example: defaults.devices,
      accepted: `a whole number from 0 to ${maxDevices}`,
      accepts: (value) => /^\d+$/.test(value) && Number(value) <= maxDevices,
    },
    env: {
      example: "NVIDIA_VISIBLE_DEVICES",
      accepted: "the name of a variable",
      accepts: (value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
    },
  },
  install,
};

function install(chosen: Settings): Installation {
  const { resource, devices, env } = { ...defaults, ...chosen };
  const name = "device-plugin-example";
  return {
    id: name,
    offers: resource,
    daemonSet: { namespace: name, name },
    manifests: [["device-plugin"]],
    adapt(object) {
      if (object.kind !== "DaemonSet") return object;
      const copy = structuredClone(object as DaemonSet);
      for (const container of copy.spec?.template.spec?.containers ?? [])
        container.args = (container.args ?? []).map((arg) =>
          arg
            .replace(/^--resource=.*/, `--resource=${resource}`)
            .replace(/^--count=.*/, `--count=${Number(devices)}`)
            .replace(/^--env=.*/, `--env=${env}`),
        );
      return copy;
    },
    deviceCount: Number(devices),
    // A resource without devices is 0.
    // Upstream: pkg/kubelet/cm/devicemanager
    isOn: ({ status }) => status?.allocatable?.[resource] === String(Number(devices)),
    needs: [],
    example: ["device-plugin", "example"],
    commands: (folder) => [
      resource === defaults.resource
        ? `kubectl apply -f ${folder}`
        : `sed 's|${defaults.resource}|${resource}|' ${folder}/pod.yaml | kubectl apply -f -`,
      "kubectl wait --for=condition=Ready pod/two-devices && kubectl logs two-devices",
    ],
  };
}
