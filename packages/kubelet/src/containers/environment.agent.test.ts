import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Event, Pod, type PodSpec, Service, ServiceAccount } from "@dray/api/core/v1";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  await cluster.admin.resource(Service).create({
    metadata: { namespace: "default", name: "web" },
    spec: { ports: [{ name: "http", port: 80 }] },
  });
  await cluster.node("n1", { dns: { servers: [] } });
});
after(() => cluster.close());

/** Runs a pod to its end. Returns its termination message. */
async function lastWord(name: string, command: string, spec: Partial<PodSpec> = {}): Promise<string> {
  const { containers: [own] = [], ...rest } = spec;
  const containers = [
    {
      name: "main",
      command: ["bash", "-c", `{ ${command} ; } 2>&1; exit 1`],
      terminationMessagePolicy: "FallbackToLogsOnError",
      ...own,
    },
  ];
  const draft = podOn("n1", name, { restartPolicy: "Never", ...rest, containers });
  await cluster.admin.resource(Pod).create(draft);
  const wanted = (pod: Pod): boolean => pod.status?.phase === "Failed";
  const pod = await podBecomes(cluster.admin, { namespace: "default", name }, wanted);
  return pod.status?.containerStatuses?.[0]?.state?.terminated?.message ?? "";
}

test("Services of its namespace, which its own variables can name", async () => {
  const { spec } = await cluster.admin.resource(Service).get({ namespace: "default", name: "web" });
  const env = [
    { name: "URL", value: "http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT_HTTP)" },
    { name: "HOSTS", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.hostIPs" } } },
    {
      name: "ACCOUNT",
      valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "spec.serviceAccountName" } },
    },
  ];
  const command = 'echo "$URL $HOSTS $ACCOUNT"; env | grep -c ^WEB_';
  const text = await lastWord("links", command, { containers: [{ name: "main", env }] });
  assert.equal(text, `http://${spec?.clusterIP}:80 127.0.0.1 default\n8\n`);
  const none = { enableServiceLinks: false, containers: [{ name: "main", env }] };
  assert.equal(
    await lastWord("nolinks", 'echo "$URL"', none),
    "http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT_HTTP)\n",
  );
});

test("variables of a file that an init container has written (fileKeyRef)", async () => {
  const volume = { volumes: [{ name: "data", emptyDir: {} }] };
  const from = (path: string, optional = false) => [
    { name: "TOKEN", valueFrom: { fileKeyRef: { volumeName: "data", path, key: "TOKEN", optional } } },
  ];
  const write = (command: string) => [
    {
      name: "write",
      command: ["bash", "-c", command, "/env-data/file"],
      volumeMounts: [{ name: "data", mountPath: "/env-data" }],
    },
  ];
  const shown = await lastWord("file", 'echo "got $TOKEN"', {
    ...volume,
    initContainers: write('echo "TOKEN=\'a b\'" >"$0"'),
    containers: [{ name: "main", env: from("file") }],
  });
  assert.equal(shown, "got a b\n");
  // A path that is not a regular file of the volume is not read.
  await cluster.admin.resource(Pod).create(
    podOn("n1", "outside", {
      restartPolicy: "Never",
      ...volume,
      initContainers: write('ln -s /etc/hostname "$0"'),
      containers: [{ name: "main", command: ["true"], env: from("file") }],
    }),
  );
  const { status } = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "outside" },
    (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
  );
  const waiting = status?.containerStatuses?.[0]?.state?.waiting;
  assert.equal(waiting?.reason, "CreateContainerConfigError");
  assert.match(
    waiting?.message ?? "",
    /^couldn't parse env file: file "file" of volume "data": subPath "file" leads out of the volume$/,
  );
});

test("/etc/hosts with its names and aliases", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("not root");
  const text = await lastWord("hosts", "cat /etc/hosts; hostname >/dev/null; echo $HOSTNAME", {
    hostname: "me",
    subdomain: "there",
    hostAliases: [{ ip: "1.2.3.4", hostnames: ["friend"] }],
  });
  const pod = await cluster.admin.resource(Pod).get({ namespace: "default", name: "hosts" });
  const lines = text.split("\n");
  assert.ok(lines.includes(`${pod.status?.podIP}\tme.there.default.svc.cluster.local\tme`), text);
  assert.deepEqual(lines.slice(-4), ["# Entries added by HostAliases.", "1.2.3.4\tfriend", "me", ""]);
});

test("an event of a pod reports that its node lacks cluster DNS", async () => {
  await lastWord("dns", "true");
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  const reasons = items
    .filter(({ involvedObject }) => involvedObject.name === "dns")
    .map(({ reason }) => reason);
  assert.ok(reasons.includes("MissingClusterDNS"), reasons.join());
});
