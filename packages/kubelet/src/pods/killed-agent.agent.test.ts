/**
 * The agent is killed between every two steps of a pod's life with a claim, and another adopts the pod: no
 * container starts unprepared, the claim is unprepared after the last pod and not before, and nothing is left
 * on the machine.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { StatusError } from "@dray/api";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type ApiServer, createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { memoryStore, type Store } from "@dray/store";
import { eventuallyPasses } from "@dray/testing/eventually";
import { NodePaths } from "../base/paths.ts";
import { readRecord } from "../runtime/host/records.ts";
import { podBecomes, podOn } from "../testing/cluster.ts";
import { type TestDriver, testDriver } from "../testing/driver.ts";
import { processesWith } from "../testing/processes.ts";
import type { StoppingAgentOptions } from "../testing/stopping-agent.ts";

const driverName = "gpu.example.com";
const node = "n1";
const namespace = "default";
const token = "agent-token";
/** Seconds; identifies the processes of this test. */
const nap = String(1_000_000 + process.pid);
const program = fileURLToPath(new URL("../testing/stopping-agent.ts", import.meta.url));

let store: Store;
let server: ApiServer;
let admin: Client;
let options: Omit<StoppingAgentOptions, "stopAt">;
let root: string;
let driver: TestDriver;

before(async () => {
  root = mkdtempSync("/tmp/dk-");
  const now = Date.now();
  const authority = await createAuthority("test", now);
  const usages = ["server"] as const;
  const address = { commonName: "test", ipAddresses: ["127.0.0.1"], usages };
  const { certificate, key } = await issueCertificate(authority, address, now);
  store = memoryStore(systemClock);
  server = await createServer({
    store,
    serving: { certificate, key, clientAuthority: authority.certificate },
    tokens: [{ token, user: { name: `system:node:${node}`, groups: ["system:nodes"] } }],
  });
  const { port } = await server.listen({ port: 0 });
  admin = createClient({
    transport: server.transport({ name: "admin", groups: ["system:masters", "system:authenticated"] }),
    userAgent: "test",
  });
  await admin.resource(ServiceAccount).create({ metadata: { namespace, name: "default" } });
  const ca = authority.certificate;
  options = { server: `https://127.0.0.1:${port}`, ca, token, node, rootDir: root, cert: certificate, key };
  new NodePaths(root).create();
  driver = await testDriver(root, driverName);
});

after(async () => {
  await driver.close();
  admin.close();
  await server.close();
  await store.close();
  rmSync(root, { recursive: true, force: true });
});

/** One run of the agent. */
class Agent {
  readonly steps: string[] = [];
  readonly #child: ChildProcess;

  constructor(stopAt: number) {
    const flags = ["--conditions=dray-source", "--disable-warning=ExperimentalWarning"];
    const argv = [...flags, program, JSON.stringify({ ...options, stopAt })];
    this.#child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      this.steps.push(...lines);
    });
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    if (this.ended) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

/** Output of the pod's containers. */
const found = (): string => join(root, "var/lib/found");

/** Two containers that require their device; a sidecar records the order. */
async function create(pod: string): Promise<void> {
  const say = (who: string) =>
    `echo "${who} \${GPU:-nothing}" >>/found/file; trap "exit 0" TERM; sleep ${nap} & wait`;
  const resources = { claims: [{ name: "gpu" }] };
  const mounts = [{ name: "found", mountPath: "/found" }];
  const { metadata } = await admin.resource(Pod).create(
    podOn(node, pod, {
      terminationGracePeriodSeconds: 5,
      resourceClaims: [{ name: "gpu", resourceClaimName: pod }],
      volumes: [{ name: "found", hostPath: { path: "/var/lib/found", type: "DirectoryOrCreate" } }],
      initContainers: [
        {
          name: "side",
          restartPolicy: "Always",
          command: ["bash", "-c", say("side")],
          resources,
          volumeMounts: mounts,
        },
      ],
      containers: [{ name: "main", command: ["bash", "-c", say("main")], resources, volumeMounts: mounts }],
    }),
  );
  const claims = admin.resource(ResourceClaim);
  const claim = await claims.create({
    metadata: { namespace, name: pod },
    spec: {
      devices: {
        requests: [
          { name: "gpu", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 } },
        ],
      },
    },
  });
  const results = [{ request: "gpu", driver: driverName, pool: "pool", device: "gpu-0" }];
  const reservedFor = [{ resource: "pods", name: pod, uid: metadata.uid }];
  const status = { allocation: { devices: { results } }, reservedFor };
  await claims.update({ ...claim, status }, { subresource: "status" });
}

const running = ({ status }: Pod): boolean =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].every(
    ({ state }) => state?.running !== undefined,
  ) && (status?.containerStatuses ?? []).length === 1;

async function isGone(pod: string): Promise<boolean> {
  try {
    await admin.resource(Pod).get({ namespace, name: pod });
    return false;
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return true;
    throw error;
  }
}

/** The life of a pod, in which the agent is killed after step number `stopAt`. Resolves with the steps. */
async function live(pod: string, stopAt: number): Promise<readonly string[]> {
  driver.calls.length = 0;
  let early = 0;
  driver.unpreparing = () => {
    early += processesWith("sleep", nap).length;
  };
  rmSync(found(), { recursive: true, force: true });
  await create(pod);
  const first = new Agent(stopAt);
  let agent = first;
  const watch = setInterval(() => {
    if (agent.ended) agent = new Agent(0);
  }, 20);
  try {
    const ref = { namespace, name: pod };
    await podBecomes(admin, ref, running);
    assert.deepEqual(driver.calls.at(-1), `prepare ${pod}`);
    await admin.resource(Pod).delete(ref);
    await eventuallyPasses(async () => assert.ok(await isGone(pod), "the pod is still there"));
    await eventuallyPasses(async () => {
      // Unprepared after the last prepare, and at least once.
      assert.equal(driver.calls.at(-1), `unprepare ${pod}`);
      for (const folder of ["var/lib/kubelet/pods", "var/log/pods", "var/run/cdi"])
        assert.deepEqual(readdirSync(join(root, folder)), [], folder);
      for (const folder of ["sandboxes", "containers"])
        assert.deepEqual(readdirSync(join(root, "var/lib/dray", folder)), [], folder);
      const { Data } = readRecord<{ Data: string }>(join(root, "var/lib/kubelet"), "dra_manager_state")!;
      assert.deepEqual(JSON.parse(Data).ClaimInfoStateList, []);
    });
  } finally {
    clearInterval(watch);
    await agent.kill();
  }
  const lines = readFileSync(join(found(), "file"), "utf8").trimEnd().split("\n");
  for (const line of lines) assert.match(line, new RegExp(`^(side|main) ${pod}$`));
  assert.deepEqual(processesWith("sleep", nap), []);
  assert.equal(early, 0, "a claim was unprepared while a container ran");
  await admin.resource(ResourceClaim).delete({ namespace, name: pod });
  return first.steps.filter((step) => step !== "started");
}

test("killed after any step, the agent's successor brings every pod to its end", {
  timeout: 280_000,
}, async (t) => {
  const steps = await live("whole", 0);
  for (const needed of ["claims prepared", "container started", "claims unprepared", "volumes removed"])
    assert.ok(steps.includes(needed), `${needed} is no step: ${steps}`);
  // Each step once; `watch` has no effect.
  const points = steps.flatMap((step, index) =>
    !step.endsWith(" watch") && steps.indexOf(step) === index ? [index + 1] : [],
  );
  for (const point of points)
    await t.test(`after "${steps[point - 1]}" (step ${point})`, async () => {
      await live(`p${point}`, point);
    });
});
