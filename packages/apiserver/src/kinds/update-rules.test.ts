import assert from "node:assert/strict";
import { test } from "node:test";
import { type FeatureGate, featuresOf, isInRelease, parseKubernetesVersion } from "@dray/api";
import { kindRows } from "@dray/api/schema";
import { testServer } from "../testing/server.ts";
import { missingModules, upstreamSource } from "../testing/upstream.ts";
import { servedKind } from "./registry.ts";
import { type ServedResource, servedResources } from "./resources.ts";

/** Newest patch releases with the strategies, oldest first. */
const releases = ["1.34.10", "1.35.4", "1.36.3", "1.37.1"];
const extensions = ["k8s.io/apiextensions-apiserver@v0.37.2", "k8s.io/kube-aggregator@v0.37.2"];

/** Folders of strategies that are not named like the kind. */
const folders: Readonly<Record<string, string>> = {
  APIService: "apiservice",
  CertificateSigningRequest: "certificates",
  Endpoints: "endpoint",
  StorageVersionMigration: "storagemigration",
};

/** Kinds whose strategy decides by the version of the request, with the versions that need none. */
const decidedByVersion: Readonly<Record<string, readonly string[]>> = {
  DeviceTaintRule: ["v1alpha3", "v1beta2"],
};

function strategySource({ group, kind }: ServedResource, release: string): string {
  const folder = folders[kind] ?? kind.toLowerCase();
  // Events of both groups are those of the core group.
  const [room = ""] = group === "" || kind === "Event" ? ["core"] : group.split(".");
  const registry =
    room === "apiextensions"
      ? `${extensions[0]}/pkg/registry`
      : room === "apiregistration"
        ? `${extensions[1]}/pkg/registry`
        : `k8s.io/kubernetes@v${release}/pkg/registry/${room}`;
  return upstreamSource(`${registry}/${folder}/strategy.go`);
}

/** Returns the constant result of the first method of this name, which is that of the resource itself. */
function constantOf(source: string, method: string): boolean | undefined {
  const found = new RegExp(`\\) ${method}\\([^)]*\\) bool \\{\\s*return (true|false)`).exec(source);
  return found === null ? undefined : found[1] === "true";
}

for (const release of releases) {
  test(`PUT needs a version, and creates, by the strategies of ${release}`, {
    skip: missingModules(`k8s.io/kubernetes@v${release}`, ...extensions),
  }, () => {
    const version = parseKubernetesVersion(release.replace(/\.\d+$/, ""));
    const gates = kindRows.flatMap((row): [FeatureGate, boolean][] => {
      const gate = servedKind(row)?.facts?.gate;
      return gate !== undefined && isInRelease(version, row) ? [[gate, true]] : [];
    });
    // CompositePodGroup depends on it.
    if (version === "1.37") gates.push(["TopologyAwareWorkloadScheduling", true]);
    const resources = servedResources(featuresOf(version, new Map(gates)), { "api/all": true });
    const stored = resources.filter(({ verbs, facts }) => verbs.includes("update") && !facts.extension);
    assert.ok(stored.length > 60);
    const differences = stored.flatMap((served) => {
      const source = strategySource(served, release);
      const unconditional =
        constantOf(source, "AllowUnconditionalUpdate") ??
        decidedByVersion[served.kind]?.includes(served.version);
      const creates = constantOf(source, "AllowCreateOnUpdate");
      const { needsVersion = false, createOnUpdate = false } = served.facts;
      return needsVersion === !unconditional && createOnUpdate === creates
        ? []
        : [`${served.group}/${served.version} ${served.kind}: ${unconditional} ${creates}`];
    });
    assert.deepEqual(differences, []);
  });
}

const deviceTaintRule = { spec: { taint: { key: "example.com/k", effect: "NoSchedule" } } };
const workload = {
  spec: { podGroupTemplates: [{ name: "g", schedulingPolicy: { basic: {} } }] },
};
const puts: readonly (readonly [release: string, path: string, object: object, status: number])[] = [
  ["1.37", "resource.k8s.io/v1/devicetaintrules", deviceTaintRule, 422],
  ["1.37", "resource.k8s.io/v1beta2/devicetaintrules", deviceTaintRule, 200],
  ["1.37", "scheduling.k8s.io/v1beta1/namespaces/n/workloads", workload, 422],
  ["1.36", "scheduling.k8s.io/v1alpha2/namespaces/n/workloads", workload, 200],
];
for (const [kubernetesVersion, path, object, status] of puts) {
  test(`${kubernetesVersion}: PUT of ${path} without resourceVersion gets ${status}`, async () => {
    const featureGates = new Map([["GenericWorkload", true]]);
    const runtimeConfig = { "api/all": true };
    const { server, namespace, call } = await testServer({ kubernetesVersion, featureGates, runtimeConfig });
    await namespace("n");
    const body = { metadata: { name: "x" }, ...object };
    const created = await call("POST", `/apis/${path}`, { body });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const put = await call("PUT", `/apis/${path}/x`, { body });
    assert.equal(put.status, status, JSON.stringify(put.body));
    if (status === 422)
      assert.match(
        put.body.message,
        /metadata\.resourceVersion: Invalid value: "?0"?: must be specified for an update/,
      );
    await server.close();
  });
}
