import type { DnsConfig } from "./service.ts";

/** The text of /etc/resolv.conf (resolv.conf(5)). */
export function resolvConf({ servers, searches, options }: DnsConfig): string {
  return [
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(" ")}`] : []),
    "",
  ].join("\n");
}
