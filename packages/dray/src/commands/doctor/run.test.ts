import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { Event, Node, Pod } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type ApiServer, createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { parse } from "yaml";
import type { DoctorData } from "../../doctor/print.ts";
import { doctorKinds } from "../../doctor/read.ts";
import { ruleIds, rules } from "../../doctor/rules.ts";
import { resourceOf } from "../../observe/rights.ts";
import { allocation, claim, gpuClass, node, pod, slice, usesClaim } from "../../plan/testing.ts";
import { dray, type Output } from "../../testing/program.ts";

const root = join(import.meta.dirname, "../../../../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const example = join(root, "examples/doctor");

describe("docs/doctor.md", () => {
  test("lists the rules of the code, and no others", () => {
    const rows = [...read("docs/doctor.md").matchAll(/^\| `([a-z-]+)` \| (\w+) \| (.*) \|$/gm)];
    assert.deepEqual(
      rows.map(([, ...cells]) => cells),
      ruleIds.map((id) => [id, rules[id].severity, rules[id].about]),
    );
  });

  test("shows what the example gives", async () => {
    const { stdout, stderr, code } = await dray(["doctor", "-f", example]);
    assert.deepEqual([code, stderr], [1, ""]);
    const [, shown] = /^\$ dray doctor .*\n((?:.*\n)*?)```/m.exec(read("docs/doctor.md")) ?? [];
    assert.equal(stdout.replaceAll(`${root}/`, ""), shown);
  });
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const schema = JSON.parse(read("docs/doctor.schema.json")) as Schema;

const typeOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : Number.isInteger(value)
        ? "integer"
        : typeof value;

/** Returns the parts of a value that violate the schema; supports the keywords that our schema uses. */
function violations(value: unknown, given: Schema, path = ""): string[] {
  const { $ref } = given;
  const own = $ref === undefined ? given : schema.$defs![$ref.slice("#/$defs/".length)]!;
  if (own.enum !== undefined) return own.enum.includes(value) ? [] : [`${path}: ${value}`];
  if (own.const !== undefined) return own.const === value ? [] : [`${path}: ${value}`];
  if (own.type !== undefined && ![own.type].flat().includes(typeOf(value)))
    return [`${path}: ${typeOf(value)}`];
  if (Array.isArray(value)) return value.flatMap((item, i) => violations(item, own.items!, `${path}[${i}]`));
  if (typeof value !== "object" || value === null) return [];
  const properties = own.properties ?? {};
  return [
    ...(own.required ?? []).flatMap((key) => (key in value ? [] : [`${path}.${key} is missing`])),
    ...Object.entries(value).flatMap(([key, item]) =>
      properties[key] === undefined
        ? [`${path}.${key} is unknown`]
        : violations(item, properties[key], `${path}.${key}`),
    ),
  ];
}

const findingsOf = ({ stdout }: Output): string[] =>
  (JSON.parse(stdout) as DoctorData).findings.map(({ rule, object }) => `${rule} ${object.name}`);

describe("manifests", () => {
  test("json and yaml are what the schema says, which has all rules", async () => {
    const json = await dray(["doctor", "-f", example, "-o", "json"]);
    const data = JSON.parse(json.stdout) as DoctorData;
    assert.equal(json.code, 1);
    assert.equal(data.findings.length, 6);
    assert.deepEqual(violations(data, schema), []);
    assert.deepEqual(parse((await dray(["doctor", "-f", example, "-o", "yaml"])).stdout), data);
    assert.deepEqual(schema.$defs?.["rule"]?.enum, ruleIds);
    assert.deepEqual(violations({ ...data, more: 1, objects: "7" }, schema), [
      ".objects: string",
      ".more is unknown",
    ]);
  });

  test("rules are chosen and left out", async () => {
    const chosen = await dray(["doctor", "-f", example, "-o", "json", "--rule", "stale-slice,pool-invalid"]);
    assert.deepEqual(findingsOf(chosen), ["stale-slice node-2-gpus"]);
    const none = await dray(["doctor", "-f", example, "--rule", "stale-slice", "--skip", "stale-slice"]);
    assert.equal(none.code, 0);
    assert.match(
      none.stdout,
      /^nothing found in 7 objects of .*examples\/doctor, by the rules of Kubernetes 1\.37\n$/,
    );
  });

  test("junit has a test for each finding and each rule, and skips rules that are not judged", async () => {
    const args = ["doctor", "-f", example, "-o", "junit", "--rule", "stale-slice,leaked-reservation"];
    const { stdout, code } = await dray([...args, "--rule", "pool-invalid,driver-not-registered"]);
    assert.equal(code, 1);
    assert.match(stdout, /^<\?xml .*\n<testsuites tests="5" failures="2" skipped="1">\n/);
    assert.match(
      stdout,
      /classname="dray.doctor.pool-invalid" name="The slices of a pool contradict each other."\/>/,
    );
    assert.match(stdout, /<failure message="publishes 1 device of node node-2, which is gone" type="error">/);
    assert.match(stdout, /&quot;op&quot;:&quot;test&quot;/);
  });

  test("wrong usage, and what cannot be read", async () => {
    for (const [args, message] of [
      [["--rule", "stale-slices"], "--rule stale-slices: no such rule: did you mean stale-slice?"],
      [["--settle", "soon"], "--settle soon: must be a duration above 0"],
      [["-o", "github"], "--output github: must be one of json, yaml, junit"],
    ] as const) {
      const { code, stderr } = await dray(["doctor", "-f", example, ...args]);
      assert.equal(code, 2);
      assert.ok(stderr.includes(message), stderr);
    }
    const missing = await dray(["doctor", "-f", "no-such-file.yaml"]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /no-such-file\.yaml: there is no such file or directory/);
  });
});

/** Starts an API server, and writes kubeconfigs of two users to the folder. */
async function startServer(folder: string): Promise<{ server: ApiServer; admin: Client }> {
  const now = Date.now();
  const authority = await createAuthority("test-ca", now);
  const names = { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] as const };
  const pair = await issueCertificate(authority, names, now);
  const server = await createServer({
    store: memoryStore(systemClock),
    serving: { ...pair, clientAuthority: authority.certificate },
    tokens: ["reader", "narrow", "poor"].map((name) => ({
      token: `token-of-${name}`,
      user: { name, groups: [] },
    })),
    disabledAdmissionPlugins: ["ServiceAccount", "TaintNodesByCondition"],
  });
  const { url } = await server.listen({ port: 0 });
  for (const user of ["reader", "narrow", "poor"]) {
    const ca = Buffer.from(authority.certificate).toString("base64");
    const config = {
      "current-context": "test",
      clusters: [{ name: "c", cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: user, user: { token: `token-of-${user}` } }],
      contexts: [{ name: "test", context: { cluster: "c", user } }],
    };
    writeFileSync(join(folder, user), JSON.stringify(config));
  }
  const admin = createClient({
    transport: server.transport({ name: "admin", groups: ["system:masters", "system:authenticated"] }),
    userAgent: "test",
  });
  return { server, admin };
}

async function create<T extends KubeObject>(
  admin: Client,
  kind: Kind<T>,
  object: object,
  status?: object,
): Promise<T> {
  const resource = admin.resource(kind);
  const { metadata } = object as { metadata: object };
  const place = kind.namespaced ? { namespace: "default" } : {};
  const created = await resource.create({ ...object, metadata: { ...metadata, ...place } } as never);
  if (status === undefined) return created;
  return resource.update({ ...created, status } as T, { subresource: "status" });
}

/** Lets the user `reader` list all that the rules read, and `narrow` all but pods and events. */
async function grantRights(admin: Client): Promise<void> {
  const all = doctorKinds.map((kind) => resourceOf(kind).split(".")[0]!);
  for (const [name, resources] of Object.entries({
    reader: all,
    poor: ["configmaps"],
    narrow: all.filter((each) => !["pods", "events"].includes(each)),
  })) {
    await create(admin, ClusterRole, {
      metadata: { name },
      rules: [{ apiGroups: ["*"], resources, verbs: ["list"] }],
    });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    await create(admin, ClusterRoleBinding, {
      metadata: { name },
      roleRef,
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
    });
  }
}

/** Creates a pod that waits for its claim, which a pod that is gone holds. */
async function createObjects(admin: Client): Promise<void> {
  await create(admin, Node, node("a"));
  await create(admin, DeviceClass, gpuClass);
  await create(admin, ResourceSlice, slice("a", 2));
  const reservedFor = (name: string, uid: string): object => ({
    allocation: allocation("a", "gpu-0"),
    reservedFor: [{ resource: "pods", name, uid }],
  });
  const held = claim(
    "held",
    {},
    { metadata: { name: "held", finalizers: ["resource.kubernetes.io/delete-protection"] } },
  );
  await create(admin, ResourceClaim, held, reservedFor("gone", "00000000-0000-4000-8000-000000000000"));
  const waits = await create(admin, Pod, pod("waits", usesClaim("held", { nodeName: "a" })));
  await create(admin, Event, {
    metadata: { name: "waits.1" },
    involvedObject: { kind: "Pod", namespace: "default", name: "waits", uid: waits.metadata.uid },
    reason: "FailedPrepareDynamicResources",
    message: "Failed to prepare dynamic resources: DRA driver gpu.example.com is not registered",
    lastTimestamp: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    type: "Warning",
  });
}

describe("a cluster", () => {
  let server: ApiServer;
  let admin: Client;
  let folder: string;
  const as = (user: string, ...args: readonly string[]): Promise<Output> =>
    dray(["doctor", "--kubeconfig", join(folder, user), "--settle", "0", ...args]);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "dray-doctor-"));
    ({ server, admin } = await startServer(folder));
    await grantRights(admin);
    await createObjects(admin);
  });
  after(async () => {
    admin?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const expected = ["pod-without-devices waits", "leaked-reservation held", "driver-not-registered a"];

  test("is examined with lists only; the events of kubelets and the versions that are served count", async () => {
    const output = await as("reader", "-o", "json");
    assert.deepEqual([output.code, output.stderr], [1, ""]);
    assert.deepEqual(findingsOf(output), expected);
    const data = JSON.parse(output.stdout) as DoctorData;
    assert.deepEqual([data.source, data.notJudged, data.rights.missing], ["context test", [], []]);
    assert.deepEqual(violations(data, schema), []);
  });

  test("without a right the rules that need it are not judged, and it says which", async () => {
    const output = await as("narrow", "-o", "json");
    assert.equal(output.code, 0);
    assert.match(output.stderr, /warning: context test: no right to list pods: /);
    assert.match(output.stderr, /warning: context test: no right to list events: /);
    assert.match(output.stderr, /note: `dray doctor --rights` prints the commands/);
    const data = JSON.parse(output.stdout) as DoctorData;
    assert.deepEqual(data.findings, []);
    assert.ok(data.notJudged.some(({ rule, why }) => rule === "leaked-reservation" && why.includes("Pod")));
    assert.deepEqual(
      data.rights.missing.map(({ resource }) => resource),
      ["pods", "events"],
    );
    assert.deepEqual(violations(data, schema), []);
    const rights = await as("narrow", "--rights");
    assert.match(
      rights.stdout,
      /^kubectl create clusterrole dray-doctor --verb=list --resource=nodes,pods,.*,events,/,
    );
  });

  test("without any right it exits with 2, and says that nothing can be judged", async () => {
    const output = await as("poor");
    assert.equal(output.code, 2);
    assert.equal(output.stdout, "");
    const said =
      /^error: context test: nothing can be judged: no right to list nodes, pods, daemonsets.apps, resource/m;
    assert.match(output.stderr, said);
    const data = JSON.parse((await as("poor", "-o", "json")).stdout) as DoctorData;
    assert.deepEqual([data.objects, data.findings], [0, []]);
    // Where one of the chosen rules can be judged, its answer counts; where none can, not.
    assert.equal((await as("narrow", "--rule", "leaked-reservation")).code, 2);
    assert.equal((await as("narrow", "--rule", "leaked-reservation,stale-slice")).code, 0);
  });

  test("manifests without any object that it reads are not examined", async () => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    const { code, stderr } = await dray(["doctor", "-f", file]);
    assert.equal(code, 2);
    assert.match(stderr, /config.yaml: nothing can be judged: there are no objects that it reads/);
  });

  test("the suggested command repairs the finding", async () => {
    const { stdout } = await as("reader", "-o", "json", "--rule", "leaked-reservation");
    const [command = ""] = (JSON.parse(stdout) as DoctorData).findings[0]!.fix;
    const patch = JSON.parse(/ -p '(.*)'$/.exec(command)![1]!) as object[];
    const mend = (): Promise<ResourceClaim> =>
      admin
        .resource(ResourceClaim)
        .patch({ namespace: "default", name: "held" }, "json", patch, { subresource: "status" });
    const { status } = await mend();
    assert.deepEqual([status?.reservedFor, status?.allocation], [undefined, undefined]);
    assert.deepEqual(findingsOf(await as("reader", "-o", "json", "--rule", "leaked-reservation")), []);
    // A claim that has changed meanwhile keeps its devices.
    await assert.rejects(mend(), (error) => error instanceof StatusError);
  });

  test("a cluster that cannot be reached", async () => {
    const config = JSON.parse(readFileSync(join(folder, "reader"), "utf8"));
    config.clusters[0].cluster.server = "https://127.0.0.1:1";
    writeFileSync(join(folder, "nowhere"), JSON.stringify(config));
    const { code, stderr } = await as("nowhere");
    assert.equal(code, 2);
    assert.match(stderr, /^error: /);
  });
});
