import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ControllersOptions, NodeIpamOptions } from "@dray/controllers";
import { rangesOf } from "../../options/addresses.ts";
import { check, contents, keyPair } from "../../options/pem-files.ts";
import { durationOption, isOn, wholeNumber } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";

/** Flags with the meaning of kube-controller-manager's. */
export interface ControllerFlags {
  readonly controllers?: string;
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly clusterSigningDuration?: string;
  readonly rootCaFile?: string;
  readonly serviceAccountPrivateKeyFile?: string;
  readonly allocateNodeCidrs?: string | true;
  readonly clusterCidr?: string;
  readonly nodeCidrMaskSize?: string;
  readonly nodeCidrMaskSizeIpv4?: string;
  readonly nodeCidrMaskSizeIpv6?: string;
  readonly serviceClusterIpRange?: string;
  readonly terminatedPodGcThreshold?: string;
}

type FromFlags = Pick<
  ControllersOptions,
  "controllers" | "nodeIpam" | "podGarbage" | "serviceAccountKey" | "signing"
> & {
  readonly rootCA?: string;
};

/** The values of the flags, with the contents of files. Throws a UsageError. */
export async function controllerOptions(flags: ControllerFlags): Promise<FromFlags> {
  const { controllerNames, nodePools, selectControllers } = await import("@dray/controllers");
  const wanted = (flags.controllers ?? "*").split(",").map((name) => name.trim());
  asUsage("--controllers", flags.controllers ?? "", () => selectControllers(controllerNames, wanted));
  const pair = keyPair(
    { flag: "--cluster-signing-cert-file", file: flags.clusterSigningCertFile },
    { flag: "--cluster-signing-key-file", file: flags.clusterSigningKeyFile },
  );
  const duration = flags.clusterSigningDuration;
  const rootCA = contents("--root-ca-file", flags.rootCaFile);
  if (rootCA !== undefined) check("--root-ca-file", flags.rootCaFile, () => new X509Certificate(rootCA));
  const keyFile = flags.serviceAccountPrivateKeyFile;
  const key = contents("--service-account-private-key-file", keyFile);
  if (key !== undefined) check("--service-account-private-key-file", keyFile, () => createPrivateKey(key));
  const { terminatedPodGcThreshold: threshold } = flags;
  const nodeIpam = nodeIpamOf(flags);
  if (nodeIpam !== undefined) asUsage("--cluster-cidr", flags.clusterCidr ?? "", () => nodePools(nodeIpam));
  return {
    controllers: wanted,
    ...(pair && {
      signing: {
        ...pair,
        ...(duration !== undefined && { duration: durationOption("--cluster-signing-duration", duration) }),
      },
    }),
    ...(rootCA !== undefined && { rootCA }),
    ...(key !== undefined && { serviceAccountKey: key }),
    ...(nodeIpam && { nodeIpam }),
    ...(threshold !== undefined && {
      podGarbage: {
        maxTerminatedPods: wholeNumber("--terminated-pod-gc-threshold", threshold, 0, 2 ** 31 - 1),
      },
    }),
  };
}

function nodeIpamOf(flags: ControllerFlags): NodeIpamOptions | undefined {
  const { allocateNodeCidrs: given, clusterCidr } = flags;
  if (!isOn("--allocate-node-cidrs", given)) return undefined;
  if (clusterCidr === undefined)
    throw new UsageError("--allocate-node-cidrs needs --cluster-cidr, such as 10.244.0.0/16");
  const size = (flag: string, value: string | undefined): number | undefined =>
    value === undefined ? undefined : wholeNumber(flag, value, 1, 128);
  const one = size("--node-cidr-mask-size", flags.nodeCidrMaskSize);
  const IPv4 = size("--node-cidr-mask-size-ipv4", flags.nodeCidrMaskSizeIpv4) ?? one;
  const IPv6 = size("--node-cidr-mask-size-ipv6", flags.nodeCidrMaskSizeIpv6) ?? one;
  const clusterCIDRs = clusterCidr.split(",").map((cidr) => cidr.trim());
  if (clusterCIDRs.length > 1 && one !== undefined)
    throw new UsageError(
      "--node-cidr-mask-size is for one network: with two use --node-cidr-mask-size-ipv4 and -ipv6",
    );
  const serviceCIDRs = rangesOf(flags.serviceClusterIpRange);
  return {
    clusterCIDRs,
    maskSizes: { ...(IPv4 !== undefined && { IPv4 }), ...(IPv6 !== undefined && { IPv6 }) },
    ...(serviceCIDRs && { serviceCIDRs }),
  };
}

/** Reports errors of the library as UsageErrors. */
function asUsage(flag: string, value: string, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw new UsageError(`${flag} ${value}: ${error.message}`);
  }
}
