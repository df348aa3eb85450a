import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, type TestCluster, testCluster } from "../testing/cluster.ts";

const manifest = (command: string, more = ""): string => `
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - name: main
    image: any
    command: [bash, -c, '${command}']
${more}`;

describe("static pods", () => {
  let cluster: TestCluster;
  let node: Kubelet;
  const problems: string[] = [];
  const ref = { namespace: "default", name: "web-n1" };
  const file = (): string => join(cluster.rootDir("n1"), "etc/kubernetes/manifests/web.yaml");
  const becomes = (wanted: (pod: Pod) => boolean): Promise<Pod> => {
    const end = eventuallyPasses(async () => {
      await cluster.admin.resource(Pod).get(ref);
    });
    return end.then(() => podBecomes(cluster.admin, ref, wanted));
  };
  const running = ({ status }: Pod): boolean => status?.phase === "Running";
  before(async () => {
    cluster = await testCluster();
    const { log, ...options } = await cluster.nodeOptions("n1");
    const error = (fields: object): void => void problems.push(JSON.stringify(fields));
    node = await cluster.node("n1", { ...options, log: { ...log, error } });
  });
  after(() => cluster.close());

  function logs(): Promise<string> {
    const path = "/containerLogs/default/web-n1/main";
    const options = { host: "127.0.0.1", port: node.port, path, ca: cluster.authority.certificate };
    return new Promise((resolve, reject) => {
      const call = request({ ...options, ...cluster.clientCertificate }, async (response) =>
        resolve(Buffer.concat(await response.toArray()).toString("utf8")),
      );
      call.on("error", reject).end();
    });
  }

  test("run from a manifest, are seen in the API, and come back there when they are deleted", async () => {
    writeFileSync(file(), manifest("echo one; exec sleep 1000"));
    const mirror = await becomes(running);
    assert.equal(mirror.metadata.annotations?.["kubernetes.io/config.source"], "file");
    assert.equal(mirror.metadata.ownerReferences?.[0]?.kind, "Node");
    assert.equal(mirror.spec.nodeName, "n1");
    await eventuallyPasses(async () => assert.equal(await logs(), "one\n"));
    const id = mirror.status?.containerStatuses?.[0]?.containerID;
    await cluster.admin.resource(Pod).delete(ref, { gracePeriodSeconds: 0 });
    const again = await becomes((pod) => pod.metadata.uid !== mirror.metadata.uid && running(pod));
    // It ran on.
    assert.equal(again.status?.containerStatuses?.[0]?.containerID, id);
  });

  test("another manifest is another pod", async () => {
    const before = await becomes(running);
    writeFileSync(file(), manifest("echo two; exec sleep 1000"));
    const hash = "kubernetes.io/config.hash";
    await becomes(
      (pod) => pod.metadata.annotations?.[hash] !== before.metadata.annotations?.[hash] && running(pod),
    );
    await eventuallyPasses(async () => assert.equal(await logs(), "two\n"));
  });

  test("a manifest that is wrong, or wants what static pods may not have, is named", async () => {
    const broken = join(file(), "../broken.yaml");
    const cases: [text: string, problem: RegExp][] = [
      ["kind: Pod\n  x: [", /broken\.yaml/],
      [manifest("true", "  nonsense: 1\n"), /unknown field \\"spec\.nonsense\\"/],
      [
        manifest("true", "  resourceClaims: [{name: a, resourceClaimName: b}]\n"),
        /may not reference resourceclaims/,
      ],
      [
        manifest(
          "true",
          "  volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: e.com/s, keyType: ED25519, keyPath: k}}]}}]\n",
        ),
        /may not reference podcertificates/,
      ],
      [manifest("true", "  restartPolicy: Sometimes\n"), /spec\.restartPolicy/],
    ];
    for (const [text, problem] of cases) {
      writeFileSync(broken, text);
      await eventuallyPasses(async () =>
        assert.ok(
          problems.some((one) => problem.test(one)),
          problems.join("\n"),
        ),
      );
    }
    rmSync(broken);
    // The other runs on.
    assert.ok(running(await cluster.admin.resource(Pod).get(ref)));
  });

  test("go with their manifest", async () => {
    rmSync(file());
    await eventuallyPasses(async () => {
      await assert.rejects(cluster.admin.resource(Pod).get(ref), { code: 404 });
    });
  });
});
