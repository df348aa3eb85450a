import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserInfo } from "@dray/client";
import { type Answer, type TestServer, testServer } from "../testing/server.ts";

const pods = "/api/v1/namespaces/default/pods";
const nodes = "/api/v1/nodes";
const slices = "/apis/resource.k8s.io/v1/resourceslices";
const token = "/api/v1/namespaces/default/serviceaccounts/default/token";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

const nodeUser: UserInfo = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const as = { credential: { type: "user", user: nodeUser } } as const;

/** Creates a pod of the default account on `nodeName`; returns its uid. */
async function pod({ call }: TestServer, name: string, nodeName: string): Promise<string> {
  const spec = { nodeName, containers: [{ name: "c", image: "i" }] };
  const made = await call("POST", pods, { body: { metadata: { name, labels: { app: name } }, spec } });
  assert.equal(made.status, 201);
  return made.body.metadata.uid;
}

async function withAccount(): Promise<TestServer> {
  const tested = await testServer();
  for (const name of ["default", "other"]) {
    const body = { metadata: { name } };
    const made = await tested.call("POST", "/api/v1/namespaces/default/serviceaccounts", { body });
    assert.equal(made.status, 201);
  }
  return tested;
}

function refused(answer: Answer, message: string): void {
  assert.deepEqual(
    { status: answer.status, message: answer.body.message, reason: answer.body.reason },
    { status: 403, message, reason: "Forbidden" },
  );
}

test("a node gets tokens only for the pods that run on it", async () => {
  const tested = await withAccount();
  const { server, call } = tested;
  const own = await pod(tested, "own", "n1");
  const foreign = await pod(tested, "foreign", "n2");
  const ask = (boundObjectRef?: object, url = token) =>
    call("POST", url, {
      ...as,
      body: { spec: { audiences: [], ...(boundObjectRef && { boundObjectRef }) } },
    });
  const ref = (name: string, uid?: string) => ({ apiVersion: "v1", kind: "Pod", name, uid });
  const forbidden = 'serviceaccounts "default" is forbidden: ';
  assert.equal((await ask(ref("own", own))).status, 201);
  const unbound = `${forbidden}node requested token not bound to a pod`;
  refused(await ask(), unbound);
  refused(await ask({ apiVersion: "v1", kind: "Node", name: "n1" }), unbound);
  refused(await ask({ apiVersion: "v1", kind: "Secret", name: "s" }), unbound);
  refused(await ask(ref("own")), `${forbidden}node requested token with a pod binding without a uid`);
  refused(
    await ask(ref("own", foreign)),
    `${forbidden}the UID in the bound object reference (${foreign}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
  refused(
    await ask(ref("foreign", foreign)),
    `${forbidden}node requested token bound to a pod scheduled on a different node`,
  );
  assert.equal((await ask(ref("nobody", own))).status, 404);
  // Another account's token: the node authorizer refuses as long as no pod of the node has that account.
  assert.equal((await ask(ref("own", own), token.replace("default/token", "other/token"))).status, 403);
  const spec = { nodeName: "n1", serviceAccountName: "other", containers: [{ name: "c", image: "i" }] };
  await call("POST", pods, { body: { metadata: { name: "with-other" }, spec } });
  const mixed = await ask(ref("own", own), token.replace("default/token", "other/token"));
  assert.equal(mixed.status, 400);
  assert.match(mixed.body.message, /pod running with different serviceaccount name/);
  // Other users may request an unbound token.
  assert.equal((await call("POST", token, { body: { spec: {} } })).status, 201);
  await server.close();
});

test("a node labels itself only with what a kubelet knows of its machine", async () => {
  const { server, call } = await testServer();
  const create = (labels: object) =>
    call("POST", nodes, { ...as, body: { metadata: { name: "n1", labels }, spec: {} } });
  const reserved = ["a.node-restriction.kubernetes.io/x", "node-restriction.kubernetes.io/x"];
  refused(
    await create({ [reserved[1]!]: "1", [reserved[0]!]: "1", "gpu.k8s.io/pool": "1", mine: "1" }),
    `nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: ${reserved[0]}, gpu.k8s.io/pool, ${reserved[1]}`,
  );
  const good = {
    "kubernetes.io/hostname": "n1",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "topology.kubernetes.io/zone": "z",
    "failure-domain.beta.kubernetes.io/region": "r",
    "node.kubernetes.io/instance-type": "t",
    "kubelet.kubernetes.io/a": "1",
    "x.node.kubernetes.io/b": "1",
    "example.com/kubernetes.io": "1",
    "notkubernetes.io/x": "1",
  };
  assert.equal((await create(good)).status, 201);
  const patch = (labels: object, subresource = "") =>
    call("PATCH", `${nodes}/n1${subresource}`, { ...as, body: { metadata: { labels } } });
  assert.equal((await patch({ "topology.kubernetes.io/zone": "other" })).status, 200);
  const role = "node-role.kubernetes.io/control-plane";
  const message = `nodes "n1" is forbidden: is not allowed to modify labels: ${role}`;
  refused(await patch({ [role]: "" }), message);
  refused(await patch({ [role]: "" }, "/status"), message);
  const marked = await call("PATCH", `${nodes}/n1`, { body: { metadata: { labels: { [role]: "x" } } } });
  assert.equal(marked.status, 200);
  refused(await patch({ [role]: null }), message);
  // With the label unchanged everything else goes on.
  const { metadata, ...rest } = marked.body;
  const labels = { ...metadata.labels, mine: "2" };
  const put = { ...as, body: { ...rest, metadata: { ...metadata, labels } } };
  assert.equal((await call("PUT", `${nodes}/n1`, put)).status, 200);
  await call("POST", nodes, { body: { metadata: { name: "n2" }, spec: {} } });
  refused(
    await call("PATCH", `${nodes}/n2`, { ...as, body: { metadata: { labels: { mine: "1" } } } }),
    'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  );
  await server.close();
});

test("a node may register with taints, but not change them", async () => {
  const { server, call } = await testServer();
  const taint = { key: "example.com/gpu", effect: "NoSchedule" };
  const body = { metadata: { name: "n1" }, spec: { taints: [taint] } };
  assert.equal((await call("POST", nodes, { ...as, body })).status, 201);
  const patch = (spec: object, subresource = "") =>
    call("PATCH", `${nodes}/n1${subresource}`, { ...as, body: { spec } });
  const message = 'nodes "n1" is forbidden: node "n1" is not allowed to modify taints';
  refused(await patch({ taints: null }), message);
  refused(await patch({ taints: [taint] }), message);
  refused(await patch({ taints: null }, "/status"), message);
  assert.equal((await patch({ unschedulable: true })).status, 200);
  assert.equal((await call("PATCH", `${nodes}/n1`, { body: { spec: { taints: null } } })).status, 200);
  await server.close();
});

test("a node reports the status of its pods, and chooses neither their labels nor their claims", async () => {
  const tested = await withAccount();
  const { server, call } = tested;
  await pod(tested, "own", "n1");
  await pod(tested, "foreign", "n2");
  const status = (name: string, body: object) => call("PATCH", `${pods}/${name}/status`, { ...as, body });
  const running = { status: { phase: "Running" } };
  assert.equal((await status("own", running)).status, 200);
  refused(
    await status("foreign", running),
    'pods "foreign" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself',
  );
  const own = 'pods "own" is forbidden: node "n1" cannot update ';
  refused(await status("own", { metadata: { labels: { app: "x" } } }), `${own}labels through pod status`);
  const resourceClaimStatuses = [{ name: "gpu", resourceClaimName: "stolen" }];
  refused(await status("own", { status: { resourceClaimStatuses } }), `${own}resource claim statues`);
  const extendedResourceClaimStatus = {
    resourceClaimName: "stolen",
    requestMappings: [{ containerName: "c", resourceName: "example.com/gpu", requestName: "r" }],
  };
  refused(
    await status("own", { status: { extendedResourceClaimStatus } }),
    `${own}extended resource claim status`,
  );
  await server.close();
});

test("a node deletes and evicts only its own pods", async () => {
  const tested = await withAccount();
  const { server, call } = tested;
  await pod(tested, "own", "n1");
  await pod(tested, "foreign", "n2");
  const message =
    'pods "foreign" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself';
  refused(await call("DELETE", `${pods}/foreign?gracePeriodSeconds=0`, as), message);
  const eviction = { ...as, body: { metadata: { name: "foreign" } } };
  refused(
    await call("POST", `${pods}/foreign/eviction`, eviction),
    'pods "foreign" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
  );
  assert.equal((await call("DELETE", `${pods}/own?gracePeriodSeconds=0`, as)).status, 200);
  await server.close();
});

test("a node creates only mirror pods that belong to it and refer to nothing", async () => {
  const { server, call } = await testServer();
  const node = await call("POST", nodes, { ...as, body: { metadata: { name: "n1" }, spec: {} } });
  const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: node.body.metadata.uid, controller: true };
  const create = (metadata: object, spec: object = {}) =>
    call("POST", pods, {
      ...as,
      body: {
        metadata: {
          name: "m",
          annotations: { "kubernetes.io/config.mirror": "h" },
          ownerReferences: [owner],
          ...metadata,
        },
        spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }], ...spec },
      },
    });
  const refuses = async (why: string, metadata: object, spec?: object) =>
    refused(await create(metadata, spec), `pods "m" is forbidden: ${why}`);
  // Admission asks first for the account that every pod but a mirror pod has.
  await call("POST", "/api/v1/namespaces/default/serviceaccounts", {
    body: { metadata: { name: "default" } },
  });
  await refuses(
    'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
    { annotations: {} },
  );
  await refuses('node "n1" can only create pods with spec.nodeName set to itself', {}, { nodeName: "n2" });
  const noOwner = 'node "n1" can only create pods with an owner reference set to itself';
  await refuses(noOwner, { ownerReferences: [] });
  await refuses(noOwner, { ownerReferences: [{ ...owner, name: "n2" }] });
  await refuses(`node n1 UID mismatch: expected u got ${owner.uid}`, {
    ownerReferences: [{ ...owner, uid: "u" }],
  });
  const cannot = 'node "n1" can not create pods that reference';
  const mirror = "a mirror pod may not reference";
  await refuses(`${mirror} service accounts`, {}, { serviceAccountName: "default" });
  await refuses(`${mirror} secrets`, {}, { volumes: [{ name: "s", secret: { secretName: "s" } }] });
  await refuses(`${cannot} configmaps`, {}, { volumes: [{ name: "m", configMap: { name: "m" } }] });
  const resourceClaims = [{ name: "g", resourceClaimTemplateName: "t" }];
  await refuses(`${cannot} resourceclaims`, {}, { resourceClaims });
  assert.equal((await create({})).status, 201);
  await server.close();
});

test("the server itself lets a driver write the slices of other nodes", async () => {
  const { server, call } = await testServer();
  const rules = [{ verbs: ["*"], apiGroups: ["resource.k8s.io"], resources: ["resourceslices"] }];
  const metadata = { name: "driver" };
  await call("POST", `${rbac}/clusterroles`, { body: { metadata, rules } });
  const user = "system:serviceaccount:default:driver";
  const subjects = [{ kind: "ServiceAccount", namespace: "default", name: "driver" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "driver" };
  await call("POST", `${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } });
  const on = (...names: string[]) => {
    const extra = { "authentication.kubernetes.io/node-name": names };
    const groups = ["system:serviceaccounts", "system:authenticated"];
    return { credential: { type: "user", user: { name: user, groups, extra } } } as const;
  };
  const slice = (name: string, where: object) => ({
    metadata: { name, labels: { a: "1" } },
    spec: {
      driver: "d.example.com",
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: [],
      ...where,
    },
  });
  // RBAC is all that limits it: what belongs to which node is for the driver's own policy to say.
  const one = on("n1");
  const other = slice("s2", { nodeName: "n2" });
  assert.equal((await call("POST", slices, { ...one, body: slice("s1", { nodeName: "n1" }) })).status, 201);
  assert.equal((await call("POST", slices, { ...one, body: other })).status, 201);
  const labels = { metadata: { labels: { a: "2" } } };
  assert.equal((await call("PATCH", `${slices}/s2`, { ...one, body: labels })).status, 200);
  assert.equal((await call("DELETE", `${slices}/s2`, one)).status, 200);
  assert.equal((await call("DELETE", `${slices}?fieldSelector=spec.nodeName=n1`, one)).status, 200);
  await server.close();
});

test("a name that is yet to be generated is not the node's own", async () => {
  const { server, call } = await withAccount();
  const metadata = { generateName: "n1" };
  refused(
    await call("POST", nodes, { ...as, body: { metadata } }),
    'nodes "n1" is forbidden: node "n1" is not allowed to modify node ""',
  );
  refused(
    await call("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", {
      ...as,
      body: { metadata },
    }),
    'leases.coordination.k8s.io "n1" is forbidden: can only access node lease with the same name as the requesting node',
  );
  await server.close();
});

test("a node does not choose what it is configured by", async () => {
  const { server, call } = await withAccount();
  const spec = { configSource: { configMap: { name: "c", namespace: "default", kubeletConfigKey: "k" } } };
  const body = { metadata: { name: "n1" } };
  refused(
    await call("POST", nodes, { ...as, body: { ...body, spec } }),
    'nodes "n1" is forbidden: node "n1" is not allowed to create pods with a non-nil configSource',
  );
  assert.equal((await call("POST", nodes, { ...as, body })).status, 201);
  refused(
    await call("PATCH", `${nodes}/n1`, { ...as, body: { spec } }),
    'nodes "n1" is forbidden: node "n1" is not allowed to update configSource to a new non-nil configSource',
  );
  await server.close();
});
