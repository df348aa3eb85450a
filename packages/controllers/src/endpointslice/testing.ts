import { Pod } from "@dray/api/core/v1";
import type { TestCluster } from "../testing/cluster.ts";

const web = { app: "web" };

/** Fields of the specification that are undefined are left out. */
export function service(name: string, spec: object = {}, metadata: object = {}): object {
  const all = { selector: web, ports: [{ name: "http", port: 80, targetPort: "http" }], ...spec };
  return {
    metadata: { name, ...metadata },
    spec: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
  };
}

export function webPod(name: string, spec: object = {}): object {
  const ports = [{ name: "http", containerPort: 8080 }];
  return {
    metadata: { name, labels: web },
    spec: { containers: [{ name: "c", image: "i", ports }], ...spec },
  };
}

/** The pod runs on node `a`, with addresses, and is ready or not. */
export async function runs(
  cluster: TestCluster,
  name: string,
  podIPs: readonly string[],
  ready = true,
): Promise<Pod> {
  const pod = await cluster.get(Pod, name);
  await cluster.run(pod, "a");
  await cluster.setStatus(pod, {
    podIP: podIPs[0],
    podIPs: podIPs.map((ip) => ({ ip })),
    conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
  });
  return cluster.get(Pod, name);
}
