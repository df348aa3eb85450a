import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { type Client, createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { startCluster, type TestClusterOptions } from "@dray/cluster/testing";
import { eventually } from "@dray/testing/eventually";
import { repository } from "./harness.ts";
import { driverOf, type Scenario, scenarioOf } from "./kubernetes-versions/pods.ts";
import {
  type FieldPrediction,
  fieldOutcome,
  fields,
  kinds,
  pods,
  releases,
} from "./kubernetes-versions/predictions.ts";

/** The same manifests in a running cluster of each release, and what upstream's tables predict of them. */

const group = "/apis/resource.k8s.io/v1";

// biome-ignore lint/suspicious/noExplicitAny: objects have the shape that the test created
type Any = any;

async function get(client: Client, url: string): Promise<Any> {
  return JSON.parse(await client.text("GET", url));
}

async function create(
  client: Client,
  url: string,
  kind: string,
  {
    name,
    metadata = {},
    ...rest
  }: { readonly name: string; readonly metadata?: object; readonly spec?: unknown },
): Promise<Any> {
  // Of `/api/v1/...` the version, of `/apis/GROUP/VERSION/...` both.
  const apiVersion = /^\/apis?\/((?:.*\.k8s\.io\/)?v\w+)/.exec(url)![1];
  const body = { apiVersion, kind, metadata: { name, ...metadata }, ...rest };
  return JSON.parse(await client.text("POST", `${url}?fieldValidation=Strict`, { body }));
}

/** The kinds of the two groups as `group/version Kind`. */
async function servedKinds(client: Client): Promise<string[]> {
  const { groups } = await get(client, "/apis");
  const served: string[] = [];
  for (const { name, versions } of groups) {
    if (name !== "resource.k8s.io" && name !== "scheduling.k8s.io") continue;
    for (const { groupVersion } of versions)
      for (const { name: resource, kind } of (await get(client, `/apis/${groupVersion}`)).resources)
        if (!resource.includes("/")) served.push(`${groupVersion} ${kind}`);
  }
  return served.sort();
}

const collections = {
  DeviceClass: `${group}/deviceclasses`,
  ResourceClaim: `${group}/namespaces/fields/resourceclaims`,
  ResourceSlice: `${group}/resourceslices`,
};

function valueAt(object: Any, path: readonly (string | number)[]): unknown {
  return path.reduce((value, step) => value?.[step], object);
}

/** Returns the outcome for the field, in the terms of `fieldOutcome`. */
async function outcomeOf(client: Client, field: FieldPrediction): Promise<string> {
  const url = collections[field.kind];
  const name = `field-${fields.indexOf(field)}`;
  try {
    const { spec } = await create(client, url, field.kind, { name, spec: field.spec });
    const found = valueAt(spec, field.path);
    if (found === undefined) return "dropped";
    // Defaults have been added.
    assert.partialDeepStrictEqual(found, valueAt(field.spec, field.path), field.name);
    return "kept";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const at = field.path.reduce<string>(
      (path, step) => `${path}${typeof step === "number" ? `[${step}]` : `.${step}`}`,
      "spec",
    );
    if (error.code === 400 && error.message.includes(`unknown field "${at}"`)) return "unknown";
    const places = error.status.details?.causes?.map((cause) => cause.field);
    if (error.code === 422 && places?.includes(field.refusedWithout)) return "refused";
    throw error;
  }
}

async function checkFields(client: Client, release: number, gates: "default" | "all"): Promise<void> {
  const metadata = { labels: { "resource.kubernetes.io/admin-access": "true" } };
  await create(client, "/api/v1/namespaces", "Namespace", { name: "fields", metadata });
  const [found, predicted]: Record<string, string>[] = [{}, {}];
  for (const field of fields) {
    found![field.name] = await outcomeOf(client, field);
    predicted![field.name] = fieldOutcome(field, release, gates);
  }
  assert.deepEqual(found, predicted);
}

/** Creates what the scenario needs but its pods; false: the server refuses it. */
async function prepare(client: Client, id: string, scenario: Scenario): Promise<boolean> {
  await create(client, "/api/v1/namespaces", "Namespace", {
    name: id,
    metadata: { labels: scenario.labels ?? {} },
  });
  const account = `/api/v1/namespaces/${id}/serviceaccounts/default`;
  await eventually(`namespace ${id} has its service account`, async () => get(client, account));
  const selectors = [{ cel: { expression: `device.driver == "${driverOf(id)}"` } }];
  const spec = { selectors, ...scenario.deviceClass };
  await create(client, `${group}/deviceclasses`, "DeviceClass", { name: id, spec });
  if (scenario.rule !== undefined) {
    const url = "/apis/resource.k8s.io/v1alpha3/devicetaintrules";
    await create(client, url, "DeviceTaintRule", { name: id, spec: scenario.rule });
  }
  try {
    for (const [index, slice] of scenario.slices.entries())
      await create(client, `${group}/resourceslices`, "ResourceSlice", {
        name: `${id}-${index}`,
        spec: slice,
      });
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.code === 422) return false;
    throw error;
  }
}

async function createPod(
  client: Client,
  id: string,
  name: string,
  of: Scenario["pods"][number],
): Promise<void> {
  const container = { name: "c", image: "registry.example/none" };
  const base = { terminationGracePeriodSeconds: 0, restartPolicy: "Never" };
  let spec: object;
  if ("resource" in of) {
    const limits = { [of.resource]: "1" };
    spec = { ...base, containers: [{ ...container, resources: { limits } }] };
  } else {
    const devices = { requests: [{ name: "r", ...of.request }] };
    const url = `${group}/namespaces/${id}/resourceclaims`;
    await create(client, url, "ResourceClaim", { name, spec: { devices } });
    const resourceClaims = [{ name: "claim", resourceClaimName: name }];
    spec = {
      ...base,
      resourceClaims,
      containers: [{ ...container, resources: { claims: [{ name: "claim" }] } }],
    };
  }
  await create(client, `/api/v1/namespaces/${id}/pods`, "Pod", { name, spec });
}

/** The devices of a pod that has a node; null if it waits; undefined if that is not decided. */
async function devicesOf(client: Client, id: string, name: string): Promise<string[] | null | undefined> {
  const pod = await get(client, `/api/v1/namespaces/${id}/pods/${name}`);
  const { items } = await get(client, `${group}/namespaces/${id}/resourceclaims`);
  const claim = items.find((each: Any) =>
    each.status?.reservedFor?.some((by: Any) => by.uid === pod.metadata.uid),
  );
  const results: Any[] = claim?.status.allocation?.devices.results ?? [];
  if (pod.spec.nodeName !== undefined) return results.map(({ device }) => device);
  if (results.some(({ bindingConditions }) => bindingConditions !== undefined)) return null;
  const scheduled = pod.status.conditions?.find(({ type }: Any) => type === "PodScheduled");
  return scheduled?.reason === "Unschedulable" ? null : undefined;
}

async function devicesOfAll(client: Client, id: string, count: number): Promise<(string[] | null)[]> {
  const found: (string[] | null)[] = [];
  for (let index = 0; index < count; index++)
    found.push(
      await eventually(`pod ${id}/pod-${index} is decided`, async () => {
        const devices = await devicesOf(client, id, `pod-${index}`);
        return devices === undefined ? undefined : { devices };
      }).then(({ devices }) => devices),
    );
  return found;
}

function wordOf(scenario: Scenario, devices: readonly (readonly string[] | null)[]): string {
  if (scenario.words !== undefined) return scenario.words(devices);
  const last = devices.at(-1);
  return last == null ? "waits" : last.length > 0 ? "device" : "nothing";
}

async function checkPods(client: Client, release: number): Promise<void> {
  const [found, predicted]: Record<string, string>[] = [{}, {}];
  const decided: [name: string, id: string, scenario: Scenario][] = [];
  for (const [index, [name, perRelease]] of Object.entries(pods).entries()) {
    predicted![name] = perRelease[release]!;
    const id = `pods-${index}`;
    const scenario = scenarioOf(name, id);
    if (await prepare(client, id, scenario)) decided.push([name, id, scenario]);
    else found![name] = "refused";
  }
  for (const [, id, scenario] of decided) {
    for (const [index, pod] of scenario.pods.entries()) {
      await createPod(client, id, `pod-${index}`, pod);
      await devicesOfAll(client, id, index + 1);
    }
  }
  // A pod that was tried before the scheduler knew of the slices has been tried again since.
  for (const [name, id, scenario] of decided)
    found![name] = wordOf(scenario, await devicesOfAll(client, id, scenario.pods.length));
  assert.deepEqual(found, predicted);
}

/** Runs `check` with a client over HTTPS: that of the cluster is in its process. */
async function onCluster(
  options: TestClusterOptions,
  check: (client: Client) => Promise<void>,
): Promise<void> {
  await using cluster = await startCluster(options);
  const { connection } = await loadKubeconfig({ file: cluster.kubeconfig });
  const client = createClient({ transport: httpsTransport(connection), userAgent: "test" });
  try {
    await check(client);
  } finally {
    client.close();
  }
}

for (const [index, release] of releases.entries()) {
  const served = kinds
    .filter(([, , perRelease]) => perRelease[index] === "yes")
    .map(([groupVersion, kind]) => `${groupVersion} ${kind}`)
    .sort();
  const base: TestClusterOptions = { nodes: 0, kubernetesVersion: release };
  const runtimeConfig = { "api/all": true };

  test(`${release} serves what is stable; no other kind or version`, () =>
    onCluster(base, async (client) => {
      const stable = served.filter((text) => text.includes("/v1 "));
      assert.deepEqual(await servedKinds(client), stable);
    }));

  test(`${release} serves all its kinds and keeps all its fields with all gates on`, () =>
    onCluster({ ...base, runtimeConfig, featureGates: "AllAlpha=true,AllBeta=true" }, async (client) => {
      assert.deepEqual(await servedKinds(client), served);
      await checkFields(client, index, "all");
    }));

  test(`${release} keeps fields by its gates, and pods get what is left`, () =>
    onCluster({ ...base, nodes: 1, runtimeConfig }, async (client) => {
      await checkFields(client, index, "default");
      await checkPods(client, index);
    }));
}

function table(heading: string, rows: readonly (readonly [string, readonly string[]])[]): string {
  const lines = [
    [heading, ...releases],
    ["---", ...releases.map(() => "---")],
  ];
  for (const [name, cells] of rows) lines.push([name, ...cells]);
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

test("the page has the predictions", () => {
  const page = readFileSync(join(repository, "docs", "kubernetes-versions.md"), "utf8");
  const outcomes = (field: FieldPrediction): string[] =>
    releases.map((_, index) => {
      const byDefault = fieldOutcome(field, index, "default");
      return byDefault === fieldOutcome(field, index, "all") ? byDefault : `${byDefault}, gate`;
    });
  const tables = [
    table(
      "kind",
      kinds.map(([groupVersion, kind, perRelease]) => [`\`${groupVersion}\` ${kind}`, perRelease]),
    ),
    table(
      "field",
      fields.map((field) => [field.name, outcomes(field)]),
    ),
    table("pods", Object.entries(pods)),
  ];
  for (const text of tables)
    assert.ok(page.includes(`\n\n${text}`), `docs/kubernetes-versions.md differs from\n${text}`);
});
