import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Deployment } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import { layoutOf, readProcessFile } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../connection/connect.ts";
import { dray, inFolder } from "../testing/program.ts";

const driver = "gpu.example.com";
const fleet = `
apiVersion: dray.dev/v1alpha1
kind: Fleet
nodes:
  - pattern: "simulated-*"
    labels: { zone: "z{nodeIndex%3}" }
    drivers:
      - driver: ${driver}
        pools: [{ devices: [{ name: "gpu-{index}", count: 4 }] }]
`;

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await dray(args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;

test("up --simulated-nodes: pods with claims come, run, end and go on nodes that run nothing", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const file = join(folder, "fleet.yaml");
    writeFileSync(file, fleet);
    const output = await run("up", "--detach", "--simulated-nodes", "50", "--fleet", file, ...data);
    assert.match(output, /\n {2}simulated {3}simulated-1, .* and 46 more: their pods run no containers\n/);
    assert.match(output, /: 50 nodes, 1 driver, 200 devices\n/);
    assert.doesNotMatch(output, /\n {2}nodes /);
    const layout = layoutOf(join(folder, "data"));
    const { client } = await connect({ kubeconfig: layout.kubeconfig }, "test");
    try {
      const { items: nodes } = await client.resource(Node).list();
      assert.equal(nodes.length, 50);
      assert.equal(
        nodes.find(({ metadata }) => metadata.name === "simulated-5")?.metadata.labels?.["zone"],
        "z1",
      );
      const pods = async () => (await client.resource(Pod).list({ namespace: "default" })).items;
      const requests = [{ name: "gpu", exactly: { deviceClassName: driver } }];
      await client.resource(ResourceClaimTemplate).create({
        metadata: { namespace: "default", name: "gpu" },
        spec: { spec: { devices: { requests } } },
      });
      const template = {
        metadata: { labels: { app: "a" } },
        spec: {
          resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
          containers: [{ name: "main", image: "nginx", resources: { claims: [{ name: "gpu" }] } }],
        },
      };
      const deployment = { namespace: "default", name: "a" };
      await client.resource(Deployment).create({
        metadata: deployment,
        spec: { replicas: 100, selector: { matchLabels: { app: "a" } }, template },
      } as never);
      await eventually("100 pods are ready", async () => (await pods()).filter(isReady).length === 100);
      const { items: claims } = await client.resource(ResourceClaim).list({ namespace: "default" });
      assert.equal(claims.filter(({ status }) => status?.allocation !== undefined).length, 100);
      const addresses = new Set((await pods()).map(({ status }) => status?.podIP));
      assert.equal(addresses.size, 100);

      const [pod] = await pods();
      const path = `/api/v1/namespaces/default/pods/${pod?.metadata.name}`;
      await assert.rejects(client.text("GET", `${path}/log`), {
        message: `pod default/${pod?.metadata.name} is on a simulated node, where no container runs: it has no logs`,
      });

      await run("device", "break", "simulated-7/gpu-1", ...data);
      const broken = async (): Promise<boolean> => {
        const query = { fieldSelector: "spec.nodeName=simulated-7" };
        const { items } = await client.resource(ResourceSlice).list(query);
        return items.some(({ spec }) => spec.devices?.[1]?.taints?.[0]?.key === `${driver}/unhealthy`);
      };
      assert.ok(await broken());
      await run("device", "heal", "simulated-7/gpu-1", ...data);
      assert.ok(!(await broken()));

      // A kill loses no acknowledged change, and later changes are applied.
      const process = readProcessFile(layout.simulationFile)!.record;
      globalThis.process.kill(process.pid, "SIGKILL");
      await client.resource(Job).create({
        metadata: { namespace: "default", name: "j" },
        spec: { completions: 2, template: { spec: { ...template.spec, restartPolicy: "Never" } } },
      } as never);
      await client.resource(Deployment).delete(deployment, { propagationPolicy: "Background" });
      await eventually("the job is complete", async () => {
        const { status } = await client.resource(Job).get({ namespace: "default", name: "j" });
        return Number(status?.succeeded ?? 0) === 2;
      });
      await eventually("the other pods are gone", async () => (await pods()).length === 2);
      await eventually("their claims are gone", async () => {
        const { items } = await client.resource(ResourceClaim).list({ namespace: "default" });
        return items.every(({ status }) => status?.allocation === undefined);
      });
      assert.match(
        await run("status", ...data),
        /\nsimulation +running [^\n]* drivers of the fleet, kubelets of simulated nodes\n.*The simulation was started again once;/s,
      );
      assert.match(
        (await dray(["up", "--simulated-nodes", "51", ...data])).stderr,
        /^error: --simulated-nodes: the cluster in .* runs with 50 \(process \d+\): stop it with/,
      );
    } finally {
      client.close();
    }
    await run("down", ...data);
    await run("up", "--detach", "--simulated-nodes", "3", "--fleet", "none", ...data);
    const again = await connect({ kubeconfig: layout.kubeconfig }, "test");
    try {
      const { items } = await again.client.resource(Node).list();
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name).sort(),
        [1, 2, 3].map((i) => `simulated-${i}`),
      );
    } finally {
      again.client.close();
    }
    await run("down", "--delete-data", ...data);
  }));

test("--simulated-nodes: rejects invalid values and combinations", () =>
  inFolder(async (folder) => {
    const refusal = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await dray(["up", ...args, "--data-dir", join(folder, "data")]);
      assert.equal(code, 2);
      return stderr.split("\n")[0] ?? "";
    };
    assert.equal(
      await refusal("--simulated-nodes", "few"),
      "error: --simulated-nodes few: must be a whole number from 0 to 20000, or all",
    );
    assert.match(await refusal("--simulated-nodes", "all"), /there are no nodes of a fleet/);
    assert.match(
      await refusal("--simulated-nodes", "2", "--driver", "example"),
      /all nodes are simulated, and run no drivers: add nodes with --nodes/,
    );
  }));
