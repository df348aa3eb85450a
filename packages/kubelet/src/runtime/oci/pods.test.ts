import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { silentLog } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podBecomes, podOn, type TestCluster, testCluster } from "../../testing/cluster.ts";
import { writeImages } from "../../testing/test-image.ts";
import { destroyOciNode } from "./clean-up.ts";
import { ociRuntime } from "./create.ts";
import { OciImages } from "./images/service.ts";
import { testImage } from "./testing/image.ts";
import { type TestRegistry, testRegistry } from "./testing/registry.ts";
import { lackOfContainers } from "./testing/runtime.ts";

const missing = await lackOfContainers();
const image = "localhost/busybox:1";

test(
  "the pods of two agents run in real containers",
  missing === undefined ? {} : { skip: missing },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "dray-oci-"));
    const images = await OciImages.open({ directory: join(folder, "images"), now: Date.now });
    writeImages(join(folder, "image.tar"), [{ name: image, config: { Cmd: ["sleep", "1000"] } }]);
    await images.importImages(join(folder, "image.tar"));
    const registry = await testRegistry();
    const cluster = await testCluster();
    const settings = (node: string) => ({
      images,
      networkDir: join(folder, "network"),
      stateDir: join(folder, node),
    });
    t.after(async () => {
      await cluster.close();
      await registry.close();
      for (const node of ["one", "two"]) await destroyOciNode(join(folder, node), silentLog);
      images.close();
      rmSync(folder, { recursive: true, force: true });
    });
    for (const node of ["one", "two"]) await cluster.node(node, { runtime: ociRuntime(settings(node)) });
    await cluster.admin
      .resource(ServiceAccount)
      .create({ metadata: { namespace: "default", name: "default" } });
    await reachOtherNode(cluster);
    await pullImages(cluster, registry);
    await mountImages(cluster, registry);
    const pods = cluster.admin.resource(Pod);
    for (const name of ["server", "client", "pulled", "missing", "reader"])
      await pods.delete({ namespace: "default", name });
    await eventuallyPasses(async () =>
      assert.deepEqual((await pods.list({ namespace: "default" })).items, []),
    );
    await images.collect();
  },
);

/** A pod reaches the server of a pod of the other node. */
async function reachOtherNode(cluster: TestCluster): Promise<void> {
  await cluster.admin.resource(Pod).create(
    podOn("one", "server", {
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", "while :; do echo $POD_IP | nc -l -p 8080; done"],
          env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
        },
      ],
    }),
  );
  const server = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "server" },
    (pod) => pod.status?.phase === "Running" && pod.status.podIP !== undefined,
  );
  const address = server.status?.podIP ?? "";
  assert.match(address, /^10\./);
  await cluster.admin.resource(Pod).create(
    podOn("two", "client", {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          image,
          command: [
            "sh",
            "-c",
            `until nc ${address} 8080 >/dev/termination-log; do sleep 0.1; done; id -u >>/dev/termination-log`,
          ],
          securityContext: {
            runAsUser: 1234,
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
          },
          resources: { limits: { memory: "64Mi" as never } },
        },
      ],
    }),
  );
  const client = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "client" },
    (pod) => pod.status?.phase === "Succeeded",
  );
  assert.equal(client.status?.containerStatuses?.[0]?.state?.terminated?.message, `${address}\n1234\n`);
}

/** A missing image is pulled, and a failed pull is reported. */
async function pullImages(cluster: TestCluster, registry: TestRegistry): Promise<void> {
  registry.push(testImage([[{ name: "x", type: "file" }]], { Cmd: ["/none"] }), "v1");
  await cluster.admin
    .resource(Pod)
    .create(podOn("two", "pulled", { containers: [{ name: "main", image: `${registry.host}/a:v1` }] }));
  await podBecomes(cluster.admin, { namespace: "default", name: "pulled" }, (pod) =>
    /exec: .*no such file/.test(JSON.stringify(pod.status?.containerStatuses)),
  );
  await cluster.admin
    .resource(Pod)
    .create(podOn("two", "missing", { containers: [{ name: "main", image: `${registry.host}/b:v2` }] }));
  await podBecomes(cluster.admin, { namespace: "default", name: "missing" }, (pod) =>
    /ErrImagePull|ImagePullBackOff/.test(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ""),
  );
}

/** An image as a volume: read-only, not executable, and links stay in it. */
async function mountImages(cluster: TestCluster, registry: TestRegistry): Promise<void> {
  registry.push(
    testImage([
      [
        { name: "models/", type: "directory" },
        { name: "models/weights", type: "file", content: "heavy" },
        { name: "models/run", type: "file", mode: 0o755, content: "#!/bin/sh\necho ran\n" },
        { name: "latest", type: "symlink", linkName: "/models" },
      ],
    ]),
    "data",
  );
  const script = [
    "cat /all/models/weights /sub/weights",
    "/sub/run || echo not executed",
    "echo x >/all/new || echo not written",
  ].join("; ");
  await cluster.admin.resource(Pod).create(
    podOn("one", "reader", {
      restartPolicy: "Never",
      volumes: [
        { name: "data", image: { reference: `${registry.host}/a:data`, pullPolicy: "IfNotPresent" } },
        { name: "none", image: { reference: `${registry.host}/a:none`, pullPolicy: "Never" } },
      ],
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", `(${script}) >/dev/termination-log 2>/dev/null`],
          volumeMounts: [
            { name: "data", mountPath: "/all" },
            { name: "data", mountPath: "/sub", subPath: "latest" },
          ],
        },
        { name: "waits", image, volumeMounts: [{ name: "none", mountPath: "/none" }] },
        { name: "lost", image, volumeMounts: [{ name: "data", mountPath: "/lost", subPath: "lost" }] },
      ],
    }),
  );
  const reasons = (pod: Pod): Record<string, string | undefined> =>
    Object.fromEntries(
      (pod.status?.containerStatuses ?? []).map(({ name, state }) => [
        name,
        state?.terminated?.message ?? `${state?.waiting?.reason}: ${state?.waiting?.message}`,
      ]),
    );
  const reader = await podBecomes(cluster.admin, { namespace: "default", name: "reader" }, (pod) => {
    const { main, waits, lost } = reasons(pod);
    return [main, waits, lost].every((text) => text !== undefined && !/ContainerCreating/.test(text));
  });
  const { main, waits, lost } = reasons(reader);
  assert.equal(main, "heavyheavynot executed\nnot written\n");
  assert.match(waits ?? "", /^ErrImageNeverPull: .*a:none" is not present with pull policy of Never/);
  assert.match(lost ?? "", /^CreateContainerError: subPath "lost" does not exist in the image ".*a:data"$/);
}
