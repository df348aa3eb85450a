import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { kernelHostname, podHostname } from "./hostname.ts";
import { hostsFile } from "./hosts-file.ts";

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
  const input = { pod: pod(spec), podIPs: ["10.1.0.2", "fd00::2"], clusterDomain };
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
