import assert from "node:assert/strict";
import { appendFileSync, closeSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import type { Node, Pod, PodSpec } from "@dray/api/core/v1";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import { NodePaths } from "../base/paths.ts";
import { kernelHostname, podHostname } from "./hostname.ts";
import { hostsFile, hostsMount, updateNames } from "./hosts-file.ts";
import { sandboxConfig } from "./sandbox-config.ts";

const clusterDomain = "cluster.local";
const pod = (spec: Partial<PodSpec>, name = "web"): Pod =>
  partial<Pod>({ metadata: { namespace: "ns", name, uid: "u" }, spec });

test("host names: the pod's, its own, with a domain, cut to what the kernel holds", () => {
  assert.deepEqual(podHostname(pod({}), clusterDomain), { hostname: "web", domain: "" });
  assert.deepEqual(podHostname(pod({ hostname: "h", subdomain: "s" }), clusterDomain), {
    hostname: "h",
    domain: "s.ns.svc.cluster.local",
  });
  const long = podHostname(pod({}, `${"a".repeat(62)}-${"b".repeat(9)}`), clusterDomain);
  assert.equal(long.hostname, "a".repeat(62));
  assert.deepEqual(podHostname(pod({ hostnameOverride: "over.ride", subdomain: "s" }), clusterDomain), {
    hostname: "over.ride",
    domain: "",
  });
  assert.equal(kernelHostname(pod({ subdomain: "s" }), clusterDomain), "web");
  assert.equal(
    kernelHostname(pod({ subdomain: "s", setHostnameAsFQDN: true }), clusterDomain),
    "web.s.ns.svc.cluster.local",
  );
  // The node's own.
  assert.equal(kernelHostname(pod({ hostNetwork: true }), clusterDomain), "");
  assert.throws(
    () => kernelHostname(pod({ subdomain: "s".repeat(40), setHostnameAsFQDN: true }), clusterDomain),
    /^RuntimeError: failed to construct FQDN .* is too long \(64 characters is the max, 65 characters requested\)$/,
  );
});

test("/etc/hosts of a pod: loopback, its names, its aliases", () => {
  const spec = {
    subdomain: "s",
    hostAliases: [
      { ip: "1.2.3.4", hostnames: ["a", "b.c"] },
      { ip: "1.2.3.5", hostnames: ["d"] },
    ],
  };
  const input = { pod: pod(spec), podIPs: ["10.1.0.2", "fd00::2"], dns: { domain: clusterDomain } };
  const aliases = "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb.c\n1.2.3.5\td\n";
  assert.equal(
    hostsFile(input, undefined),
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
      "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n" +
      "10.1.0.2\tweb.s.ns.svc.cluster.local\tweb\nfd00::2\tweb.s.ns.svc.cluster.local\tweb\n" +
      aliases,
  );
  assert.equal(
    hostsFile(input, "127.0.0.1 localhost\n"),
    `# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n${aliases}`,
  );
});

test("the names of Services in a hosts file are replaced, and the pod's own lines stay", async (t) => {
  const paths = new NodePaths(temporaryFolder(t));
  const names = (text: string) => ({ domain: clusterDomain, names: () => text });
  const mount = hostsMount({ pod: pod({}), podIPs: ["127.130.0.1"], dns: names("127.64.0.1\ta\n") }, paths);
  const path = mount?.hostPath ?? "";
  const reader = openSync(path, "r");
  t.after(() => closeSync(reader));
  appendFileSync(path, "1.2.3.4 mine\n");
  for (const lines of ["127.64.0.1\ta\n127.64.0.2\tb\n", "127.64.0.2\tb\n", ""]) {
    updateNames(pod({}), paths, lines);
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(`node.\n${lines}# End of the names of Services.\n1.2.3.4 mine\n`), text);
    assert.ok(text.endsWith("1.2.3.4 mine\n"), "nothing of the longer text is left");
    // The same file, which containers have mounted.
    assert.equal(fstatSync(reader).ino, statSync(path).ino);
  }
});

test("pods that do not resolve names of the cluster have none, and get none", (t) => {
  const paths = new NodePaths(temporaryFolder(t));
  const dns = { domain: clusterDomain, names: () => "127.64.0.1\ta\n" };
  for (const spec of [{ dnsPolicy: "Default" }, { dnsPolicy: "None" }, { hostNetwork: true }]) {
    const mount = hostsMount({ pod: pod(spec), podIPs: ["127.130.0.1"], dns }, paths);
    const before = readFileSync(mount?.hostPath ?? "", "utf8");
    assert.doesNotMatch(before, /127\.64/);
    updateNames(pod(spec), paths, "127.64.0.1\ta\n");
    assert.equal(readFileSync(mount?.hostPath ?? "", "utf8"), before);
  }
  updateNames(partial<Pod>({ metadata: { uid: "not-started" } }), paths, "127.64.0.1\ta\n");
});

test("the host name of a pod with hostNetwork is the name of its node", () => {
  const node = {
    paths: new NodePaths("/tmp/n"),
    dns: { servers: undefined, domain: clusterDomain, resolvConf: "/nowhere" },
    podMaxPids: undefined,
    bounds: { useClaims: false },
    node: () => partial<Node>({ metadata: { name: "worker-1" } }),
  };
  const hostnameOf = (spec: Parameters<typeof pod>[0]): string =>
    sandboxConfig(pod({ containers: [], ...spec }), 0, "", node).config.hostname;
  assert.equal(hostnameOf({ hostNetwork: true }), "worker-1");
  assert.equal(hostnameOf({}), "web");
});
