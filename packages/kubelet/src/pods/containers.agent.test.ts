import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { describePods, finished, type PodSuite } from "../testing/pod-suite.ts";

describePods(environmentTests, volumeTests, probeTests);

/** Environment and service account of containers. */
function environmentTests(suite: PodSuite): void {
  test("environment: literals, references, expansion, nothing of the agent's own", async () => {
    process.env["AGENT_SECRET"] = "mine";
    await suite.run("env", {
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
    const pod = await suite.becomes("env", finished);
    const { text } = await suite.logs("env/main");
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

  test("with runAsNonRoot and without a user a pod runs as another user than root, or is refused", async () => {
    await suite.run("non-root", {
      securityContext: { runAsNonRoot: true },
      restartPolicy: "Never",
      containers: [{ name: "main", command: ["id", "-u"] }],
    });
    const pod = await suite.becomes(
      "non-root",
      (one) =>
        finished(one) ||
        one.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
    );
    const [status] = pod.status?.containerStatuses ?? [];
    if (process.getuid?.() === 0 && suite.isolation === "plain")
      assert.match(status?.state?.waiting?.message ?? "", /has runAsNonRoot and image will run as root/);
    else {
      assert.equal(pod.status?.phase, "Succeeded");
      if (process.getuid?.() === 0) assert.ok(Number((await suite.logs("non-root/main")).text) > 0);
    }
  });

  test("the service account's token, CA and namespace are there", async () => {
    await suite.run("token", {
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
    const pod = await suite.becomes("token", finished);
    const [namespace, ca, payload] = (await suite.logs("token/main")).text.split("\n");
    assert.equal(namespace, "default", JSON.stringify(pod.status));
    assert.equal(ca, "CA");
    const claims = JSON.parse(Buffer.from(payload ?? "", "base64url").toString());
    assert.equal(claims.sub, "system:serviceaccount:default:default");
    assert.equal(claims["kubernetes.io"].pod.uid, pod.metadata.uid);
  });
}

/** Volumes of containers. */
function volumeTests(suite: PodSuite): void {
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
    await suite.run("volumes", {
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
    const pod = await suite.becomes("volumes", finished);
    assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
    assert.equal((await suite.logs("volumes/read")).text, "data\ntext\nvolumes\n");
    assert.equal(readFileSync(join(outside, "x"), "utf8"), "host\n");
    assert.equal(
      readFileSync(join(suite.cluster.rootDir("n1"), "var/lib/kubelet/plugins/x"), "utf8"),
      "plugin\n",
    );
    for (const path of missing) assert.ok(!existsSync(path), path);
    rmSync(outside, { recursive: true });
  });
}

/** Probes, deletion and logs. */
function probeTests(suite: PodSuite): void {
  test("readiness by exec, liveness that restarts", async () => {
    await suite.run("probes", {
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
          command: ["bash", "-c", "trap 'exit 143' TERM; sleep 1000 & wait"],
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
    await suite.becomes("probes", (pod) => pod.status?.containerStatuses?.[0]?.ready === true);
    const pod = await suite.becomes(
      "probes",
      (p) => (p.status?.containerStatuses?.[1]?.restartCount ?? 0) > 0,
    );
    assert.equal(pod.status?.containerStatuses?.[1]?.lastState?.terminated?.exitCode, 143);
    await eventuallyPasses(async () => {
      const seen = await suite.events("probes");
      assert.ok(seen.includes("Unhealthy: Liveness probe failed: unwell\n"), seen.join());
      assert.ok(seen.includes("Killing: Container sick failed liveness probe, will be restarted"));
    });
  });

  test("deletion gives the program its grace, then the pod goes", async () => {
    await suite.run("graceful", {
      containers: [
        {
          name: "main",
          command: ["bash", "-c", 'trap "echo bye; exit 0" TERM; echo up; sleep 1000 & wait'],
        },
      ],
    });
    await suite.becomes("graceful", (pod) => pod.status?.phase === "Running");
    const ref = { namespace: "default", name: "graceful" };
    let following: Promise<{ text: string }> | undefined;
    await new Promise<void>((resolve) => {
      following = suite.logs("graceful/main?follow=true", resolve);
    });
    await suite.cluster.admin.resource(Pod).delete(ref);
    await eventuallyPasses(async () => {
      await assert.rejects(suite.cluster.admin.resource(Pod).get(ref), {
        message: 'pods "graceful" not found',
      });
    });
    assert.equal((await following)?.text, "up\nbye\n");
  });

  test("logs: tail, limit, time stamps, since, previous, and permissions", async () => {
    await suite.run("lines", {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          command: ["bash", "-c", "for i in 1 2 3 4; do echo line $i; sleep 0.4; done; printf end"],
        },
      ],
    });
    const begun = Date.now();
    await suite.becomes("lines", finished);
    assert.equal((await suite.logs("lines/main")).text, "line 1\nline 2\nline 3\nline 4\nend");
    assert.equal((await suite.logs("lines/main?tailLines=2")).text, "line 4\nend");
    assert.equal((await suite.logs("lines/main?limitBytes=9")).text, "line 1\nli");
    const stamps = (await suite.logs("lines/main?timestamps=true")).text
      .split("\n")
      .map((line) => Date.parse(line.split(" ")[0] ?? ""));
    assert.ok((stamps[3] ?? 0) - (stamps[0] ?? 0) >= 200, stamps.join());
    assert.ok(Math.abs((stamps[0] ?? 0) - begun) < 5000);
    const since = new Date((stamps[2] ?? 0) - 1).toISOString();
    assert.match((await suite.logs(`lines/main?sinceTime=${since}`)).text, /^line 3\nline 4/);
    assert.deepEqual(await suite.logs("lines/main?previous=true"), {
      status: 400,
      text: 'previous terminated container "main" in pod "lines" not found',
    });
    assert.equal((await suite.logs("lines/main?tailLines=-1")).status, 400);
    assert.equal((await suite.logs("lines/other")).status, 404);
    suite.cluster.clientCertificate = {};
    assert.equal((await suite.logs("lines/main")).status, 401);
  });
}
