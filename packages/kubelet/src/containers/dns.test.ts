import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { parseResolvConf } from "../dns/resolv-conf.ts";
import { type ClusterDns, podDns } from "./dns.ts";

const cluster: ClusterDns = { servers: ["10.0.0.10"], domain: "cluster.local", resolvConf: "/machine" };
const machine =
  "# x\nnameserver 8.8.8.8\nsearch old.example\nsearch example.com. .\noptions ndots:2 rotate ndots:3\n";
const pod = (spec: Partial<PodSpec>): Pod =>
  partial<Pod>({ metadata: { namespace: "ns", name: "p", uid: "u" }, spec });
const dns = (spec: Partial<PodSpec>, one = cluster) => podDns(pod(spec), one, () => machine);
const own = ["ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"];

test("resolv.conf: the last search line and the last of an option count", () => {
  assert.deepEqual(parseResolvConf(machine), {
    servers: ["8.8.8.8"],
    searches: ["example.com"],
    options: ["ndots:3", "rotate"],
  });
});

test("policies: the cluster's servers, the machine's, or what the pod says alone", () => {
  const ofCluster = { servers: ["10.0.0.10"], searches: own, options: ["ndots:5"] };
  const ofMachine = parseResolvConf(machine);
  assert.deepEqual(dns({ dnsPolicy: "ClusterFirst" }), { config: ofCluster, warnings: [] });
  assert.deepEqual(dns({ dnsPolicy: "ClusterFirst", hostNetwork: true }).config, ofMachine);
  assert.deepEqual(dns({ dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }).config, ofCluster);
  assert.deepEqual(dns({ dnsPolicy: "Default" }).config, ofMachine);
  const dnsConfig = { nameservers: ["1.1.1.1"], searches: ["a.b"], options: [{ name: "ndots", value: "1" }] };
  assert.deepEqual(dns({ dnsPolicy: "None", dnsConfig }).config, {
    servers: ["1.1.1.1"],
    searches: ["a.b"],
    options: ["ndots:1"],
  });
});

test("pods that do not reach the machine's loopback address use the cluster's servers instead", () => {
  const reachesLoopback = ({ spec }: Pod): boolean => spec.hostNetwork === true;
  const stub = { ...cluster, resolvConf: "/etc/resolv.conf", reachesLoopback };
  const of = (spec: Partial<PodSpec>, text: string) => podDns(pod(spec), stub, () => text).config;
  const resolved = "nameserver 127.0.0.53\nsearch example.com\n";
  assert.deepEqual(of({ dnsPolicy: "Default" }, resolved), {
    servers: ["10.0.0.10"],
    searches: ["example.com"],
    options: [],
  });
  assert.deepEqual(of({ dnsPolicy: "Default" }, `${resolved}nameserver 8.8.8.8\n`)?.servers, ["8.8.8.8"]);
  // The machine's file as it is.
  assert.equal(of({ dnsPolicy: "Default", hostNetwork: true }, resolved), undefined);
  assert.equal(of({ dnsPolicy: "Default" }, "nameserver 8.8.8.8\n"), undefined);
});

test("dnsConfig of a pod is merged, its options take precedence", () => {
  const dnsConfig = {
    nameservers: ["1.1.1.1", "10.0.0.10"],
    searches: ["example.com", "a.b"],
    options: [{ name: "ndots", value: "1" }, { name: "edns0" }],
  };
  assert.deepEqual(dns({ dnsPolicy: "ClusterFirst", dnsConfig }).config, {
    servers: ["10.0.0.10", "1.1.1.1"],
    searches: [...own, "a.b"],
    options: ["ndots:1", "edns0"],
  });
});

test("without servers of the cluster the machine's are used, with an event of the pod", () => {
  const { config, warnings } = dns({ dnsPolicy: "ClusterFirst" }, { ...cluster, servers: [] });
  assert.deepEqual(config, parseResolvConf(machine));
  assert.deepEqual(warnings, [
    {
      reason: "MissingClusterDNS",
      message:
        'pod: "p_ns(u)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
    },
  ]);
  // The runtime's own way to the machine's file.
  const plain = { ...cluster, resolvConf: "/etc/resolv.conf" };
  assert.equal(dns({ dnsPolicy: "Default" }, plain).config, undefined);
});

test("entries beyond the limits of resolvers are omitted, with an event of the pod", () => {
  const { config, warnings } = dns({
    dnsPolicy: "None",
    dnsConfig: {
      nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"],
      searches: ["a".repeat(254), ...Array.from({ length: 32 }, (_, i) => `${"b".repeat(80)}${i}`)],
    },
  });
  assert.deepEqual(config?.servers, ["1.1.1.1", "1.1.1.2", "1.1.1.3"]);
  // 24 of 82 or 81 characters with spaces are 2,048 at most.
  assert.equal(config?.searches.length, 24);
  assert.ok((config?.searches.join(" ").length ?? 0) <= 2048);
  assert.match(
    warnings[0]?.message ?? "",
    /^Nameserver limits were exceeded, .* line is: 1\.1\.1\.1 1\.1\.1\.2 1\.1\.1\.3$/,
  );
  assert.match(
    warnings[1]?.message ?? "",
    /^Search Line limits were exceeded, some search paths have been omitted/,
  );
});
