/** The DNS of a cluster: upstream's coredns on the first node, behind the Service that every cluster has. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import type { Client } from "@dray/client";
import { peer } from "../peers.ts";
import { type Program, start } from "../processes.ts";
import { dnsAddress, nodeAddress } from "./nodes.ts";

export interface DnsOptions {
  readonly folder: string;
  readonly admin: Client;
  /** Kubeconfig of an administrator. */
  readonly kubeconfig: string;
  /** Words for `nsenter` that enter the first node. */
  readonly enter: readonly string[];
}

export async function startDns({ folder, admin, kubeconfig, enter }: DnsOptions): Promise<Program> {
  const file = join(folder, "Corefile");
  const kubernetes = `kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
  }`;
  writeFileSync(file, `.:53 {\n  errors\n  ${kubernetes}\n}\n`);
  const command = [...enter, peer("coredns"), "-conf", file];
  const program = start("coredns", ["nsenter", ...command], join(folder, "coredns.log"));
  const port = (name: string, protocol: string) => ({ name, port: 53, protocol });
  const ports = [port("dns", "UDP"), port("dns-tcp", "TCP")];
  const metadata = { namespace: "kube-system", name: "kube-dns" };
  await admin.resource(Service).create({
    metadata: { ...metadata, labels: { "k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS" } },
    spec: { clusterIP: dnsAddress, ports },
  });
  await admin.resource(EndpointSlice).create({
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [nodeAddress(0)], conditions: { ready: true } }],
    ports,
  });
  return program;
}
