import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ConfigMap, Event, Pod, type PodSpec, Secret, ServiceAccount } from "@dray/api/core/v1";
import type { Kubelet } from "../index.ts";
import { isolations } from "../testing/agent.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { eventually } from "../testing/eventually.ts";

for (const isolation of isolations.filter((one) => one === "auto" || one === "plain"))
  describe(`isolation ${isolation}`, () => {
    let cluster: TestCluster;
    let node: Kubelet;
    before(async () => {
      cluster = await testCluster();
      const { admin } = cluster;
      await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name: "default" } });
      await admin.resource(ConfigMap).create({
        metadata: { namespace: "default", name: "settings" },
        data: { COLOUR: "blue", file: "text\n" },
      });
      await admin.resource(ConfigMap).create({
        metadata: { namespace: "default", name: "kube-root-ca.crt" },
        data: { "ca.crt": "CA" },
      });
      await admin.resource(Secret).create({
        metadata: { namespace: "default", name: "key" },
        data: { password: Buffer.from("open sesame").toString("base64") },
      });
      node = await cluster.node("n1", {
        isolation,
        images: [{ pattern: "*/known:*", command: ["bash", "-c", "echo mapped $0 $1"] }],
      });
    });
    after(() => cluster.close());

    async function run(name: string, spec: Partial<PodSpec> & Pick<PodSpec, "containers">): Promise<void> {
      await cluster.admin.resource(Pod).create(podOn("n1", name, spec));
    }
    const becomes = (name: string, wanted: (pod: Pod) => boolean) =>
      podBecomes(cluster.admin, { namespace: "default", name }, wanted);
    const finished = (pod: Pod): boolean => ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
    const logs = (path: string, first = (): void => {}): Promise<{ status: number; text: string }> =>
      new Promise((resolve, reject) => {
        const call = request(
          {
            host: "127.0.0.1",
            port: node.port,
            path: `/containerLogs/default/${path}`,
            ca: cluster.authority.certificate,
            ...cluster.clientCertificate,
          },
          (response) => {
            let text = "";
            response.setEncoding("utf8").on("data", (chunk: string) => {
              text += chunk;
              first();
            });
            response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
          },
        );
        call.on("error", reject);
        call.end();
      });
    async function events(name: string): Promise<string[]> {
      const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
      return items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ reason, message }) => `${reason}: ${message}`);
    }

    // Otherwise a silent fallback to plain would leave name spaces untested.
    test("containers are kept apart wherever the machine has mount name spaces", (context) => {
      const plain = node.limits.some((limit) => limit.includes("volumes are not at their paths"));
      if (isolation === "plain") return assert.ok(plain);
      if (process.getuid?.() !== 0 || spawnSync("unshare", ["--mount", "true"]).status !== 0)
        return context.skip("not root, or no unshare");
      assert.ok(!plain);
    });

    test("a pod that ends shows how: exit code, reason, phase, conditions", async () => {
      const main = (command: string) => ({ name: "main", command: ["bash", "-c", command] });
      await run("good", { restartPolicy: "Never", containers: [main("exit 0")] });
      await run("bad", { restartPolicy: "Never", containers: [main("exit 3")] });
      const good = await becomes("good", finished);
      assert.equal(good.status?.phase, "Succeeded");
      assert.equal(good.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Completed");
      assert.equal(good.status?.conditions?.find(({ type }) => type === "Ready")?.reason, "PodCompleted");
      const bad = await becomes("bad", finished);
      assert.equal(bad.status?.phase, "Failed");
      assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
      assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Error");
    });

    test("environment: literals, references, expansion, nothing of the agent's own", async () => {
      process.env["AGENT_SECRET"] = "mine";
      await run("env", {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            command: ["env"],
            resources: { limits: { cpu: "1500m", memory: "64Mi" }, requests: { cpu: "1m", memory: "1Mi" } },
            envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }],
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "$(A)-$(NOPE)-$$(A)" },
              { name: "NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
              { name: "IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } },
              { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "0" } } },
              { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "key", key: "password" } } },
            ],
          },
        ],
      });
      const pod = await becomes("env", finished);
      const { text } = await logs("env/main");
      const lines = text.split("\n");
      for (const line of [
        "A=1",
        "B=1-$(NOPE)-$(A)",
        "NAME=env",
        "CPU=2",
        "PASSWORD=open sesame",
        "P_COLOUR=blue",
        `IP=${pod.status?.podIP}`,
        `DRAY_POD_IP=${pod.status?.podIP}`,
        "KUBERNETES_SERVICE_PORT=6443",
        "HOSTNAME=env",
      ])
        assert.ok(lines.includes(line), `${line} in ${text}`);
      assert.ok(!text.includes("AGENT_SECRET"));
    });

    test("a missing config map is a CreateContainerConfigError until it is there", async () => {
      await run("config", {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            command: ["true"],
            env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "later", key: "x" } } }],
          },
        ],
      });
      const waiting = await becomes(
        "config",
        (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
      );
      assert.deepEqual(waiting.status?.containerStatuses?.[0]?.state?.waiting, {
        reason: "CreateContainerConfigError",
        message: 'configmap "later" not found',
      });
      await cluster.admin
        .resource(ConfigMap)
        .create({ metadata: { namespace: "default", name: "later" }, data: { x: "1" } });
      assert.equal((await becomes("config", finished)).status?.phase, "Succeeded");
    });

    test("an image without command or mapping waits and says what to do; a mapped one runs its command", async () => {
      await run("unknown", { containers: [{ name: "main", image: "registry.example/unknown:1" }] });
      const pod = await becomes(
        "unknown",
        (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
      );
      assert.equal(pod.status?.phase, "Pending");
      assert.equal(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason, "ErrImageNeverPull");
      assert.match(
        pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
        /--image 'registry.example\/unknown:1=COMMAND'/,
      );
      await eventually(async () =>
        assert.ok((await events("unknown")).some((event) => /^Failed: .*--image/.test(event))),
      );
      await run("known", {
        restartPolicy: "Never",
        containers: [
          { name: "main", image: "registry.example/known:1", command: ["ignored"], args: ["one", "two"] },
        ],
      });
      await becomes("known", finished);
      assert.equal((await logs("known/main")).text, "mapped one two\n");
    });

    test("a command that does not exist: StartError with the name", async () => {
      await run("nocommand", {
        restartPolicy: "Never",
        containers: [{ name: "main", command: ["no-such-program"] }],
      });
      const pod = await becomes("nocommand", finished);
      const terminated = pod.status?.containerStatuses?.[0]?.state?.terminated;
      assert.equal(terminated?.reason, "StartError");
      assert.equal(terminated?.exitCode, 128);
      assert.match(terminated?.message ?? "", /"no-such-program": executable file not found in \$PATH/);
    });

    test("volumes are at their paths, and nothing is made on the host", async () => {
      const outside = mkdtempSync("/tmp/dk-host-");
      const paths = ["/dray-data", "/var/run/dray-host", "/etc/dray-settings", "/var/lib/kubelet/plugins"];
      const missing = paths.filter((path) => !existsSync(path));
      const show = (...args: string[]) => [
        "bash",
        "-c",
        'for f in "$@"; do echo "$(cat "$f")"; done',
        "show",
        ...args,
      ];
      await run("volumes", {
        restartPolicy: "Never",
        volumes: [
          { name: "data", emptyDir: {} },
          { name: "host", hostPath: { path: outside, type: "Directory" } },
          { name: "plugins", hostPath: { path: "/var/lib/kubelet/plugins", type: "DirectoryOrCreate" } },
          { name: "settings", configMap: { name: "settings", defaultMode: 0o644 } },
          {
            name: "info",
            downwardAPI: {
              defaultMode: 0o644,
              items: [{ path: "name", fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } }],
            },
          },
        ],
        initContainers: [
          {
            name: "write",
            command: [
              "bash",
              "-c",
              'echo data >"$1"; echo host >"$2"; echo plugin >"$3"',
              "write",
              "/dray-data/x",
              "/var/run/dray-host/x",
              "/var/lib/kubelet/plugins/x",
            ],
            volumeMounts: [
              { name: "data", mountPath: "/dray-data" },
              { name: "host", mountPath: "/var/run/dray-host" },
              { name: "plugins", mountPath: "/var/lib/kubelet/plugins" },
            ],
          },
        ],
        containers: [
          {
            name: "read",
            command: show("/dray-data/x", "/etc/dray-settings/file", "/etc/dray-info/name"),
            volumeMounts: [
              { name: "data", mountPath: "/dray-data", readOnly: true },
              { name: "settings", mountPath: "/etc/dray-settings" },
              { name: "info", mountPath: "/etc/dray-info" },
            ],
          },
        ],
      });
      const pod = await becomes("volumes", finished);
      assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
      assert.equal((await logs("volumes/read")).text, "data\ntext\nvolumes\n");
      assert.equal(readFileSync(join(outside, "x"), "utf8"), "host\n");
      assert.equal(
        readFileSync(join(cluster.rootDir("n1"), "var/lib/kubelet/plugins/x"), "utf8"),
        "plugin\n",
      );
      for (const path of missing) assert.ok(!existsSync(path), path);
      rmSync(outside, { recursive: true });
    });

    test("the service account's token, CA and namespace are there", async () => {
      await run("token", {
        restartPolicy: "Never",
        automountServiceAccountToken: true,
        containers: [
          {
            name: "main",
            command: [
              "bash",
              "-c",
              // Without a mount name space, a kubeconfig names the folder.
              'if [ -n "$KUBECONFIG" ]; then folder=$(grep -o "[^\\"]*/ca.crt" "$KUBECONFIG"); cd "$(dirname "$folder")";\n' +
                'else cd "$FOLDER"; fi; cat namespace; echo; cat ca.crt; echo; cut -d. -f2 token',
            ],
            env: [{ name: "FOLDER", value: "/var/run/secrets/kubernetes.io/serviceaccount" }],
          },
        ],
      });
      const pod = await becomes("token", finished);
      const [namespace, ca, payload] = (await logs("token/main")).text.split("\n");
      assert.equal(namespace, "default", JSON.stringify(pod.status));
      assert.equal(ca, "CA");
      const claims = JSON.parse(Buffer.from(payload ?? "", "base64url").toString());
      assert.equal(claims.sub, "system:serviceaccount:default:default");
      assert.equal(claims["kubernetes.io"].pod.uid, pod.metadata.uid);
    });

    test("an ephemeral container runs beside the others, once, and its end is told", async () => {
      const never = { image: "any", terminationMessagePolicy: "FallbackToLogsOnError" };
      await run("debugged", { containers: [{ name: "main", command: ["sleep", "1000"] }] });
      await becomes("debugged", (pod) => pod.status?.phase === "Running");
      await cluster.admin.resource(Pod).patch(
        { namespace: "default", name: "debugged" },
        "strategic",
        {
          spec: {
            ephemeralContainers: [
              {
                ...never,
                name: "look",
                command: ["bash", "-c", "echo seen; exit 3"],
                imagePullPolicy: "Always",
              },
            ],
          },
        },
        { subresource: "ephemeralcontainers" },
      );
      const { status } = await becomes(
        "debugged",
        (pod) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
      );
      const [look] = status?.ephemeralContainerStatuses ?? [];
      assert.equal(look?.state?.terminated?.exitCode, 3);
      assert.equal(look?.state?.terminated?.message, "seen\n");
      assert.equal(look?.restartCount, 0);
      assert.equal(status?.phase, "Running");
      assert.deepEqual(await logs("debugged/look"), { status: 200, text: "seen\n" });
      await cluster.admin.resource(Pod).delete({ namespace: "default", name: "debugged" });
    });

    test("another image restarts a container, whatever the policy is", async () => {
      const main = { name: "main", command: ["sleep", "1000"] };
      await run("updated", { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers: [main] });
      await becomes("updated", (pod) => pod.status?.phase === "Running");
      const change = { spec: { containers: [{ name: "main", image: "other:2" }] } };
      await cluster.admin.resource(Pod).patch({ namespace: "default", name: "updated" }, "strategic", change);
      const { status } = await becomes("updated", (pod) => {
        const [now] = pod.status?.containerStatuses ?? [];
        return now?.restartCount === 1 && now.state?.running !== undefined;
      });
      assert.equal(status?.containerStatuses?.[0]?.image, "other:2");
      assert.ok(
        (await events("updated")).includes("Killing: Container main definition changed, will be restarted"),
      );
      await cluster.admin.resource(Pod).delete({ namespace: "default", name: "updated" });
    });

    test("a container that crashes is started again at once, then after a back-off", async () => {
      await run("crash", { containers: [{ name: "main", command: ["bash", "-c", "exit 7"] }] });
      const pod = await becomes(
        "crash",
        (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CrashLoopBackOff",
      );
      const status = pod.status?.containerStatuses?.[0];
      assert.equal(status?.restartCount, 1);
      assert.equal(status?.lastState?.terminated?.exitCode, 7);
      assert.match(
        status?.state?.waiting?.message ?? "",
        /^back-off 10s restarting failed container=main pod=crash_default\(/,
      );
      assert.equal(pod.status?.phase, "Running");
    });

    test("what waits for init containers says so, before there is a sandbox too", async () => {
      await run("waiting", {
        volumes: [{ name: "none", configMap: { name: "not-there" } }],
        initContainers: [{ name: "first", command: ["true"] }],
        containers: [{ name: "main", command: ["true"] }],
      });
      const { status } = await becomes("waiting", ({ status }) => status?.containerStatuses !== undefined);
      const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
      assert.deepEqual(
        all.map(({ state }) => state?.waiting?.reason),
        ["PodInitializing", "PodInitializing"],
      );
      await cluster.admin.resource(Pod).delete({ namespace: "default", name: "waiting" });
    });

    test("init containers come first, one after the other, and a sidecar stays to the end", async () => {
      await run("order", {
        restartPolicy: "Never",
        volumes: [{ name: "data", emptyDir: {} }],
        initContainers: [
          {
            name: "one",
            command: ["bash", "-c", 'echo one >>"$0"', "/order/x"],
            volumeMounts: [{ name: "data", mountPath: "/order" }],
          },
          {
            name: "side",
            restartPolicy: "Always",
            command: ["bash", "-c", 'echo side >>"$0"; trap "exit 0" TERM; sleep 1000 & wait', "/order/x"],
            volumeMounts: [{ name: "data", mountPath: "/order" }],
          },
        ],
        containers: [
          {
            name: "main",
            command: ["bash", "-c", 'sleep 0.2; echo main >>"$0"; cat "$0"', "/order/x"],
            volumeMounts: [{ name: "data", mountPath: "/order" }],
          },
        ],
      });
      const pod = await becomes("order", finished);
      assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
      assert.equal((await logs("order/main")).text, "one\nside\nmain\n");
      assert.notEqual(pod.status?.initContainerStatuses?.[1]?.state?.terminated, undefined);
    });

    test("a container's own restart policy and rules go before the pod's", async () => {
      await run("own-policy", {
        restartPolicy: "Always",
        volumes: [{ name: "data", emptyDir: {} }],
        containers: [
          { name: "never", restartPolicy: "Never", command: ["bash", "-c", "exit 3"] },
          {
            name: "ruled",
            restartPolicy: "Never",
            restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
            command: ["bash", "-c", 'test -e "$0" && exit 0; touch "$0"; exit 42', "/own/ran"],
            volumeMounts: [{ name: "data", mountPath: "/own" }],
          },
        ],
      });
      const pod = await becomes("own-policy", finished);
      assert.equal(pod.status?.phase, "Failed");
      const [never, ruled] = pod.status?.containerStatuses ?? [];
      assert.deepEqual([never?.restartCount, ruled?.restartCount], [0, 1]);
      assert.equal(ruled?.state?.terminated?.exitCode, 0);
      // The server accepts the status of a container that runs again, although its pod never restarts one.
      await run("own-rule", {
        restartPolicy: "Never",
        volumes: [{ name: "data", emptyDir: {} }],
        containers: [
          {
            name: "ruled",
            restartPolicy: "Never",
            restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
            command: ["bash", "-c", 'test -e "$0" && exec sleep 1000; touch "$0"; exit 42', "/own/ran"],
            volumeMounts: [{ name: "data", mountPath: "/own" }],
          },
        ],
      });
      const again = await becomes(
        "own-rule",
        ({ status }) =>
          status?.containerStatuses?.[0]?.state?.running !== undefined &&
          status.containerStatuses[0].restartCount === 1,
      );
      assert.equal(again.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 42);
    });

    test("readiness by exec, liveness that restarts", async () => {
      await run("probes", {
        volumes: [{ name: "data", emptyDir: {} }],
        containers: [
          {
            name: "main",
            command: ["bash", "-c", 'sleep 0.3; touch "$0"; sleep 1000', "/probes/ready"],
            volumeMounts: [{ name: "data", mountPath: "/probes" }],
            readinessProbe: {
              exec: { command: ["test", "-e", "/probes/ready"] },
              periodSeconds: 1,
              timeoutSeconds: 1,
              successThreshold: 1,
              failureThreshold: 1,
            },
          },
          {
            name: "sick",
            command: ["sleep", "1000"],
            livenessProbe: {
              exec: { command: ["bash", "-c", "echo unwell; exit 1"] },
              periodSeconds: 1,
              timeoutSeconds: 1,
              successThreshold: 1,
              failureThreshold: 2,
            },
          },
        ],
      });
      await becomes("probes", (pod) => pod.status?.containerStatuses?.[0]?.ready === true);
      const pod = await becomes("probes", (p) => (p.status?.containerStatuses?.[1]?.restartCount ?? 0) > 0);
      assert.equal(pod.status?.containerStatuses?.[1]?.lastState?.terminated?.exitCode, 143);
      await eventually(async () => {
        const seen = await events("probes");
        assert.ok(seen.includes("Unhealthy: Liveness probe failed: unwell\n"), seen.join());
        assert.ok(seen.includes("Killing: Container sick failed liveness probe, will be restarted"));
      });
    });

    test("deletion gives the program its grace, then the pod goes", async () => {
      await run("graceful", {
        containers: [
          {
            name: "main",
            command: ["bash", "-c", 'trap "echo bye; exit 0" TERM; echo up; sleep 1000 & wait'],
          },
        ],
      });
      await becomes("graceful", (pod) => pod.status?.phase === "Running");
      const ref = { namespace: "default", name: "graceful" };
      let following: Promise<{ text: string }> | undefined;
      await new Promise<void>((resolve) => {
        following = logs("graceful/main?follow=true", resolve);
      });
      await cluster.admin.resource(Pod).delete(ref);
      await eventually(async () => {
        await assert.rejects(cluster.admin.resource(Pod).get(ref), { message: 'pods "graceful" not found' });
      });
      assert.equal((await following)?.text, "up\nbye\n");
    });

    test("logs: tail, limit, time stamps, since, previous, and who may read them", async () => {
      await run("lines", {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            command: ["bash", "-c", "for i in 1 2 3 4; do echo line $i; sleep 0.4; done; printf end"],
          },
        ],
      });
      const begun = Date.now();
      await becomes("lines", finished);
      assert.equal((await logs("lines/main")).text, "line 1\nline 2\nline 3\nline 4\nend");
      assert.equal((await logs("lines/main?tailLines=2")).text, "line 4\nend");
      assert.equal((await logs("lines/main?limitBytes=9")).text, "line 1\nli");
      const stamps = (await logs("lines/main?timestamps=true")).text
        .split("\n")
        .map((line) => Date.parse(line.split(" ")[0] ?? ""));
      assert.ok((stamps[3] ?? 0) - (stamps[0] ?? 0) >= 200, stamps.join());
      assert.ok(Math.abs((stamps[0] ?? 0) - begun) < 5000);
      const since = new Date((stamps[2] ?? 0) - 1).toISOString();
      assert.match((await logs(`lines/main?sinceTime=${since}`)).text, /^line 3\nline 4/);
      assert.deepEqual(await logs("lines/main?previous=true"), {
        status: 400,
        text: 'previous terminated container "main" in pod "lines" not found',
      });
      assert.equal((await logs("lines/main?tailLines=-1")).status, 400);
      assert.equal((await logs("lines/other")).status, 404);
      cluster.clientCertificate = {};
      assert.equal((await logs("lines/main")).status, 401);
    });
  });
