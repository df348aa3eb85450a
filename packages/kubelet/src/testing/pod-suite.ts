import { request } from "node:https";
import { after, before, describe } from "node:test";
import { ConfigMap, Event, Pod, type PodSpec, Secret, ServiceAccount } from "@dray/api/core/v1";
import type { Kubelet } from "../index.ts";
import { isolations } from "./agent.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "./cluster.ts";

/** A cluster with one node for the tests of pods under one isolation. */
export class PodSuite {
  readonly isolation: "auto" | "plain";
  cluster!: TestCluster;
  node!: Kubelet;

  constructor(isolation: "auto" | "plain") {
    this.isolation = isolation;
  }

  /** Creates a pod on the node. */
  async run(name: string, spec: Partial<PodSpec> & Pick<PodSpec, "containers">): Promise<void> {
    await this.cluster.admin.resource(Pod).create(podOn("n1", name, spec));
  }

  becomes(name: string, wanted: (pod: Pod) => boolean): Promise<Pod> {
    return podBecomes(this.cluster.admin, { namespace: "default", name }, wanted);
  }

  /** Requests a log from the node. `first` is called with each chunk. */
  logs(path: string, first = (): void => {}): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port: this.node.port,
          path: `/containerLogs/default/${path}`,
          ca: this.cluster.authority.certificate,
          ...this.cluster.clientCertificate,
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
  }

  /** Events of a pod, as `REASON: MESSAGE`. */
  async events(name: string): Promise<string[]> {
    const { items } = await this.cluster.admin.resource(Event).list({ namespace: "default" });
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }
}

export const finished = (pod: Pod): boolean => ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");

/** Declares tests for each isolation that the machine has. */
export function describePods(...groups: readonly ((suite: PodSuite) => void)[]): void {
  for (const isolation of ["auto", "plain"] as const)
    if (isolations.includes(isolation))
      describe(`isolation ${isolation}`, () => {
        const suite = new PodSuite(isolation);
        before(async () => {
          suite.cluster = await testCluster();
          const { admin } = suite.cluster;
          await admin
            .resource(ServiceAccount)
            .create({ metadata: { namespace: "default", name: "default" } });
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
          suite.node = await suite.cluster.node("n1", {
            isolation: suite.isolation,
            images: [{ pattern: "*/known:*", command: ["bash", "-c", "echo mapped $0 $1"] }],
          });
        });
        after(() => suite.cluster.close());
        for (const declare of groups) declare(suite);
      });
}
