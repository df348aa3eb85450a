import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { kindOf } from "@dray/api/codec";
import { type ApiServer, createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { dray, type Output } from "../testing/program.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  type PlanData,
  plain,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

/** A server of 1.36, and a kubeconfig for each of several users with few permissions. */
let server: ApiServer;
let admin: Client;
let folder: string;
const kubeconfig = (user: string): string => join(folder, user);

async function create(manifest: Manifest, namespace = "default"): Promise<void> {
  const { apiVersion, kind, metadata, status } = manifest as {
    apiVersion: string;
    kind: string;
    metadata: { name: string };
    status?: object;
  };
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const row = kindOf(group, version, kind)!;
  const resource = admin.resource(row);
  const placed = { ...manifest, metadata: { ...metadata, ...(row.namespaced && { namespace }) } };
  const created = await resource.create(placed as never);
  if (status !== undefined && kind !== "Node")
    await resource.update({ ...created, status } as never, { subresource: "status" });
}

async function grant(user: string, resources: readonly string[], namespace?: string): Promise<void> {
  const lists = {
    apiGroups: ["*"],
    resources: resources.map((each) => each.split(".")[0]!),
    verbs: ["list"],
  };
  const metrics = { nonResourceURLs: ["/metrics"], verbs: ["get"] };
  const rules = [lists, ...(user === "reader" ? [metrics] : [])];
  const name = `${user}-${namespace ?? "all"}`;
  const [role, binding] =
    namespace === undefined ? ["ClusterRole", "ClusterRoleBinding"] : ["Role", "RoleBinding"];
  const group = "rbac.authorization.k8s.io";
  await create({ apiVersion: `${group}/v1`, kind: role, metadata: { name }, rules }, namespace);
  await create(
    {
      apiVersion: `${group}/v1`,
      kind: binding,
      metadata: { name },
      roleRef: { apiGroup: group, kind: role, name },
      subjects: [{ apiGroup: group, kind: "User", name: user }],
    },
    namespace,
  );
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dray-live-"));
  const now = Date.now();
  const authority = await createAuthority("test-ca", now);
  const names = { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] as const };
  const pair = await issueCertificate(authority, names, now);
  const users = ["reader", "nobody", "nodes-only", "narrow"];
  server = await createServer({
    store: memoryStore(systemClock),
    kubernetesVersion: "1.36",
    serving: { ...pair, clientAuthority: authority.certificate },
    tokens: users.map((name) => ({ token: `token-of-${name}`, user: { name, groups: [] } })),
    disabledAdmissionPlugins: ["ServiceAccount", "TaintNodesByCondition"],
  });
  const { url } = await server.listen({ port: 0 });
  for (const user of users) {
    const ca = Buffer.from(authority.certificate).toString("base64");
    const contexts = ["default", "team"].map((namespace) => ({
      name: namespace,
      context: { cluster: "c", user, namespace },
    }));
    const config = {
      "current-context": "default",
      clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: user, user: { token: `token-of-${user}` } }],
      contexts,
    };
    writeFileSync(kubeconfig(user), JSON.stringify(config));
  }
  const everybody = { name: "admin", groups: ["system:masters", "system:authenticated"] };
  admin = createClient({ transport: server.transport(everybody), userAgent: "test" });
  await create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  for (const name of ["a", "b"]) {
    await create(node(name));
    await create(slice(name, 2));
  }
  await create(gpuClass);
  await create(template("t"));
  await create(claim("taken", {}, { status: { allocation: allocation("a", "gpu-0") } }));
  await create(pod("runs", usesClaim("taken", { nodeName: "a" }), {}, { status: { phase: "Running" } }));
  await create(pod("starts", plain({ nodeName: "b" })));
  await create(claim("open"));
  await create(pod("waits", usesClaim("open")));
  // More than one page of a list.
  for (let i = 0; i < 600; i++)
    await create(pod(`done-${i}`, plain(), {}, { status: { phase: "Succeeded" } }));
  const devices = ["resourceslices", "deviceclasses", "resourceclaims", "resourceclaimtemplates"];
  const workloads = ["deployments", "replicasets", "statefulsets", "daemonsets", "jobs"];
  await grant("reader", ["nodes", "pods", "namespaces", "priorityclasses", ...devices, ...workloads]);
  await grant("nodes-only", ["nodes", "pods"]);
  await grant("narrow", ["nodes", "pods", ...devices.slice(0, 3)]);
  await grant("narrow", ["resourceclaimtemplates"], "default");
});

after(async () => {
  admin?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Plans as that user, with these manifests over the cluster. */
function planAs(user: string, manifests: readonly Manifest[], ...flags: string[]): Promise<Output> {
  const file = join(folder, `${user}.json`);
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  const files = manifests.length === 0 ? [] : ["-f", file];
  return dray(["plan", "--kubeconfig", kubeconfig(user), ...files, ...flags]);
}

const statuses = ({ stdout }: Output): Record<string, string> =>
  Object.fromEntries(
    (JSON.parse(stdout) as PlanData).pods.map(({ name, status, node }) => [name, `${status} ${node}`]),
  );

test("a cluster is planned with lists only, and by the rules of its release", async () => {
  const output = await planAs("reader", [], "-o", "json");
  assert.deepEqual([output.stderr, output.code], ["", 0]);
  assert.deepEqual(statuses(output), { runs: "running a", starts: "bound b", waits: "fits a" });
  const { summary } = JSON.parse(output.stdout) as PlanData & { summary: { kubernetesVersion: string } };
  assert.equal(summary.kubernetesVersion, "1.36");
  assert.deepEqual([summary.running, summary.bound, summary.placed], [1, 1, 1]);
});

test("--live goes by $KUBECONFIG, and a context has a namespace", async () => {
  const env = { KUBECONFIG: kubeconfig("reader"), HOME: folder };
  const file = join(folder, "new.json");
  writeFileSync(file, JSON.stringify(pod("new", plain())));
  const [live, other, offline] = await Promise.all([
    dray(["plan", "--live", "-f", file], env),
    dray(["plan", "--context", "team", "-f", file], env),
    dray(["plan", "-f", file], env),
  ]);
  assert.match(live.stdout, /\ndefault\/new +fits +/);
  assert.match(other.stdout, /\nteam\/new +fits +/);
  assert.match(offline.stdout, /\n1 pod on 0 nodes: 1 does not fit\n$/);
});

test("manifests change what the cluster has, as far as the API server lets them", async () => {
  const output = await planAs(
    "reader",
    [
      // Unchanged, and with a change that claims do not allow.
      claim("open"),
      claim("taken", { count: 2 }),
      pod("waits", plain()),
      claim("both", { count: 2 }),
      pod("two", usesClaim("both")),
      pod("one", usesTemplate("t")),
    ],
    "-o",
    "json",
  );
  assert.equal(output.code, 1);
  assert.deepEqual(statuses(output), {
    runs: "running a",
    starts: "bound b",
    waits: "fits a",
    two: "fits b",
    one: "does not fit null",
  });
  assert.match(
    output.stderr,
    /^error: .*item 2: ResourceClaim default\/taken: spec: Invalid value: .*field is immutable\n/,
  );
  assert.match(
    output.stderr,
    /\nnote: .*item 3: Pod default\/waits is in the cluster already: what it is there counts\n/,
  );
});

test("missing rights are named; without required ones there is no plan", async () => {
  const [nobody, nodesOnly, narrow] = await Promise.all([
    planAs("nobody", []),
    planAs("nodes-only", []),
    planAs("narrow", [pod("new", usesTemplate("t"))]),
  ]);
  assert.deepEqual([nobody.code, nobody.stdout], [1, ""]);
  assert.match(
    nobody.stderr,
    /^error: context default: a plan needs rights that you do not have:\n {2}list nodes\n {2}list pods\n {2}list resourceslices.resource.k8s.io\n/,
  );
  assert.match(
    nobody.stderr,
    /\n {2}kubectl create clusterrole dray-plan --verb=list --resource=nodes,pods,namespaces,/,
  );
  // A waiting pod uses devices.
  assert.deepEqual([nodesOnly.code, nodesOnly.stdout], [1, ""]);
  assert.match(nodesOnly.stderr, /have:\n {2}list resourceslices.resource.k8s.io\n {2}list deviceclasses/);
  assert.doesNotMatch(nodesOnly.stderr, /list nodes\n/);
  assert.equal(narrow.code, 0, narrow.stderr);
  assert.match(narrow.stdout, /\ndefault\/new +fits +/);
  assert.match(
    narrow.stderr,
    /warning: context default: no right to list resourceclaimtemplates.resource.k8s.io in all namespaces \(only in default\): /,
  );
  assert.match(
    narrow.stderr,
    /warning: context default: no right to list priorityclasses.scheduling.k8s.io: /,
  );
});

test("lint asks a cluster what it has and what it serves, and leaves out what may not be read", async () => {
  const file = join(folder, "lint.json");
  const manifests = [
    claim("big", { count: 3 }),
    pod("names-there", usesTemplate("t")),
    pod("names-nothing", usesTemplate("tt")),
    { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } },
    // Served from 1.37 on; the server is 1.36.
    { apiVersion: "resource.k8s.io/v1", kind: "DeviceTaintRule", metadata: { name: "r" } },
  ];
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  const lintAs = async (user: string): Promise<Output & { readonly rules: readonly unknown[] }> => {
    const output = await dray(["lint", file, "--kubeconfig", kubeconfig(user), "-o", "json"]);
    const { findings } = JSON.parse(output.stdout) as { findings: { rule: string; item: number }[] };
    return { ...output, rules: findings.map(({ rule, item }) => [item, rule]) };
  };
  const [reader, nobody] = await Promise.all([lintAs("reader"), lintAs("nobody")]);
  assert.deepEqual([reader.code, reader.stderr], [1, ""]);
  assert.deepEqual(reader.rules, [
    [1, "count-too-high"],
    [3, "missing-template"],
    [4, "unserved-version"],
    [5, "unserved-version"],
  ]);
  assert.deepEqual(nobody.rules, [
    [4, "unserved-version"],
    [5, "unserved-version"],
  ]);
  // Nothing of the cluster was checked.
  assert.equal(nobody.code, 2);
  assert.match(nobody.stderr, /error: context default: no right to list anything: /);
  assert.match(
    nobody.stderr,
    /note: context default: no right to list deviceclasses.resource.k8s.io: what names them is not checked\n/,
  );
});

test("a server that is not there, and a context that is not, are named", async () => {
  const file = join(folder, "gone");
  writeFileSync(
    file,
    JSON.stringify({
      "current-context": "x",
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      contexts: [{ name: "x", context: { cluster: "c" } }],
    }),
  );
  const [gone, context] = await Promise.all([
    dray(["plan", "--kubeconfig", file]),
    dray(["plan", "--kubeconfig", file, "--context", "y"]),
  ]);
  assert.deepEqual([gone.code, gone.stdout, context.code], [1, "", 1]);
  assert.match(gone.stderr, /^error: .*127\.0\.0\.1:1/);
  assert.match(context.stderr, /no context "y" \(there is: x\)/);
});

const pods = (app: string, spec: object): object => ({ metadata: { labels: { app } }, spec });

const deployment = (name: string, replicas: number, spec: object, more: object = {}): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: pods(name, spec), ...more },
});

test("pods that workloads of the cluster lack are planned, and those that a new template replaces", async () => {
  // No controllers act on them: the server runs alone.
  const namespace = "team";
  const spec = usesTemplate("w");
  await create(template("w"), namespace);
  await create(deployment("web", 2, spec), namespace);
  const job = { parallelism: 1, template: pods("job", plain({ restartPolicy: "Never" })) };
  await create(
    { apiVersion: "batch/v1", kind: "Job", metadata: { name: "batch" }, spec: { ...job, suspend: false } },
    namespace,
  );
  const { metadata: web } = await admin
    .resource(kindOf("apps", "v1", "Deployment")!)
    .get({ name: "web", namespace });
  const hash = { app: "web", "pod-template-hash": "5d4f" };
  const owner = (kind: string, { name, uid }: { name: string; uid: string }): object => ({
    ownerReferences: [{ apiVersion: kind === "Pod" ? "v1" : "apps/v1", kind, name, uid, controller: true }],
  });
  const setSpec = {
    replicas: 1,
    selector: { matchLabels: hash },
    template: { ...pods("web", spec), metadata: { labels: hash } },
  };
  await create(
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "web-5d4f", ...owner("Deployment", web) },
      spec: setSpec,
    },
    namespace,
  );
  const { metadata: set } = await admin
    .resource(kindOf("apps", "v1", "ReplicaSet")!)
    .get({ name: "web-5d4f", namespace });
  // The existing one of its two pods holds a GPU of b.
  await create(
    pod(
      "web-5d4f-a",
      { ...spec, nodeName: "b" },
      { labels: hash, ...owner("ReplicaSet", set) },
      {
        status: { phase: "Running", resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "web-gpu" }] },
      },
    ),
    namespace,
  );
  const { metadata: first } = await admin
    .resource(kindOf("", "v1", "Pod")!)
    .get({ name: "web-5d4f-a", namespace });
  const reservedFor = [{ resource: "pods", name: first.name, uid: first.uid }];
  const status = { allocation: allocation("b", "gpu-0"), reservedFor };
  await create(
    { ...claim("web-gpu", {}, { status }), metadata: { name: "web-gpu", ...owner("Pod", first) } },
    namespace,
  );

  const alone = await planAs("reader", [], "-o", "json");
  const same = await planAs("reader", [deployment("web", 2, spec)], "-n", namespace, "-o", "json");
  // Both GPUs of b for each: one pod fits after the old one has ended.
  const both = [deployment("web", 2, usesTemplate("w2")), template("w2", { count: 2 })];
  const changed = await planAs("reader", both, "-n", namespace, "-o", "json");
  const narrow = await planAs("narrow", [], "-o", "json");
  const team = { "web-5d4f-a": "running b", "web-0": "fits a", "batch-0": "fits a" };
  const { waits: _, ...of } = statuses(alone);
  assert.deepEqual(of, {
    runs: "running a",
    starts: "bound b",
    ...team,
    "web-0": of["web-0"],
    "batch-0": of["batch-0"],
  });
  assert.match(`${of["web-0"]} ${of["batch-0"]}`, /^fits [ab] fits [ab]$/);
  assert.deepEqual(statuses(same), statuses(alone));
  assert.equal(same.stderr, "");
  const planned = statuses(changed);
  assert.equal(planned["web-5d4f-a"], undefined);
  assert.deepEqual([planned["web-0"], planned["web-1"]].toSorted(), ["does not fit null", "fits b"]);
  assert.match(
    changed.stderr,
    /note: .*reader\.json.*: Deployment team\/web has another template in the cluster: its pod is planned anew, without the old ones; while it rolls out it has up to 1 pod more \(maxSurge\)\n/,
  );
  assert.equal(statuses(narrow)["web-0"], undefined);
  assert.match(
    narrow.stderr,
    /no right to list deployments.apps, replicasets.apps, statefulsets.apps, daemonsets.apps, jobs.batch: pods that they still lack are not in this plan\n/,
  );
});
