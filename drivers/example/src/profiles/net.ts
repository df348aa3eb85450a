import { Quantity } from "@dray/api";
import type { Device, DeviceCapacity } from "@dray/api/resource/v1";
import type { AllocatedDevice } from "@dray/driver";
import { type Burst, decodeNetConfig, defaultBurst } from "../config/net-config.ts";
import { schemaOf } from "../config/reader.ts";
import { configOf, type Profile, variablePrefix } from "./profile.ts";
import { uuid } from "./uuid.ts";

export interface NetOptions {
  readonly count: number;
}

/** Bits per second: by default an equal part for each of 100 virtual functions. */
const bandwidth: DeviceCapacity = {
  value: "100G",
  requestPolicy: { default: "1G", validRange: { min: "100M", max: "100G", step: "1M" } },
};

/** Network cards that claims share; names as in the public example driver. */
export function netProfile(nodeName: string, { count }: NetOptions): Profile<Burst> {
  return {
    name: "net",
    pool: { devices: Array.from({ length: count }, (_, index) => nic(nodeName, index)) },
    parameters: schemaOf(decodeNetConfig),
    variables: netVariables,
  };
}

function nic(nodeName: string, index: number): Device {
  return {
    name: `nic-${index}`,
    attributes: {
      index: { int: index },
      uuid: { string: `net-${uuid(`${nodeName}/net/${index}`)}` },
      model: { string: "LATEST-NET-MODEL" },
      driverVersion: { version: "1.0.0" },
    },
    allowMultipleAllocations: true,
    capacity: {
      // Each claim takes one virtual function.
      vfs: { value: "100", requestPolicy: { default: "1", validValues: ["1"] } },
      ingressBandwidth: bandwidth,
      egressBandwidth: bandwidth,
    },
  };
}

function netVariables(device: AllocatedDevice<Burst>): string[] {
  const { result } = device;
  const prefix = variablePrefix("net", result.device.slice("nic-".length));
  const burst = configOf(device, defaultBurst);
  const { ingressBandwidth, egressBandwidth } = result.consumedCapacity ?? {};
  return [
    ...(burst.ingress === 0n ? [] : [`${prefix}_INGRESS_BURST=${burst.ingress}`]),
    ...(burst.egress === 0n ? [] : [`${prefix}_EGRESS_BURST=${burst.egress}`]),
    ...(ingressBandwidth === undefined ? [] : [`${prefix}_INGRESS_RATE=${bitsPerSecond(ingressBandwidth)}`]),
    ...(egressBandwidth === undefined ? [] : [`${prefix}_EGRESS_RATE=${bitsPerSecond(egressBandwidth)}`]),
  ];
}

/** A whole number: the step of bandwidth is 1M. */
function bitsPerSecond(quantity: string): string {
  return BigInt(Quantity.parse(quantity).toNumber()).toString();
}
