import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import type { Container } from "@dray/api/core/v1";
import { peersFolder } from "../peers.ts";
import { deletePod, nodeOffers, outputOf, runOnce, unschedulable } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const image = "registry.k8s.io/e2e-test-images/sample-device-plugin:1.7";
const resource = "example.com/resource";
/** Files that the plugin creates on the machine. */
const files = ["/tmp/Dev-1", "/tmp/Dev-2"];

/**
 * Upstream's own device plugin for tests: two devices, by mounts and CDI. It is the pod that upstream's
 * manifest makes of it (test/e2e/testing-manifests/sample-device-plugin), but for the image.
 */
export const sampleDevicePlugin: DriverTrial = {
  name: "sample-device-plugin",
  programs: ["sample-device-plugin"],
  cluster: () => ({ images: [{ pattern: image, command: [`${peersFolder()}/`] }] }),
  async run({ client, nodes: [node] }) {
    assert.ok(node);
    const folders = ["/var/lib/kubelet/device-plugins", "/var/run/cdi"];
    const volumes = folders.map((path, index) => ({ name: `folder-${index}`, hostPath: { path } }));
    const volumeMounts = folders.map((mountPath, index) => ({ name: `folder-${index}`, mountPath }));
    const asking = (count: number, script: string): Omit<Container, "name"> => ({
      command: ["sh", "-c", script],
      resources: { limits: { [resource]: String(count) } },
    });

    const main = {
      image,
      securityContext: { privileged: true },
      command: ["sample-device-plugin", "-alsologtostderr"],
      env: [
        { name: "PLUGIN_SOCK_DIR", value: folders[0] ?? "" },
        { name: "CDI_ENABLED", value: "1" },
      ],
      volumeMounts,
    };
    await runOnce(client, "plugin", main, { volumes });
    await nodeOffers(client, node.name, resource, { capacity: 2, allocatable: 2 });
    await runOnce(client, "one", asking(1, '[ "$CDI_DEVICE" = CDI-Dev-1 ]'));
    await outputOf(client, "one");
    const mounted = (path: string): string => `grep -q " ${path} " /proc/self/mountinfo`;
    await runOnce(client, "two", asking(2, files.map(mounted).join(" && ")));
    await outputOf(client, "two");
    await runOnce(client, "three", asking(3, "true"));
    assert.match(await unschedulable(client, "three"), new RegExp(`Insufficient ${resource}`));
    await deletePod(client, "plugin");
    await nodeOffers(client, node.name, resource, { capacity: 2, allocatable: 0 });
    for (const file of files) rmSync(file, { force: true });
  },
};
