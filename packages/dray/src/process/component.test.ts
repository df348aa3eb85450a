import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { inFolder, output, start } from "../testing/program.ts";

test("/metrics of scheduler and controller-manager have those of requests and of the lease", () =>
  inFolder(async (folder) => {
    const server = start(["apiserver", "--data-dir", folder, "--port", "0"]);
    const kubeconfig = join(folder, "kubeconfig");
    const components = [];
    try {
      await new Promise((resolve) => server.stdout?.once("data", resolve));
      const { connection } = await loadKubeconfig({ file: kubeconfig });
      const { host } = new URL(connection.server);
      for (const name of ["scheduler", "controller-manager"]) {
        const component = start([name, "--kubeconfig", kubeconfig, "--leader-elect", "--port", "0"]);
        components.push(component);
        let text = "";
        component.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
        const url = await eventually(`${name} says its port`, () => /http:\S+/.exec(text)?.[0]);
        const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
        const leads = `leader_election_master_status{name="kube-${name}"} 1`;
        await eventually(`${name} leads`, async () => (await scrape()).includes(leads));
        const metrics = await scrape();
        assert.match(
          metrics,
          new RegExp(`^rest_client_requests_total{code="201",method="POST",host="${host}"} `, "m"),
        );
        assert.match(
          metrics,
          new RegExp(`^rest_client_request_duration_seconds_count{verb="GET",host="${host}"} `, "m"),
        );
      }
    } finally {
      for (const process of [...components, server]) process.kill("SIGKILL");
    }
  }));

test("a scheduler that cannot renew its lease ends with an error, to be started again", () =>
  inFolder(async (folder) => {
    const server = start(["apiserver", "--data-dir", folder, "--port", "0"]);
    const kubeconfig = join(folder, "kubeconfig");
    try {
      await new Promise((resolve) => server.stdout?.once("data", resolve));
      const { connection } = await loadKubeconfig({ file: kubeconfig });
      const client = createClient({ transport: httpsTransport(connection), userAgent: "test" });
      const scheduler = start([
        ...["scheduler", "--kubeconfig", kubeconfig, "--leader-elect", "true"],
        ...["--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s"],
        ...["--leader-elect-retry-period", "200ms"],
      ]);
      const ended = output(scheduler);
      try {
        await eventually("the scheduler leads", async () => {
          const { items } = await client.resource(Lease).list({ namespace: "kube-system" });
          return items.some(({ metadata }) => metadata.name === "kube-scheduler");
        });
        client.close();
        // It does not respond and keeps its connections open.
        server.kill("SIGSTOP");
        const { code, stderr } = await ended;
        assert.equal(code, 1, stderr);
        assert.match(
          stderr,
          /^error: the lease kube-system\/kube-scheduler is lost: start this process again$/m,
        );
      } finally {
        scheduler.kill("SIGKILL");
      }
    } finally {
      server.kill("SIGKILL");
    }
  }));
