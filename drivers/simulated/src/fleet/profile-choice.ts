import { shown, type Value } from "../source/value.ts";

/** The profile of a driver, its behaviour at prepare, with the options from the fleet file. */
export type ProfileChoice =
  | { readonly name: "basic" }
  | {
      readonly name: "fpga";
      /** Milliseconds that loading an image takes. */
      readonly programTime: number;
      /** Bitstream that is loaded while the device is unused. */
      readonly idleImage: string;
      /** Bitstreams that a claim may load; every one if absent. */
      readonly bitstreams?: readonly string[];
    }
  | {
      readonly name: "sriov";
      readonly interfaces: InterfaceSource;
      /** IPv4 network that virtual functions get their addresses from. */
      readonly subnet: Subnet;
    }
  | {
      readonly name: "partitions";
      /** Milliseconds that creating a partition takes, and destroying one. */
      readonly createTime: number;
    };

/**
 * `create`: a veth pair is made on the host at prepare, and removed at unprepare. `existing`: the host has it
 * under the device's name. `none`: containers get variables and the claim its addresses, but no network
 * device.
 */
const interfaceSources = ["create", "existing", "none"] as const;
export type InterfaceSource = (typeof interfaceSources)[number];

export interface Subnet {
  /** The network's address as a number. */
  readonly base: number;
  readonly prefix: number;
}

const profileNames = ["basic", "fpga", "sriov", "partitions"] as const;

/** Reads `profile: fpga` and `options: {...}` of a driver, on which of the fleet's nodes. */
export function readProfile(profile: Value, options: Value, nodeIndex: number): ProfileChoice {
  const name = profile.optional((one) => one.oneOf(profileNames)) ?? "basic";
  const of = options.isSet ? options : options.with({});
  switch (name) {
    case "basic":
      if (options.isSet) options.fail(`the profile ${shown(name)} has no options: name another with profile`);
      return { name };
    case "fpga": {
      const { programTime, idleImage, bitstreams } = of.fields(["programTime", "idleImage", "bitstreams"]);
      return {
        name,
        programTime: programTime.optional((one) => one.duration()) ?? 2000,
        idleImage: idleImage.optional((one) => one.text()) ?? "idle",
        ...(bitstreams.isSet && { bitstreams: bitstreams.list((one) => one.text()) }),
      };
    }
    case "sriov": {
      const { interfaces, subnet } = of.fields(["interfaces", "subnet"]);
      return {
        name,
        interfaces: interfaces.optional((one) => one.oneOf(interfaceSources)) ?? "none",
        subnet: readSubnet(subnet.isSet ? subnet : subnet.with(defaultSubnet(nodeIndex))),
      };
    }
    case "partitions": {
      const { createTime } = of.fields(["createTime"]);
      return { name, createTime: createTime.optional((one) => one.duration()) ?? 0 };
    }
  }
}

/** One for each node, in a part of 10.0.0.0/8 that clusters rarely use. */
function defaultSubnet(nodeIndex: number): string {
  return `10.${128 + (Math.floor(nodeIndex / 256) % 64)}.${nodeIndex % 256}.0/24`;
}

function readSubnet(value: Value): Subnet {
  const accepted = "an IPv4 network with 4 addresses or more, such as 10.56.0.0/16";
  const text = value.text(accepted);
  const [, a, b, c, d, length] = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text) ?? [];
  const bytes = [a, b, c, d].map(Number);
  const prefix = Number(length);
  if (length === undefined || bytes.some((byte) => byte > 255) || prefix < 1 || prefix > 30)
    value.fail(`${shown(text)} must be ${accepted}`);
  const base = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const size = 2 ** (32 - prefix);
  if (base % size !== 0)
    value.fail(`${shown(text)} has bits set behind the first ${prefix}: must be ${accepted}`);
  return { base, prefix };
}
