import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Deployment, StatefulSet } from "@dray/api/apps/v1";
import { Event, Pod, type PodSpec, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { RoleBinding } from "@dray/api/rbac/v1";
import { type Client, createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { eventually, eventuallyPasses } from "@dray/testing/eventually";
import { drayArguments, logsOf } from "../harness.ts";
import { checkAutoscaled, createAutoscaled } from "./autoscaling.ts";

/** An ordinary user: the one that runs the tests, or nobody. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const namespace = "default";
const script = readFileSync(join(import.meta.dirname, "service-client.js"), "utf8");

/** Program of the StatefulSet: returns the name of the pod. */
const database =
  'import("node:http").then(({ createServer }) => createServer((_, response) => response.end(process.env.HOSTNAME)).listen(5432, process.env.DRAY_POD_IP))';

/** Reason to skip; false if an ordinary user can run this Node. */
export const withoutOrdinaryUser: string | false =
  spawnSync(process.execPath, ["-e", ""], user).status !== 0 && "other users cannot run this Node";

const programPod = (args: string[], values: Partial<PodSpec> = {}): PodSpec => ({
  containers: [{ name: "main", image: "example.com/node:1", args }],
  ...values,
});

/** The objects that a newcomer makes: `kubectl create deployment`, `kubectl expose`, and a StatefulSet. */
async function create(api: Client): Promise<void> {
  const labels = (app: string) => ({ selector: { matchLabels: { app } }, metadata: { labels: { app } } });
  const [web, db] = [labels("web"), labels("db")];
  await api.resource(Deployment).create({
    metadata: { namespace, name: "web" },
    spec: {
      ...{ replicas: 2, selector: web.selector },
      template: { metadata: web.metadata, spec: { containers: [{ name: "nginx", image: "nginx" }] } },
    },
  });
  await api.resource(Service).create({
    metadata: { namespace, name: "web" },
    spec: { selector: { app: "web" }, ports: [{ protocol: "TCP", port: 80, targetPort: 80 }] },
  });
  await api.resource(Service).create({
    metadata: { namespace, name: "db" },
    spec: { clusterIP: "None", selector: { app: "db" }, ports: [{ port: 5432 }] },
  });
  await api.resource(StatefulSet).create({
    metadata: { namespace, name: "db" },
    spec: {
      ...{ serviceName: "db", replicas: 2, selector: db.selector },
      template: { metadata: db.metadata, spec: programPod(["-e", database]) },
    },
  });
  await api.resource(RoleBinding).create({
    metadata: { namespace, name: "view" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", namespace, name: "default" }],
  });
}

/** Output of the script. */
interface Findings {
  readonly endpoints: readonly string[];
  readonly byAddress: string;
  readonly hasNames: boolean;
  readonly byName: Readonly<Record<string, string>>;
}

async function findings(api: Client): Promise<Findings> {
  const spec = programPod(["--input-type=module", "-e", script], { restartPolicy: "Never" });
  const [container] = spec.containers;
  Object.assign(container!, {
    env: [{ name: "ACCOUNT", value: "/var/run/secrets/kubernetes.io/serviceaccount" }],
  });
  await api.resource(Pod).create({ metadata: { namespace, name: "client" }, spec });
  const ended = await eventually("the client ends", async () => {
    const { status } = await api.resource(Pod).get({ namespace, name: "client" });
    return ["Succeeded", "Failed"].includes(status?.phase ?? "") && status;
  });
  const log = await api.text("GET", `/api/v1/namespaces/${namespace}/pods/client/log`);
  assert.equal(ended.phase, "Succeeded", log);
  return JSON.parse(log.trim().split("\n").at(-1)!) as Findings;
}

/**
 * On a cluster of an ordinary user: a Deployment of nginx with a Service, a StatefulSet with a headless one,
 * and a pod that finds endpoints in the API and connects by address and by name; a Deployment that an
 * autoscaler scales by what its pods use.
 */
export async function tryServices(): Promise<void> {
  const folder = mkdtempSync("/tmp/dray-svc-");
  const dataDir = join(folder, "data");
  const env = { PATH: process.env["PATH"], HOME: folder };
  const dray = (...args: string[]): void => {
    const options = { ...user, env, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, [...drayArguments, ...args], options);
    assert.equal(status, 0, `dray ${args[0]}: ${stdout}${stderr}${logsOf(dataDir)}`);
  };
  try {
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
    dray("up", "--detach", "--data-dir", dataDir, "--image", `example.com/node:*=${process.execPath}`);
    const { connection } = await loadKubeconfig({ file: join(dataDir, "kubeconfig") });
    const api = createClient({ transport: httpsTransport(connection), userAgent: "first-hour/1" });
    try {
      await create(api);
      await createAutoscaled(api);
      await check(api);
      await checkAutoscaled(api);
    } finally {
      api.close();
    }
  } finally {
    dray("down", "--data-dir", dataDir, "--delete-data");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function check(api: Client): Promise<void> {
  await eventuallyPasses(async () => {
    const { items } = await api.resource(EndpointSlice).list({ namespace });
    const ready = items.flatMap(({ metadata, endpoints }) =>
      (endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready)
        .map(() => metadata.labels?.["kubernetes.io/service-name"]),
    );
    assert.deepEqual(ready.sort(), ["db", "db", "kubernetes", "web", "web"]);
  });
  const { endpoints, byAddress, hasNames, byName } = await findings(api);
  assert.equal(endpoints.length, 2);
  assert.match(byAddress, /<h1>Welcome/);
  // Without mount name spaces a pod has the machine's hosts file.
  if (hasNames) {
    for (const name of ["web", "web.default.svc.cluster.local"])
      assert.match(byName[name] ?? "", /<h1>Welcome/);
    assert.equal(byName["db-0.db"], "db-0");
    assert.equal(byName["db-1.db.default.svc"], "db-1");
  }
  const proxied = await api.text("GET", `/api/v1/namespaces/${namespace}/services/web/proxy/`);
  assert.match(proxied, /<h1>Welcome/);
  const { items } = await api.resource(Event).list({ namespace });
  const warnings = items.filter(
    // An autoscaler warns until there are figures.
    ({ type, involvedObject: { kind } }) =>
      type === "Warning" && kind !== "Pod" && kind !== "HorizontalPodAutoscaler",
  );
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [],
    "nothing is refused",
  );
}
