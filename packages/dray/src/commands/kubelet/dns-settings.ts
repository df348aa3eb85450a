import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import type { KubeletOptions } from "@dray/kubelet";
import { UsageError } from "../../terminal/failure.ts";

export interface DnsFlags {
  /** Addresses, separated by commas. */
  readonly clusterDns?: string;
  readonly clusterDomain?: string;
  readonly resolvConf?: string;
}

/**
 * Returns the DNS settings of pods. Throws a UsageError that names the flag, its value and what is accepted.
 */
export function dnsSettings({
  clusterDns,
  clusterDomain,
  resolvConf,
}: DnsFlags): Pick<KubeletOptions, "dns"> {
  const servers = clusterDns?.split(",").filter((text) => text !== "") ?? [];
  for (const server of servers)
    if (isIP(server) === 0)
      throw new UsageError(`--cluster-dns ${server}: must be an IP address, as in 10.96.0.10`);
  if (
    clusterDomain !== undefined &&
    !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(clusterDomain)
  )
    throw new UsageError(
      `--cluster-domain ${clusterDomain}: must be a domain of lower-case letters, digits and "-", as in cluster.local`,
    );
  if (resolvConf !== undefined && !(isAbsolute(resolvConf) && existsSync(resolvConf)))
    throw new UsageError(`--resolv-conf ${resolvConf}: must be the absolute path of a file that is there`);
  return {
    dns: {
      ...(servers.length > 0 && { servers }),
      ...(clusterDomain !== undefined && { domain: clusterDomain }),
      ...(resolvConf !== undefined && { resolvConf }),
    },
  };
}
