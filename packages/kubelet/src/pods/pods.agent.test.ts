import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { ConfigMap, Pod } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { describePods, finished, type PodSuite } from "../testing/pod-suite.ts";

describePods(statusTests, restartTests, initTests);

/** Statuses of pods that end or wait. */
function statusTests(suite: PodSuite): void {
  // Otherwise a silent fallback to plain would leave name spaces untested.
  test("containers are kept apart wherever the machine has mount name spaces", (context) => {
    const plain = suite.node.limits.some((limit) => limit.includes("see the files of the machine"));
    if (suite.isolation === "plain") return assert.ok(plain);
    if (process.getuid?.() !== 0 || spawnSync("unshare", ["--mount", "true"]).status !== 0)
      return context.skip("not root, or no unshare");
    assert.ok(!plain);
  });

  test("a pod that ends shows how: exit code, reason, phase, conditions", async () => {
    const main = (command: string) => ({ name: "main", command: ["bash", "-c", command] });
    await suite.run("good", { restartPolicy: "Never", containers: [main("exit 0")] });
    await suite.run("bad", { restartPolicy: "Never", containers: [main("exit 3")] });
    const good = await suite.becomes("good", finished);
    assert.equal(good.status?.phase, "Succeeded");
    assert.equal(good.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Completed");
    assert.equal(good.status?.conditions?.find(({ type }) => type === "Ready")?.reason, "PodCompleted");
    const bad = await suite.becomes("bad", finished);
    assert.equal(bad.status?.phase, "Failed");
    assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
    assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Error");
  });

  test("a missing config map is a CreateContainerConfigError until it is there", async () => {
    await suite.run("config", {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          command: ["true"],
          env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "later", key: "x" } } }],
        },
      ],
    });
    const waiting = await suite.becomes(
      "config",
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
    );
    assert.deepEqual(waiting.status?.containerStatuses?.[0]?.state?.waiting, {
      reason: "CreateContainerConfigError",
      message: 'configmap "later" not found',
    });
    await suite.cluster.admin
      .resource(ConfigMap)
      .create({ metadata: { namespace: "default", name: "later" }, data: { x: "1" } });
    assert.equal((await suite.becomes("config", finished)).status?.phase, "Succeeded");
  });

  test("an image without command or mapping waits and says what to do; a mapped one runs its command", async () => {
    await suite.run("unknown", { containers: [{ name: "main", image: "registry.example/unknown:1" }] });
    const pod = await suite.becomes(
      "unknown",
      (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
    );
    assert.equal(pod.status?.phase, "Pending");
    assert.equal(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason, "ErrImageNeverPull");
    assert.match(
      pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
      /--image 'registry.example\/unknown:1=COMMAND'/,
    );
    await eventuallyPasses(async () =>
      assert.ok((await suite.events("unknown")).some((event) => /^Failed: .*--image/.test(event))),
    );
    await suite.run("known", {
      restartPolicy: "Never",
      containers: [
        { name: "main", image: "registry.example/known:1", command: ["ignored"], args: ["one", "two"] },
      ],
    });
    await suite.becomes("known", finished);
    assert.equal((await suite.logs("known/main")).text, "mapped one two\n");
  });

  test("a command that does not exist: StartError with the name", async () => {
    await suite.run("nocommand", {
      restartPolicy: "Never",
      containers: [{ name: "main", command: ["no-such-program"] }],
    });
    const pod = await suite.becomes("nocommand", finished);
    const terminated = pod.status?.containerStatuses?.[0]?.state?.terminated;
    assert.equal(terminated?.reason, "StartError");
    assert.equal(terminated?.exitCode, 128);
    assert.match(terminated?.message ?? "", /"no-such-program": executable file not found in \$PATH/);
  });
}

/** Restarts of containers. */
function restartTests(suite: PodSuite): void {
  test("another image restarts a container, whatever the policy is", async () => {
    const main = { name: "main", command: ["sleep", "1000"] };
    await suite.run("updated", {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 1,
      containers: [main],
    });
    await suite.becomes("updated", (pod) => pod.status?.phase === "Running");
    const change = { spec: { containers: [{ name: "main", image: "other:2" }] } };
    await suite.cluster.admin
      .resource(Pod)
      .patch({ namespace: "default", name: "updated" }, "strategic", change);
    const { status } = await suite.becomes("updated", (pod) => {
      const [now] = pod.status?.containerStatuses ?? [];
      return now?.restartCount === 1 && now.state?.running !== undefined;
    });
    assert.equal(status?.containerStatuses?.[0]?.image, "other:2");
    assert.ok(
      (await suite.events("updated")).includes(
        "Killing: Container main definition changed, will be restarted",
      ),
    );
    await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "updated" });
  });

  test("a container that crashes is started again at once, then after a back-off", async () => {
    await suite.run("crash", { containers: [{ name: "main", command: ["bash", "-c", "exit 7"] }] });
    const pod = await suite.becomes(
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

  test("a container's own restart policy and rules go before the pod's", async () => {
    await suite.run("own-policy", {
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
    const pod = await suite.becomes("own-policy", finished);
    assert.equal(pod.status?.phase, "Failed");
    const [never, ruled] = pod.status?.containerStatuses ?? [];
    assert.deepEqual([never?.restartCount, ruled?.restartCount], [0, 1]);
    assert.equal(ruled?.state?.terminated?.exitCode, 0);
    // The server accepts the status of a container that runs again, although its pod never restarts one.
    await suite.run("own-rule", {
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
    const again = await suite.becomes(
      "own-rule",
      ({ status }) =>
        status?.containerStatuses?.[0]?.state?.running !== undefined &&
        status.containerStatuses[0].restartCount === 1,
    );
    assert.equal(again.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 42);
  });
}

/** Shell text that waits until a process \`sleep 1021\` is seen; does not find itself. */
const untilSeen =
  "until cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'sleep 102[1]'; do sleep 0.1; done;";

/** Init and ephemeral containers. */
function initTests(suite: PodSuite): void {
  test("an ephemeral container runs once, sees its target's processes, and its end is reported", async () => {
    const never = { image: "any", terminationMessagePolicy: "FallbackToLogsOnError" };
    await suite.run("debugged", { containers: [{ name: "main", command: ["sleep", "1021"] }] });
    await suite.becomes("debugged", (pod) => pod.status?.phase === "Running");
    await suite.cluster.admin.resource(Pod).patch(
      { namespace: "default", name: "debugged" },
      "strategic",
      {
        spec: {
          ephemeralContainers: [
            {
              ...never,
              name: "look",
              targetContainerName: "main",
              command: ["bash", "-c", `${untilSeen} echo seen; exit 3`],
              imagePullPolicy: "Always",
            },
          ],
        },
      },
      { subresource: "ephemeralcontainers" },
    );
    const { status } = await suite.becomes(
      "debugged",
      (pod) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
    );
    const [look] = status?.ephemeralContainerStatuses ?? [];
    assert.equal(look?.state?.terminated?.exitCode, 3);
    assert.equal(look?.state?.terminated?.message, "seen\n");
    assert.equal(look?.restartCount, 0);
    assert.equal(status?.phase, "Running");
    assert.deepEqual(await suite.logs("debugged/look"), { status: 200, text: "seen\n" });
    await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "debugged" });
  });

  test("containers behind init containers are PodInitializing, also without a sandbox", async () => {
    await suite.run("waiting", {
      volumes: [{ name: "none", configMap: { name: "not-there" } }],
      initContainers: [{ name: "first", command: ["true"] }],
      containers: [{ name: "main", command: ["true"] }],
    });
    const { status } = await suite.becomes(
      "waiting",
      ({ status }) => status?.containerStatuses !== undefined,
    );
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    assert.deepEqual(
      all.map(({ state }) => state?.waiting?.reason),
      ["PodInitializing", "PodInitializing"],
    );
    await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "waiting" });
  });

  test("init containers come first, one after the other, and a sidecar stays to the end", async () => {
    await suite.run("order", {
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
    const pod = await suite.becomes("order", finished);
    assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
    assert.equal((await suite.logs("order/main")).text, "one\nside\nmain\n");
    assert.notEqual(pod.status?.initContainerStatuses?.[1]?.state?.terminated, undefined);
  });
}
