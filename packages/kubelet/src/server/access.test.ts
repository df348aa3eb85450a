import assert from "node:assert/strict";
import { request } from "node:https";
import { after, before, test } from "node:test";
import type { TokenRequest } from "@dray/api/authentication/v1";
import { Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { createAuthority, issueCertificate } from "@dray/apiserver/pki";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

/** Credentials of a client: a certificate, a token, both, or none. */
interface Sender {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

/** Subresources of nodes that protect a kubelet's endpoints. */
const subresources = ["proxy", "stats", "metrics", "log", "pods", "healthz", "configz"] as const;
type Subresource = (typeof subresources)[number];

/** Subresources that permit a GET of a path. Upstream: pkg/kubelet/server/auth.go (KEP-2862). */
const needed: Readonly<Record<string, readonly Subresource[]>> = {
  "/healthz": ["healthz", "proxy"],
  "/pods": ["pods", "proxy"],
  "/pods/": ["pods", "proxy"],
  "/runningpods/": ["pods", "proxy"],
  "/configz": ["configz", "proxy"],
  "/metrics": ["metrics"],
  "/metrics/resource": ["metrics"],
  "/metrics/probes": ["metrics"],
  "/stats/summary": ["stats"],
  "/logs/": ["log"],
  "/logs/syslog": ["log"],
  "/containerLogs/default/main/main": ["proxy"],
  "/exec/default/main/main?command=true&output=1": ["proxy"],
  "/portForward/default/main": ["proxy"],
  "/anything": ["proxy"],
  // A shared prefix does not match.
  "/metricsx": ["proxy"],
  "/healthzfoo/bar": ["proxy"],
  "/stats-of-others": ["proxy"],
  // Escaped paths are authorized as they are routed.
  "/%6detrics": ["metrics"],
  "/metrics%2Fresource": ["metrics"],
  "/%70ods": ["pods", "proxy"],
  "/healthz/../containerLogs/default/main/main": ["proxy"],
  "/healthz/%2e%2e/containerLogs/default/main/main": ["proxy"],
  "/metrics/..%2fcontainerLogs/default/main/main": ["metrics"],
  "/containerLogs/../metrics": ["metrics"],
};

let cluster: TestCluster;
let node: Kubelet;

before(async () => {
  cluster = await testCluster();
  const accounts = cluster.admin.resource(ServiceAccount);
  for (const name of ["default", ...subresources])
    await accounts.create({ metadata: { namespace: "default", name } });
  for (const name of subresources) {
    await cluster.admin.resource(ClusterRole).create({
      metadata: { name: `test:${name}` },
      rules: [{ apiGroups: [""], resources: [`nodes/${name}`], verbs: ["get"] }],
    });
    await cluster.admin.resource(ClusterRoleBinding).create({
      metadata: { name: `test:${name}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `test:${name}` },
      subjects: [
        { kind: "ServiceAccount", namespace: "default", name },
        { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: `user-${name}` },
        { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: `group-${name}` },
      ],
    });
  }
  node = await cluster.node("n1");
  await cluster.admin.resource(Secret).create({
    metadata: { namespace: "default", name: "unused" },
    stringData: { password: "hidden" },
  });
  await cluster.admin.resource(Pod).create(
    podOn("n1", "main", {
      containers: [{ name: "main", command: ["sh", "-c", "echo out; exec sleep 1000"] }],
    }),
  );
  await podBecomes(
    cluster.admin,
    { namespace: "default", name: "main" },
    ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined,
  );
});
after(() => cluster.close());

const send = (
  { token, ...certificate }: Sender,
  path: string,
  method = "GET",
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const call = request({
      host: "127.0.0.1",
      port: node.port,
      path,
      method,
      agent: false,
      ca: cluster.authority.certificate,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...certificate,
    });
    call.once("error", reject);
    call.once("response", async (response) => {
      const text = Buffer.concat(await response.toArray()).toString("utf8");
      resolve({ status: response.statusCode ?? 0, text });
    });
    call.end();
  });

const tokenOf = async (name: string, audiences: string[] = []): Promise<string> => {
  const { status } = await cluster.admin
    .resource(ServiceAccount)
    .post<TokenRequest>({ namespace: "default", name }, "token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences, expirationSeconds: 3600 },
    });
  return status?.token ?? "";
};

const certificateOf = async (
  commonName: string,
  organizations: string[] = [],
  usages: ("client" | "server")[] = ["client"],
): Promise<Sender> => {
  const subject = { commonName, organizations, usages };
  const { certificate, key } = await issueCertificate(cluster.authority, subject, Date.now());
  return { cert: certificate, key };
};

test("a right of one kind opens the paths that belong to it, and no others", async () => {
  for (const right of subresources) {
    const sender = { token: await tokenOf(right) };
    for (const [path, enough] of Object.entries(needed)) {
      const { status, text } = await send(sender, path);
      const expected = enough.includes(right);
      assert.equal(status !== 403, expected, `nodes/${right}: GET ${path}: ${status} ${text}`);
      assert.notEqual(status, 401, path);
      if (!expected)
        assert.equal(
          text,
          `Forbidden (user=system:serviceaccount:default:${right}, verb=get, resource=nodes, subresource(s)=[${enough.join(" ")}])`,
        );
    }
  }
});

test("the right to get is not the right to create", async () => {
  const sender = { token: await tokenOf("proxy") };
  for (const path of ["/exec/default/main/main?command=id", "/run/default/main/main?cmd=id", "/pods"]) {
    const { status, text } = await send(sender, path, "POST");
    assert.equal(status, 403, text);
    assert.match(text, /verb=create/);
  }
  assert.equal((await send(sender, "/metrics", "DELETE")).status, 403);
});

test("certificates and their groups count as tokens do", async () => {
  for (const sender of [
    await certificateOf("user-metrics"),
    await certificateOf("somebody", ["others", "group-metrics"]),
  ]) {
    assert.equal((await send(sender, "/metrics")).status, 200);
    assert.equal((await send(sender, "/stats/summary")).status, 403);
  }
  assert.equal((await send(await certificateOf("a", ["system:masters"]), "/pods")).status, 200);
  // The certificate wins over a token.
  const both = { ...(await certificateOf("user-metrics")), token: await tokenOf("stats") };
  assert.equal((await send(both, "/stats/summary")).status, 403);
});

test("anonymous requests and other credentials are rejected", async () => {
  const stranger = await createAuthority("test", Date.now());
  const foreign = await issueCertificate(
    stranger,
    { commonName: "admin", organizations: ["system:masters"], usages: ["client"] },
    Date.now(),
  );
  const old = await issueCertificate(
    cluster.authority,
    { commonName: "admin", organizations: ["system:masters"], usages: ["client"] },
    Date.now() - 20 * 365 * 24 * 3600_000,
  );
  const senders: Readonly<Record<string, Sender>> = {
    "nothing at all": {},
    "a token that means nothing": { token: "abc" },
    "a token for somebody else": { token: await tokenOf("metrics", ["https://elsewhere.example"]) },
    "a token whose end is cut off": { token: (await tokenOf("metrics")).slice(0, -4) },
    "a certificate of another authority with the same name": {
      cert: foreign.certificate,
      key: foreign.key,
    },
    "a certificate that has expired": { cert: old.certificate, key: old.key },
    "a certificate of a server": await certificateOf("admin", ["system:masters"], ["server"]),
    "a certificate without a name": await certificateOf("", ["system:masters"]),
  };
  for (const [what, sender] of Object.entries(senders))
    for (const path of ["/healthz", "/pods", "/metrics", "/containerLogs/default/main/main", "/nowhere"]) {
      const { status, text } = await send(sender, path);
      assert.deepEqual([status, text], [401, "Unauthorized"], `${what}: ${path}`);
    }
});

test("a token ends with its account", async () => {
  const account = { namespace: "default", name: "leaving" };
  await cluster.admin.resource(ServiceAccount).create({ metadata: account });
  const [used = "", unused = ""] = [await tokenOf("leaving"), await tokenOf("leaving")];
  assert.equal((await send({ token: used }, "/pods")).status, 403);
  await cluster.admin.resource(ServiceAccount).delete(account);
  // The API server caches the review of a token for 10 s, as kube-apiserver does.
  assert.equal((await send({ token: unused }, "/pods")).status, 401);
});

test("names in paths lead to pods and containers, and nowhere else", async () => {
  const admin = cluster.clientCertificate;
  const log = await send(admin, "/containerLogs/default/main/main");
  assert.deepEqual(log, { status: 200, text: "out\n" });
  for (const path of [
    "/containerLogs/default/main/..%2f..%2f..%2fetc%2fpasswd",
    "/containerLogs/default/..%2fmain/main",
    "/containerLogs/..%2fdefault/main/main",
    "/containerLogs/default/main%2fmain/main",
    "/containerLogs/default/main/main%00",
    "/containerLogs/default/__proto__/main",
    "/containerLogs/default/main/constructor",
    "/exec/default/main/..%2fmain?command=id",
    "/portForward/default/..%2fmain",
    "/logs/..%2f..%2fetc%2fpasswd",
    "/logs/../../etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/metrics/..%2f..%2fetc%2fpasswd",
    "/constructor",
    "/__proto__",
  ]) {
    const { status, text } = await send(admin, path);
    assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    assert.doesNotMatch(text, /root:|uid=/, path);
  }
});
