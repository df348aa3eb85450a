import { createHash } from "node:crypto";
import type { AllocatedClaim, AllocatedDevice, DeviceEdits, Driver, Pool } from "@dray/driver";
import { decodeGpuConfig, defaultSharing, type Sharing } from "./config.ts";

export interface GpuOptions {
  readonly nodeName: string;
  /** How many GPUs there are to be. */
  readonly count: number;
  /** By default `gpu.example.com`. */
  readonly driverName?: string;
}

/**
 * Simulated GPUs: nothing but environment variables is given to containers, by which one sees which GPUs they got.
 * Names, attributes, capacity and variables are those of the public example driver, `dra-example-driver`.
 */
export function gpuDriver({ nodeName, count, driverName = "gpu.example.com" }: GpuOptions): Driver {
  const devices = Array.from({ length: count }, (_, i) => gpu(nodeName, i));
  const names = new Set(devices.map(({ name }) => name));
  return {
    name: driverName,
    cdi: {
      kind: `k8s.${driverName}/gpu`,
      common: { env: [`KUBERNETES_NODE_NAME=${nodeName}`, `DRA_RESOURCE_DRIVER_NAME=${driverName}`] },
    },
    async *discover() {
      yield [{ devices }];
    },
    async prepare(claim) {
      return claim.devices.map((device) => {
        if (!names.has(device.result.device)) {
          throw new Error(`there is no device ${device.result.device} on ${nodeName}`);
        }
        return { device, edits: { env: variables(claim, device) } } satisfies DeviceEdits;
      });
    },
    // There is nothing that a simulated GPU would have to be freed of.
    async unprepare() {},
  };
}

function gpu(nodeName: string, index: number): Pool["devices"][number] {
  return {
    name: `gpu-${index}`,
    attributes: {
      index: { int: index },
      uuid: { string: `gpu-${uuid(`${nodeName}/${index}`)}` },
      model: { string: "LATEST-GPU-MODEL" },
      driverVersion: { version: "1.0.0" },
    },
    capacity: { memory: { value: "80Gi" } },
  };
}

/** The same for the same seed: a GPU keeps its identity when its driver starts anew. */
function uuid(seed: string): string {
  const hex = createHash("sha256").update(seed).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}

function variables(claim: AllocatedClaim, { result, configs }: AllocatedDevice): string[] {
  const prefix = `GPU_DEVICE_${result.device.slice("gpu-".length)}`;
  // All are decoded, so that a mistake shows even where a later configuration wins.
  const sharing = configs.map(({ parameters }) => decodeGpuConfig(parameters)).at(-1) ?? defaultSharing;
  return [
    `${prefix}=${result.device}`,
    ...sharingVariables(sharing).map((variable) => `${prefix}_${variable}`),
    `${prefix}_RESOURCE_CLAIM=${claim.uid}`,
    `DRA_ADMIN_ACCESS=${result.adminAccess === true}`,
  ];
}

function sharingVariables(sharing: Sharing): string[] {
  return [
    `SHARING_STRATEGY=${sharing.strategy}`,
    sharing.strategy === "TimeSlicing"
      ? `TIMESLICE_INTERVAL=${sharing.interval}`
      : `PARTITION_COUNT=${sharing.partitionCount}`,
  ];
}
