import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { KubeObject } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { type ApiServer, createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "../plan/testing.ts";
import { dray, type Output, output, start } from "../testing/program.ts";
import type { Explained } from "./data.ts";

/** A separate API server without a scheduler, so that its objects do not change. */
let server: ApiServer;
let admin: Client;
let folder: string;
let manifests: readonly Manifest[];

async function create(manifest: Manifest): Promise<KubeObject> {
  const { apiVersion, kind, metadata, status } = manifest as unknown as KubeObject & { status?: object };
  const [version = "", group = ""] = (apiVersion ?? "").split("/").reverse();
  const row = kindOf(group, version, kind)!;
  const resource = admin.resource(row);
  const placed = { ...manifest, metadata: { ...metadata, ...(row.namespaced && { namespace: "default" }) } };
  const created = await resource.create(placed as never);
  if (status === undefined || kind === "Node") return created;
  return resource.update({ ...created, status } as never, { subresource: "status" });
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dray-explain-"));
  const now = Date.now();
  const authority = await createAuthority("test-ca", now);
  const names = { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] as const };
  server = await createServer({
    store: memoryStore(systemClock),
    serving: { ...(await issueCertificate(authority, names, now)), clientAuthority: authority.certificate },
    tokens: [
      { token: "all", user: { name: "all", groups: ["system:masters"] } },
      { token: "few", user: { name: "few", groups: [] } },
      { token: "none", user: { name: "none", groups: [] } },
    ],
    disabledAdmissionPlugins: ["ServiceAccount", "TaintNodesByCondition"],
  });
  const { url } = await server.listen({ port: 0 });
  const ca = Buffer.from(authority.certificate).toString("base64");
  for (const user of ["all", "few", "none"]) {
    const config = {
      "current-context": "test",
      clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: user, user: { token: user } }],
      contexts: [{ name: "test", context: { cluster: "c", user } }],
    };
    writeFileSync(join(folder, user), JSON.stringify(config));
  }
  admin = createClient({
    transport: server.transport({ name: "admin", groups: ["system:masters", "system:authenticated"] }),
    userAgent: "test",
  });
  manifests = [
    node("a"),
    slice("a", 1),
    gpuClass,
    template("t"),
    claim("wanted", { count: 2 }),
    pod("waits", usesClaim("wanted")),
    pod("unmade", usesTemplate("t")),
  ];
  for (const manifest of manifests) await create(manifest);
  const group = "rbac.authorization.k8s.io";
  const resources = ["pods", "resourceclaims", "deviceclasses", "resourceclaimtemplates", "namespaces"];
  const rules = [{ apiGroups: ["*"], resources, verbs: ["list"] }];
  await create({ apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: "few" }, rules });
  await create({
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "few" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "few" },
    subjects: [{ apiGroup: group, kind: "User", name: "few" }],
  });
  await create({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "unmade.1" },
    involvedObject: { kind: "Pod", namespace: "default", name: "unmade" },
    type: "Warning",
    reason: "FailedResourceClaimCreation",
    message: "PodResourceClaim gpu: exceeded quota: devices",
    lastTimestamp: new Date(now).toISOString(),
  });
  const hard = { "count/resourceclaims.resource.k8s.io": "1" };
  await create({
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "devices" },
    spec: { hard },
    status: { hard, used: hard },
  });
});

after(async () => {
  admin?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const explainAs = (user: string, ...args: string[]): Promise<Output> =>
  dray(["explain", ...args, "--kubeconfig", join(folder, user)]);

test("a cluster and its manifests give the same answer, and events and quotas are read beside", async () => {
  const file = join(folder, "objects.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  const [live, offline, unmade] = await Promise.all([
    explainAs("all", "pod/waits", "-o", "json"),
    dray(["explain", "pod/waits", "-f", file, "-o", "json"]),
    explainAs("all", "pod", "unmade", "-o", "json"),
  ]);
  assert.deepEqual(
    [live.code, offline.code, unmade.code],
    [0, 0, 0],
    live.stderr + offline.stderr + unmade.stderr,
  );
  const [ofCluster, ofFiles] = [live, offline].map(({ stdout }) => JSON.parse(stdout) as Explained);
  assert.deepEqual(ofCluster!.placement, ofFiles!.placement);
  assert.equal(ofCluster!.placement?.changes[0]?.kind, "count");
  // The cluster has no scheduler. Manifests do not need one.
  assert.deepEqual(
    ofCluster!.waits.map((each) => each.for),
    ["scheduler", "devices"],
  );
  assert.deepEqual(
    ofFiles!.waits.map((each) => each.for),
    ["devices"],
  );
  const [wait] = (JSON.parse(unmade.stdout) as Explained).waits;
  assert.equal(wait?.for, "quota");
  assert.match(
    wait?.message ?? "",
    /quota devices: 1 of 1 count\/resourceclaims\.resource\.k8s\.io are used/,
  );
});

test("missing rights are named with the facts that need them, and a way to get them", async () => {
  const top = (user: string, kind: string): Promise<Output> =>
    dray(["top", kind, "--kubeconfig", join(folder, user)]);
  const [few, rights, nodes, claims, nothing, list] = await Promise.all([
    explainAs("few", "pod", "waits", "-o", "json"),
    explainAs("few", "--rights", "pod", "waits"),
    top("few", "nodes"),
    top("few", "claims"),
    top("none", "claims"),
    explainAs("none"),
  ]);
  assert.equal(few.code, 0, few.stderr);
  const { missing } = (JSON.parse(few.stdout) as Explained).rights;
  assert.deepEqual(missing.map(({ resource }) => resource).toSorted(), [
    "devicetaintrules.resource.k8s.io",
    "events",
    "nodes",
    "priorityclasses.scheduling.k8s.io",
    "resourceslices.resource.k8s.io",
  ]);
  assert.match(
    few.stderr,
    /context test: no right to list resourceslices\.resource\.k8s\.io: no device is known\n/,
  );
  assert.match(few.stderr, /`dray explain --rights` prints/);
  assert.match(rights.stdout, /^kubectl create clusterrole dray-explain --verb=list --resource=nodes,pods,/);
  // The user may not list nodes, so nothing is said about how many there are.
  assert.deepEqual([nodes.code, nodes.stdout], [2, ""]);
  assert.match(
    nodes.stderr,
    /^error: context test: no right to list nodes: .*\ncontext test: .*resourceslices.*\n`dray top --rights` prints/,
  );
  // Claims have their devices without nodes, too.
  assert.equal(claims.code, 0);
  assert.match(claims.stderr, /^warning: context test: no right to list nodes: /);
  assert.match(claims.stdout, /^default\/wanted +pending /m);
  assert.deepEqual([nothing.code, nothing.stdout, list.code, list.stdout], [2, "", 2, ""]);
  assert.match(list.stderr, /^error: context test: no right to list pods: /);
});

test("mistakes: a kind, a name, an object that may not be read", async () => {
  const [kind, name, hidden] = await Promise.all([
    explainAs("all", "pdo", "waits"),
    explainAs("all", "pod", "wait"),
    explainAs("few", "node", "a"),
  ]);
  assert.equal(kind.code, 2);
  assert.match(kind.stderr, /^error: pdo: must be one of pod, claim, node, device, class, slice/);
  assert.equal(name.code, 1);
  assert.match(name.stderr, /no Pod "wait" in namespace default: there are .*did you mean waits/);
  assert.equal(hidden.code, 1);
  assert.match(hidden.stderr, /no right to list nodes: "a" may be there/);
});

test("without a name what waits is listed", async () => {
  const [all, elsewhere, data] = await Promise.all([
    explainAs("all"),
    explainAs("all", "-n", "kube-system"),
    explainAs("all", "pods", "-o", "json"),
  ]);
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.stdout, /^default +pod\/unmade +waiting +claim gpu: .*exceeded quota/m);
  assert.match(all.stdout, /^default +pod\/waits +waiting /m);
  assert.equal(elsewhere.stdout, "nothing waits\n");
  assert.equal((JSON.parse(data.stdout) as { items: unknown[] }).items.length, 2);
});

test("--watch reads the cluster again and again", async () => {
  const child = start([
    "top",
    "nodes",
    "--watch",
    "--interval",
    "50ms",
    "-o",
    "yaml",
    "--kubeconfig",
    join(folder, "all"),
  ]);
  let [text, isCreated] = ["", false];
  const ended = output(child);
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (!isCreated && text.includes("node: a")) {
      isCreated = true;
      void create(node("later"));
    }
    if (text.includes("node: later")) child.kill();
  });
  const { stdout } = await ended;
  assert.match(stdout, /^---$/m);
  assert.match(stdout, /node: later/);
});
