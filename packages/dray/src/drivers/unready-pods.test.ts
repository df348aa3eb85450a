import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Namespace, Pod, ServiceAccount } from "@dray/api/core/v1";
import { withApiServer } from "@dray/testing/api-server";
import { unreadyReasons } from "./unready-pods.ts";

const namespace = "drivers";
const daemonSet = { namespace, name: "plugin" };

test("a driver's pod that does not become ready has its reason, once for all pods of that reason", () =>
  withApiServer({}, async (server) => {
    const client = server.admin();
    await client
      .resource(Namespace)
      .create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace }, spec: {} });
    await client
      .resource(ServiceAccount)
      .create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "default" } });
    assert.deepEqual(await unreadyReasons(client, daemonSet), [], "nothing is known");
    await client.resource(Event).create({
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name: "plugin.1" },
      type: "Warning",
      reason: "FailedCreate",
      message: "exceeded quota",
      involvedObject: { kind: "DaemonSet", namespace, name: "plugin" },
    });
    assert.deepEqual(await unreadyReasons(client, daemonSet), [
      "DaemonSet drivers/plugin: FailedCreate: exceeded quota",
    ]);
    const pods = client.resource(Pod);
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", uid: "1", controller: true };
    const states = {
      crashing: {
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
        lastState: { terminated: { exitCode: 3, reason: "Error", message: "no token\n" } },
      },
      pulling: { state: { waiting: { reason: "ErrImagePull", message: "no such image" } } },
      running: { state: { running: {} } },
    };
    for (const [name, state] of Object.entries(states)) {
      await pods.create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace, name, ownerReferences: [{ ...owner, name: "plugin" }] },
        spec: { nodeName: "n1", containers: [{ name: "main", image: "plugin" }] },
      });
      const status = { name: "main", image: "plugin", imageID: "", restartCount: 0, ready: false, ...state };
      const body = { status: { containerStatuses: [status] } };
      await pods.patch({ name, namespace }, "merge", body, { subresource: "status" });
    }
    assert.deepEqual(await unreadyReasons(client, daemonSet), [
      "pod drivers/crashing, container main: Error with exit code 3: no token",
      "pod drivers/pulling, container main: ErrImagePull: no such image",
    ]);
    assert.deepEqual(await unreadyReasons(client, { namespace, name: "other" }), []);
  }));
