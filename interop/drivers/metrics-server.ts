import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { APIService, type APIServiceCondition } from "@dray/api/apiregistration/v1";
import type { Deployment } from "@dray/api/apps/v1";
import { RoleBinding } from "@dray/api/rbac/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { freePort } from "@dray/testing/ports";
import { parseAllDocuments, stringify } from "yaml";
import { peer } from "../peers.ts";
import { missingPrograms } from "../suites/commands.ts";
import { namespace, runOnce } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const group = "metrics.k8s.io";
const groupVersion = `${group}/v1beta1`;
const root = `/apis/${groupVersion}`;
const image = "registry.k8s.io/metrics-server/metrics-server:*";
/**
 * Seconds for what depends on figures: the readiness probe waits 20 s, and kubelets are read every 15 s,
 * twice.
 */
const figuresTimeout = 180;

type Kubectl = (...args: readonly string[]) => Promise<string>;

/**
 * metrics-server with its own manifests, behind the API server as an aggregated one. The cluster's own
 * metrics.k8s.io is turned off, so that whatever there is of the group is metrics-server's.
 */
export const metricsServer: DriverTrial = {
  name: "metrics-server",
  programs: ["metrics-server", "metrics-server-manifests"],
  obstacle: () => (missingPrograms(["kubectl"]).length > 0 ? "programs missing: kubectl" : undefined),
  cluster: () => ({
    runtimeConfig: { [groupVersion]: false },
    images: [{ pattern: image, command: [peer("metrics-server")] }],
  }),
  async run({ client, kubeconfig, nodes: [node] }, { folder }) {
    assert.ok(node);
    const kubectl = kubectlOf(kubeconfig, join(folder, "kubectl-cache"));
    assert.ok(
      !(await groupsOf(client)).includes(group),
      `${group} is served before metrics-server is installed`,
    );

    // Holds some MiB, since kubectl rounds down, and uses some of a CPU.
    const memory = "held=$(head -c 8388608 /dev/zero | tr '\\0' x)";
    const script = `${memory}; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.3; done`;
    await runOnce(client, "busy", { command: ["sh", "-c", script] });
    await install(kubectl, folder);
    await available(client, { status: "True", reason: "Passed", message: "all checks passed" });
    await checkDocuments(client, kubectl);
    await checkFigures(client, kubectl, node.name);

    await kubectl("scale", "deployment/metrics-server", "--namespace=kube-system", "--replicas=0");
    await available(client, {
      status: "False",
      reason: "MissingEndpoints",
      message:
        'endpointslices for service/metrics-server in "kube-system" have no addresses with port name "https"',
    });
    await checkAbsence(client, kubectl);

    await kubectl("scale", "deployment/metrics-server", "--namespace=kube-system", "--replicas=1");
    await available(client, { status: "True", reason: "Passed", message: "all checks passed" });
    const hasFigures = async (): Promise<boolean> => (await metricsOf(client, "nodes")).items.length > 0;
    await eventually("metrics-server has figures again", hasFigures, figuresTimeout * 1000);
    await client.resource(APIService).delete({ name: `v1beta1.${group}` });
    await eventually(`${group} is gone with its APIService`, async () => {
      return !(await groupsOf(client)).includes(group);
    });
  },
};

/** Runs kubectl as the administrator; resolves to what it prints, and rejects with what it complains of. */
function kubectlOf(kubeconfig: string, cache: string): Kubectl {
  const run = promisify(execFile);
  return async (...args) => {
    const options = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${cache}`];
    const { stdout } = await run("kubectl", [...options, ...args], { maxBuffer: 64 << 20 });
    return stdout;
  };
}

/** Applies the manifests of the release, on a port of this machine that is free. */
async function install(kubectl: Kubectl, folder: string): Promise<void> {
  const text = await kubectl("kustomize", join(peer("metrics-server-manifests"), "overlays/release"));
  const port = await freePort();
  const objects = parseAllDocuments(text).map((document) => document.toJS() as { readonly kind?: string });
  const deployment = objects.find(({ kind }) => kind === "Deployment") as Deployment | undefined;
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  assert.ok(deployment?.spec?.template.spec && container);
  const { args = [] } = container;
  const standard = "--secure-port=10250";
  assert.ok(args.includes(standard), `the Deployment has no argument ${standard}`);
  const changed: Deployment = {
    ...deployment,
    spec: {
      ...deployment.spec,
      template: {
        ...deployment.spec.template,
        spec: {
          ...deployment.spec.template.spec,
          containers: [
            {
              ...container,
              args: args.map((flag) => (flag === standard ? `--secure-port=${port}` : flag)),
              ports: [{ name: "https", containerPort: port }],
            },
          ],
        },
      },
    },
  };
  const file = join(folder, "metrics-server.yaml");
  writeFileSync(file, objects.map((each) => stringify(each === deployment ? changed : each)).join("---\n"));
  await kubectl("apply", "-f", file);
}

/** Waits until what `look` resolves to is accepted; the error has the last that it saw. */
async function eventuallySee(
  what: string,
  look: () => Promise<string>,
  accepts: (text: string) => boolean,
): Promise<void> {
  let last = "";
  const check = async (): Promise<boolean> => {
    last = await look();
    return accepts(last);
  };
  await eventually(what, check, figuresTimeout * 1000).catch((error: Error) => {
    throw new Error(`${error.message}; last seen: ${last}`, { cause: error });
  });
}

/** Waits until the condition Available of the APIService is this one. */
function available(
  client: Client,
  { status, reason, message }: Pick<APIServiceCondition, "status" | "reason" | "message">,
): Promise<void> {
  const wanted = JSON.stringify([status, reason, message]);
  const look = async (): Promise<string> => {
    const service = await client.resource(APIService).get({ name: `v1beta1.${group}` });
    const condition = service.status?.conditions?.find(({ type }) => type === "Available");
    return JSON.stringify([condition?.status, condition?.reason, condition?.message]);
  };
  return eventuallySee(`the APIService is Available: ${wanted}`, look, (text) => text === wanted);
}

async function groupsOf(client: Client): Promise<readonly string[]> {
  const { groups } = await read<{ readonly groups: readonly { readonly name: string }[] }>(client, "/apis");
  return groups.map(({ name }) => name);
}

async function read<T>(client: Client, path: string): Promise<T> {
  return JSON.parse(await client.text("GET", path)) as T;
}

/**
 * Waits until discovery and both OpenAPI documents have the group; kubectl reads them in their newer forms.
 */
async function checkDocuments(client: Client, kubectl: Kubectl): Promise<void> {
  await eventually("discovery has the resources", async () => {
    const rows = await kubectl("api-resources", `--api-group=${group}`, "--no-headers");
    const kinds = rows
      .trim()
      .split("\n")
      .map((row) => row.split(/\s+/).at(-1));
    return kinds.includes("NodeMetrics") && kinds.includes("PodMetrics");
  });
  assert.ok((await groupsOf(client)).includes(group));
  const schema = "io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics";
  await eventually("OpenAPI v3 has the group", async () => {
    const { paths } = await read<{ readonly paths: Readonly<Record<string, unknown>> }>(
      client,
      "/openapi/v3",
    );
    return Object.hasOwn(paths, `apis/${groupVersion}`);
  });
  await eventually("OpenAPI v2 has the group", async () => {
    const { definitions } = await read<{ readonly definitions: Readonly<Record<string, unknown>> }>(
      client,
      "/openapi/v2",
    );
    return Object.keys(definitions).some((name) => name === schema || name.endsWith(".NodeMetrics"));
  });
  const explained = await kubectl("explain", "nodes", `--api-version=${groupVersion}`);
  assert.match(explained, /KIND:\s+NodeMetrics\n/);
  assert.match(explained, /^ {2}usage\s/m);
}

interface Metrics {
  readonly metadata: { readonly name: string };
  readonly usage?: Readonly<Record<string, string>>;
}

function metricsOf(client: Client, resource: string): Promise<{ readonly items: readonly Metrics[] }> {
  return read(client, `${root}/${resource}`);
}

/** Waits for figures of the node and of the pod, and reads them in all the ways of kubectl. */
async function checkFigures(client: Client, kubectl: Kubectl, nodeName: string): Promise<void> {
  const top = (pattern: RegExp, ...args: readonly string[]): Promise<void> =>
    eventuallySee(
      `kubectl top ${args.join(" ")} prints ${pattern}`,
      () => kubectl("top", ...args).catch(textIf(/metrics not available yet/)),
      (text) => pattern.test(text),
    );
  await top(new RegExp(`^${nodeName}\\s+[1-9]\\d*m\\s+\\d+%\\s+[1-9]\\d*Mi\\s+\\d+%`, "m"), "nodes");
  await top(/^busy\s+[1-9]\d*m\s+[1-9]\d*Mi\s/m, "pods", `--namespace=${namespace}`);
  await top(/^busy\s+main\s+[1-9]\d*m\s+[1-9]\d*Mi\s/m, "pods", `--namespace=${namespace}`, "--containers");

  const raw = JSON.parse(await kubectl("get", "--raw", `${root}/nodes`)) as {
    readonly kind: string;
    readonly items: readonly Metrics[];
  };
  assert.equal(raw.kind, "NodeMetricsList");
  const [metrics, ...others] = raw.items;
  assert.deepEqual([metrics?.metadata.name, others], [nodeName, []]);
  assert.deepEqual(Object.keys(metrics?.usage ?? {}).toSorted(), ["cpu", "memory"]);

  // The user's name reaches metrics-server, which asks the API server what they may do.
  const asViewer = ["get", `pods.${group}`, `--namespace=${namespace}`, "--as=viewer"] as const;
  await assert.rejects(kubectl(...asViewer), /Forbidden/);
  await client.resource(RoleBinding).create({
    metadata: { name: "viewer", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "viewer" }],
  });
  await eventuallySee(
    "a viewer of the namespace may read",
    () => kubectl(...asViewer).catch(textIf(/Forbidden/)),
    (text) => /^NAME\s+CPU\s+MEMORY\s+WINDOW\nbusy\s/.test(text),
  );
}

/** Returns the message of an error that is expected for a while; throws any other. */
function textIf(expected: RegExp): (error: Error) => string {
  return (error) => {
    if (expected.test(error.message)) return error.message;
    throw error;
  };
}

interface Discovered {
  readonly metadata: { readonly name: string };
  readonly versions: readonly object[];
}

/** Returns the versions of the group in aggregated discovery (KEP-3352). */
async function discoveredVersions(client: Client): Promise<readonly object[]> {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const text = await client.text("GET", "/apis", { headers: { accept } });
  const { items } = JSON.parse(text) as { readonly items: readonly Discovered[] };
  return items.find(({ metadata }) => metadata.name === group)?.versions ?? [];
}

/** Checks that requests for the group are refused, and that clients find all others. */
async function checkAbsence(client: Client, kubectl: Kubectl): Promise<void> {
  await assert.rejects(
    kubectl("get", "--raw", `${root}/nodes`),
    /the server is currently unable to handle the request/,
  );
  await assert.rejects(kubectl("top", "nodes"), /Metrics API not available/);
  // kubectl leaves out what is stale, and prints the rest.
  await eventuallySee(
    "discovery says that the group is stale",
    async () => JSON.stringify(await discoveredVersions(client)),
    (text) => text === JSON.stringify([{ version: "v1beta1", freshness: "Stale" }]),
  );
  const resources = await kubectl("api-resources", "--cached=false", "--output=name");
  assert.match(resources, /^resourceclaims\.resource\.k8s\.io$/m);
  assert.doesNotMatch(resources, new RegExp(group.replaceAll(".", "\\."), "m"));
  assert.ok((await groupsOf(client)).includes(group));
  await kubectl("create", "configmap", "beside", `--namespace=${namespace}`);
  assert.match(await kubectl("get", "pods,configmaps", `--namespace=${namespace}`), /configmap\/beside/);
}
