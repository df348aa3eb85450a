import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Draft } from "@dray/api";
import { Node, Pod, Service } from "@dray/api/core/v1";
import { RoleBinding } from "@dray/api/rbac/v1";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { lackOfContainers } from "../../../../kubelet/src/runtime/oci/testing/runtime.ts";
import { writeImages } from "../../../../kubelet/src/testing/test-image.ts";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder, processesWith } from "../../testing/program.ts";

const missing = await lackOfContainers();
const image = "example.com/app:1";

/** The paths of this Node and the libraries of the machine, for a pod. */
const programs = [process.execPath, "/lib", "/lib64", "/usr/lib"].filter((path) => existsSync(path));

/**
 * Lists the pods of the namespace at the address of the Service `kubernetes` and by its name, as client-go
 * would.
 */
const clientScript = `
const { readFileSync, writeFileSync } = require("node:fs");
const folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
const read = (host) => new Promise((resolve, reject) => {
  const headers = { authorization: "Bearer " + readFileSync(folder + "token", "utf8") };
  const url = "https://" + host + "/api/v1/namespaces/" + readFileSync(folder + "namespace", "utf8") + "/pods";
  require("node:https").get(url, { ca: readFileSync(folder + "ca.crt"), headers }, async (response) => {
    let text = "";
    for await (const chunk of response) text += chunk;
    const { items } = JSON.parse(text);
    if (items === undefined) reject(new Error(text));
    else resolve(items.map(({ metadata }) => metadata.name).sort());
  }).on("error", reject);
});
/** Rules and names follow the endpoints. */
const web = async (host) => {
  for (;;) {
    try {
      return await (await fetch("http://" + host)).text();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};
(async () => {
  const { KUBERNETES_SERVICE_HOST: address, KUBERNETES_SERVICE_PORT: port } = process.env;
  const result = { search: readFileSync("/etc/resolv.conf", "utf8") };
  for (const host of [address + ":" + port, "kubernetes.default:443"]) result[host] = await read(host);
  for (const host of ["front", "db-0.db:8080"]) result[host] = await web(host);
  writeFileSync("/dev/termination-log", JSON.stringify(result));
})().catch((error) => writeFileSync("/dev/termination-log", JSON.stringify({ error: error.stack })));
`;

const serverScript = `require("node:http").createServer((_, response) => response.end(require("node:os").hostname())).listen(8080);`;

/** A pod on the image that runs a script of Node. */
function scriptPod(metadata: { name: string; labels?: Record<string, string> }, script: string): Draft<Pod> {
  return {
    metadata: { namespace: "default", ...metadata },
    spec: {
      restartPolicy: "Never",
      volumes: programs.map((path, i) => ({ name: `v${i}`, hostPath: { path } })),
      containers: [
        {
          name: "c",
          image,
          imagePullPolicy: "Never",
          command: [process.execPath, "-e", script],
          volumeMounts: programs.map((mountPath, i) => ({ name: `v${i}`, mountPath, readOnly: true })),
        },
      ],
    },
  };
}

test(
  "up --runtime oci runs images in real containers, and down leaves nothing of them",
  missing === undefined ? {} : { skip: missing },
  () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, "data");
      const data = ["--data-dir", dataDir];
      const run = async (...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await dray([...args, ...data]);
        assert.equal(code, 0, stderr);
        return stdout;
      };
      const { runDir, ociDir } = layoutOf(dataDir);
      try {
        await run("up", "--detach", "--runtime", "oci", "--nodes", "2");
        writeImages(join(folder, "app.tar"), [{ name: image, config: { Cmd: ["sleep", "1000"] } }]);
        assert.match(await run("image", "load", join(folder, "app.tar")), /^example\.com\/app:1: sha256:/);
        assert.match(await run("image", "list"), /^IMAGE +SIZE\nexample\.com\/app:1 +\d\.\d MiB\n$/);
        const mapped = await dray(["image", "map", "a", "b", ...data]);
        assert.match(mapped.stderr, /\(--runtime oci\): commands stand for images only with --runtime host/);
        const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
        try {
          const pods = client.resource(Pod);
          for (const node of ["worker-1", "worker-2"])
            await pods.create({
              apiVersion: "v1",
              kind: "Pod",
              metadata: { namespace: "default", name: node },
              spec: { nodeName: node, containers: [{ name: "c", image, imagePullPolicy: "Never" }] },
            });
          const running = async (): Promise<Pod[]> =>
            (await pods.list({ namespace: "default" })).items.filter(
              ({ status }) => status?.phase === "Running",
            );
          await eventually("both run", async () => (await running()).length === 2);
          const addresses = (await running()).map(({ status }) => status?.podIP);
          assert.equal(new Set(addresses).size, 2, `${addresses}`);
          const nodes = (await client.resource(Node).list()).items;
          for (const { metadata, spec } of nodes) {
            const prefix = (spec?.podCIDR ?? "").replace(/\.\d+\.0\/23$/, "");
            const { status } = await pods.get({ namespace: "default", name: metadata.name });
            assert.ok(status?.podIP?.startsWith(`${prefix}.`), `${status?.podIP} ${spec?.podCIDR}`);
          }
          // By address and by name a pod reaches the API server, as its service account.
          const ref = { namespace: "default", name: "client" };
          await client.resource(RoleBinding).create({
            metadata: { namespace: "default", name: "view" },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
            subjects: [{ kind: "ServiceAccount", namespace: "default", name: "default" }],
          });
          // A Service with a selector responds, and a headless one has names for its pods, as those of a
          // StatefulSet.
          const server = scriptPod({ name: "db-0", labels: { app: "db" } }, serverScript);
          Object.assign(server.spec, { hostname: "db-0", subdomain: "db" });
          await pods.create(server);
          for (const [name, more] of [
            ["front", { ports: [{ port: 80, targetPort: 8080 }] }],
            ["db", { clusterIP: "None", ports: [{ port: 8080 }] }],
          ] as const)
            await client.resource(Service).create({
              metadata: { namespace: "default", name },
              spec: { selector: { app: "db" }, ...more, ports: [...more.ports] },
            });
          await pods.create(scriptPod({ name: ref.name }, clientScript));
          const message = async (): Promise<string | undefined> =>
            (await pods.get(ref)).status?.containerStatuses?.[0]?.state?.terminated?.message;
          await eventually("the client ends", async () => (await message()) !== undefined);
          const items = ["worker-1", "worker-2", "client", "db-0"];
          const { search, ...read } = JSON.parse((await message()) ?? "{}") as Record<string, unknown>;
          assert.deepEqual(read, {
            "10.0.0.1:443": items.toSorted(),
            "kubernetes.default:443": items.toSorted(),
            front: "db-0",
            "db-0.db:8080": "db-0",
          });
          assert.match(
            `${search}`,
            /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/,
          );
        } finally {
          client.close();
        }
        await run("down");
        assert.deepEqual(processesWith(dataDir), []);
        assert.deepEqual(readdirSync(join(ociDir, "images/roots")), []);
        assert.doesNotMatch(readFileSync("/proc/self/mountinfo", "utf8"), new RegExp(`${folder}|${runDir}`));
        assert.equal(existsSync(runDir), false);
        // A loaded image is still there after a restart of the cluster.
        assert.match(await run("image", "list"), /example\.com\/app:1/);
      } finally {
        await run("down", "--delete-data");
      }
      assert.equal(existsSync(dataDir), false);
    }),
);
