import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { type Container, Node, Pod } from "@dray/api/core/v1";
import { eventually } from "../eventually.ts";
import { peer } from "../peers.ts";
import type { DriverTrial } from "./index.ts";

const resource = "example.com/resource";
const namespace = "default";
/** What the plugin makes on the machine. */
const files = ["/tmp/Dev-1", "/tmp/Dev-2"];

/**
 * Upstream's own device plugin for tests: two devices, by mounts and CDI. It is the pod that upstream's manifest makes of
 * it (test/e2e/testing-manifests/sample-device-plugin), but for the image.
 */
export const sampleDevicePlugin: DriverTrial = {
  name: "sample-device-plugin",
  program: "sample-device-plugin",
  async run({ client, nodes: [node] }) {
    assert.ok(node);
    const pods = client.resource(Pod);
    const folders = ["/var/lib/kubelet/device-plugins", "/var/run/cdi"];
    const volumes = folders.map((path, index) => ({ name: `folder-${index}`, hostPath: { path } }));
    const volumeMounts = folders.map((mountPath, index) => ({ name: `folder-${index}`, mountPath }));
    const create = (name: string, main: Omit<Container, "name">): Promise<Pod> =>
      pods.create({
        metadata: { name, namespace },
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 5,
          volumes,
          containers: [{ name: "main", image: "host", ...main }],
        },
      });
    const offers = (capacity: string, allocatable: string): Promise<unknown> =>
      eventually(`${allocatable} of ${capacity} devices`, async () => {
        const { status } = await client.resource(Node).get({ name: node.name });
        return status?.capacity?.[resource] === capacity && status.allocatable?.[resource] === allocatable;
      });
    const ends = async (name: string): Promise<string | undefined> => {
      const pod = await eventually(`the end of pod ${name}`, async () => {
        const found = await pods.get({ namespace, name });
        return ["Succeeded", "Failed"].includes(found.status?.phase ?? "") && found;
      });
      return pod.status?.phase;
    };
    const asking = (count: number, script: string): Omit<Container, "name"> => ({
      command: ["sh", "-c", script],
      resources: { limits: { [resource]: String(count) } },
    });

    await create("plugin", {
      command: [peer("sample-device-plugin")],
      env: [
        { name: "PLUGIN_SOCK_DIR", value: folders[0] ?? "" },
        { name: "CDI_ENABLED", value: "1" },
      ],
      volumeMounts,
    });
    await offers("2", "2");
    await create("one", asking(1, '[ "$CDI_DEVICE" = CDI-Dev-1 ]'));
    assert.equal(await ends("one"), "Succeeded");
    const mounted = (path: string): string => `grep -q " ${path} " /proc/self/mountinfo`;
    await create("two", asking(2, files.map(mounted).join(" && ")));
    assert.equal(await ends("two"), "Succeeded");
    await create("three", asking(3, "true"));
    await eventually("pod three cannot be scheduled", async () => {
      const { status } = await pods.get({ namespace, name: "three" });
      return status?.conditions?.some(
        ({ reason, message }) => reason === "Unschedulable" && message?.includes(`Insufficient ${resource}`),
      );
    });
    await pods.delete({ namespace, name: "plugin" });
    await offers("2", "0");
    for (const file of files) rmSync(file, { force: true });
  },
};
