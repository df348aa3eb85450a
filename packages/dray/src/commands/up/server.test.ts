import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { loadKubeconfig } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { dray, inFolder, output, start } from "../../testing/program.ts";

const withoutKubectl = spawnSync("kubectl", ["version", "--client"]).status !== 0 && "kubectl is not on PATH";
const outside = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;
const alone = outside === undefined && "this machine has no address but its own";

function kubectl(kubeconfig: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("kubectl", ["--kubeconfig", kubeconfig, ...args], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Returns the targets of the service, from its Endpoints and its EndpointSlice. */
const endpoints = (kubeconfig: string): string[] => [
  kubectl(
    kubeconfig,
    ...["get", "endpoints", "kubernetes", "-o"],
    "jsonpath={.subsets[*].addresses[*].ip}:{.subsets[*].ports[*].port}",
  ),
  kubectl(
    kubeconfig,
    ...["get", "endpointslice", "kubernetes", "-o"],
    "jsonpath={.endpoints[*].addresses[0]}:{.ports[*].port}",
  ),
];

test(
  "up on all addresses is reached at each of them, and the service leads to one",
  {
    skip: withoutKubectl || alone,
  },
  () =>
    inFolder(async (folder) => {
      const data = ["--data-dir", join(folder, "data")];
      const own = join(folder, "data", "kubeconfig");
      const up = async (...flags: string[]): Promise<string> => {
        const { code, stdout, stderr } = await dray([
          "up",
          "--detach",
          ...data,
          "--store",
          "memory",
          ...flags,
        ]);
        assert.equal(code, 0, stderr);
        return stdout;
      };
      try {
        const said = await up("--nodes", "1", "--bind-address", "0.0.0.0");
        const [, port] = /ready at https:\/\/127\.0\.0\.1:(\d+)\n/.exec(said) ?? assert.fail(said);
        assert.ok(said.includes(`  for others  https://${outside}:${port}\n`), said);
        assert.match(kubectl(own, "get", "nodes"), /worker-1 +Ready/);
        for (const host of [outside, "localhost"])
          assert.match(kubectl(own, "--server", `https://${host}:${port}`, "get", "nodes"), /worker-1/, host);
        kubectl(own, "--tls-server-name", hostname().toLowerCase(), "get", "nodes");
        assert.deepEqual(endpoints(own), [`${outside}:${port}`, `${outside}:${port}`]);
        await dray(["down", ...data]);

        // The address is stored, and the certificate has it.
        await up("--advertise-address", "198.51.100.7");
        kubectl(
          own,
          "--server",
          `https://${outside}:${port}`,
          "--tls-server-name",
          "198.51.100.7",
          "get",
          "nodes",
        );
        assert.deepEqual(endpoints(own), [`198.51.100.7:${port}`, `198.51.100.7:${port}`]);
        await dray(["down", ...data]);

        assert.doesNotMatch(await up("--bind-address", "127.0.0.1", "--advertise-address", ""), /for others/);
        assert.deepEqual(endpoints(own), [`127.0.0.1:${port}`, `127.0.0.1:${port}`]);
        await assert.rejects(
          new Promise((resolve, reject) =>
            connect({ host: outside!, port: Number(port), rejectUnauthorized: false }, () =>
              resolve(undefined),
            ).on("error", reject),
          ),
          { code: "ECONNREFUSED" },
        );
      } finally {
        await dray(["down", "--delete-data", ...data]);
      }
    }),
);

test(
  "apiserver on an address of IPv6, or of IPv4 in its form; its certificate is for the services' address too",
  {
    skip: withoutKubectl,
  },
  () =>
    inFolder(async (folder) => {
      for (const [bind, host] of [
        ["::", "127.0.0.1"],
        ["::1", "[::1]"],
        ["::ffff:127.0.0.1", "127.0.0.1"],
      ] as const) {
        const data = join(folder, bind.replaceAll(":", "-"));
        const server = start([
          ...["apiserver", "--data-dir", data, "--port", "0", "--store", "memory"],
          ...["--bind-address", bind, "--service-cluster-ip-range", "10.96.0.0/16,fd00:9::/112"],
        ]);
        const ended = output(server);
        try {
          let said = "";
          server.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
          await eventually("it is ready", () => said.includes("kubeconfig"));
          const file = join(data, "kubeconfig");
          const { connection } = await loadKubeconfig({ file });
          assert.ok(connection.server.startsWith(`https://${host}:`), connection.server);
          assert.ok(said.startsWith(`the API server is ready at ${connection.server}\n`), said);
          for (const name of ["10.96.0.1", "fd00:9::1", "kubernetes.default.svc"])
            assert.match(kubectl(file, "--tls-server-name", name, "get", "namespaces"), /kube-system/);
        } finally {
          server.kill("SIGTERM");
          await ended;
        }
      }
    }),
);

test("rejects an address that is not of this machine and names valid ones", async () => {
  for (const [flags, message] of [
    [["--bind-address", "localhost"], /^error: --bind-address localhost: must be an IP address$/m],
    [
      ["--bind-address", "192.0.2.77"],
      /^error: --bind-address 192.0.2.77: must be an address of this machine, or .*; it has .*127.0.0.1/m,
    ],
    [["--advertise-address", "here"], /^error: --advertise-address here: must be an IP address$/m],
    [["--runtime-config", "x/v1"], /^error: --runtime-config x\/v1: must be one of/m],
  ] as const) {
    for (const command of ["up", "apiserver"]) {
      const { code, stderr } = await dray([command, ...flags, "--data-dir", "/nonexistent/x"]);
      assert.equal(code, 2);
      assert.match(stderr, message);
    }
  }
});

test("an API version that a cluster cannot do without stays on", async () => {
  const refused = async (command: string, config: string, message: string): Promise<void> => {
    const { code, stderr } = await dray([
      command,
      "--data-dir",
      "/nonexistent/x",
      "--runtime-config",
      config,
    ]);
    assert.deepEqual([code, stderr.split("\n")[0]], [2, `error: --runtime-config ${message}`]);
  };
  await refused(
    "up",
    "resource.k8s.io/v1=false",
    "resource.k8s.io/v1=false: a cluster needs resource.k8s.io/v1",
  );
  await refused("up", "api/all=false", "api/all=false: a cluster needs v1");
  await refused(
    "up",
    "api/all=false,api/ga,apps/v1/daemonsets=false",
    "apps/v1/daemonsets=false: a cluster needs apps/v1/daemonsets",
  );
  await refused("apiserver", "v1=false", "v1=false: the API server needs v1");
});

test(
  "up serves what --runtime-config says, again after a stop, until it says otherwise",
  {
    skip: withoutKubectl,
  },
  () =>
    inFolder(async (folder) => {
      const data = ["--data-dir", join(folder, "data")];
      const served = async (...flags: string[]): Promise<boolean> => {
        const { code, stderr } = await dray([
          "up",
          "--detach",
          "--nodes",
          "0",
          "--store",
          "memory",
          ...data,
          ...flags,
        ]);
        assert.equal(code, 0, stderr);
        const versions = kubectl(join(folder, "data", "kubeconfig"), "api-versions");
        await dray(["down", ...data]);
        return versions.includes("resource.k8s.io/v1beta1\n");
      };
      try {
        assert.equal(await served(), false);
        assert.equal(await served("--runtime-config", "resource.k8s.io/v1beta1"), true);
        assert.equal(await served(), true);
        assert.equal(await served("--runtime-config", ""), false);
      } finally {
        await dray(["down", "--delete-data", ...data]);
      }
    }),
);
