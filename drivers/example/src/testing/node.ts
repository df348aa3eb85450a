import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Draft } from "@dray/api";
import { Node, ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { createAuthority, createServer, issueCertificate } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { unixChannel } from "@dray/rpc";
import { DRAPluginDefinition, type NodePrepareResourceResponse } from "@dray/rpc/dra/v1";
import { memoryStore } from "@dray/store";
import { eventually } from "@dray/testing/eventually";

export const driverName = "gpu.example.com";
export const nodeName = "kind-worker";

/**
 * A real API server over HTTPS and the folders of one node, for programs that run like a pod of the driver.
 */
export interface TestNode {
  readonly admin: Client;
  readonly root: string;
  readonly registration: string;
  readonly dra: string;
  readonly cdi: string;
  readonly claims: string;
  /**
   * Starts a program with the environment of the tutorial's DaemonSet and waits for its registration socket.
   */
  start(program: string, env?: Record<string, string>): Promise<Program>;
  /** Creates an allocated claim for a GPU. */
  claim(name: string, device: string): Promise<ResourceClaim>;
  prepare(claim: ResourceClaim): Promise<NodePrepareResourceResponse>;
  unprepare(claim: ResourceClaim): Promise<string>;
  close(): Promise<void>;
}

export interface Program {
  readonly process: ChildProcess;
  /** Returns its output on stderr. */
  log(): string;
  /** Sends a signal and resolves to the exit code or the signal. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

export async function testNode(): Promise<TestNode> {
  const root = mkdtempSync("/tmp/dx-");
  const now = Date.now();
  const authority = await createAuthority("test", now);
  const address = { commonName: "apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] } as const;
  const { certificate, key } = await issueCertificate(authority, address, now);
  const store = memoryStore(systemClock);
  const server = await createServer({
    store,
    serving: { certificate, key, clientAuthority: authority.certificate },
  });
  const { port } = await server.listen({ port: 0 });
  const transport = server.transport({ name: "admin", groups: ["system:masters", "system:authenticated"] });
  const admin = createClient({ transport, userAgent: "test" });

  await admin.resource(Node).create({ metadata: { name: nodeName }, spec: {} });
  const account = join(root, "account");
  mkdirSync(account);
  writeFileSync(join(account, "ca.crt"), authority.certificate);
  writeFileSync(join(account, "token"), await tutorialAccount(admin));

  const kubeconfig = writeKubeconfig(account, port);
  const registrar = join(root, "plugins_registry");
  const plugins = join(root, "plugins");
  const cdi = join(root, "cdi");
  const paths = {
    registration: join(registrar, `${driverName}-reg.sock`),
    dra: join(plugins, driverName, "dra.sock"),
    cdi,
    claims: join(plugins, driverName, "claims"),
  };
  const programs = new Set<Program>();

  const call = async <R>(run: (dra: ReturnType<typeof caller>) => Promise<R>): Promise<R> => {
    const channel = unixChannel(paths.dra);
    try {
      return await run(caller(channel));
    } finally {
      channel.close();
    }
  };
  const caller = (channel: ReturnType<typeof unixChannel>) => channel.caller(DRAPluginDefinition);
  const ref = ({ metadata: { uid, namespace, name } }: ResourceClaim) => ({ uid, namespace, name });

  return {
    admin,
    root,
    ...paths,
    async start(file, env = {}) {
      const program = run(file, {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        KUBECONFIG: kubeconfig,
        NODE_NAME: nodeName,
        NAMESPACE: "dra-tutorial",
        NUM_DEVICES: "9",
        CDI_ROOT: cdi,
        KUBELET_REGISTRAR_DIRECTORY_PATH: registrar,
        KUBELET_PLUGINS_DIRECTORY_PATH: plugins,
        ...env,
      });
      programs.add(program);
      const up = () => existsSync(paths.registration) || program.process.exitCode !== null;
      await eventually("the registration socket", up);
      return program;
    },
    async claim(name, device) {
      const claim = await admin.resource(ResourceClaim).create(claimFor(name));
      const result = { request: "some-gpu", driver: driverName, pool: nodeName, device };
      const status = { allocation: { devices: { results: [result] } } };
      return admin.resource(ResourceClaim).update({ ...claim, status }, { subresource: "status" });
    },
    prepare: async (claim) =>
      call(async (dra) => {
        const answer = await dra.nodePrepareResources({ claims: [ref(claim)] }, { timeout: 10_000 });
        return answer.claims[claim.metadata.uid]!;
      }),
    unprepare: async (claim) =>
      call(async (dra) => {
        const answer = await dra.nodeUnprepareResources({ claims: [ref(claim)] }, { timeout: 10_000 });
        return answer.claims[claim.metadata.uid]!.error;
      }),
    async close() {
      await Promise.all([...programs].map((program) => program.end("SIGKILL")));
      admin.close();
      await server.close();
      await store.close();
      rmSync(root, { recursive: true });
    },
  };
}

/** Writes a kubeconfig like that of a pod, and returns its path. */
function writeKubeconfig(account: string, port: number): string {
  const path = join(account, "kubeconfig");
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority": join(account, "ca.crt"),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "pod", cluster }],
    users: [{ name: "pod", user: { tokenFile: join(account, "token") } }],
    contexts: [{ name: "pod", context: { cluster: "pod", user: "pod" } }],
    "current-context": "pod",
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function claimFor(name: string): Draft<ResourceClaim> {
  const exactly = { deviceClassName: driverName, allocationMode: "ExactCount", count: 1 } as const;
  return {
    metadata: { namespace: "default", name },
    spec: { devices: { requests: [{ name: "some-gpu", exactly }] } },
  };
}

/**
 * Creates the service account of the tutorial's driver with the tutorial's permissions, and returns a token.
 */
async function tutorialAccount(admin: Client): Promise<string> {
  const name = "dra-example-driver-service-account";
  await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name } });
  const role: Draft<ClusterRole> = {
    metadata: { name: "dra-example-driver-role" },
    rules: [
      { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["get"] },
      { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
      {
        apiGroups: ["resource.k8s.io"],
        resources: ["resourceslices"],
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
      },
    ],
  };
  await admin.resource(ClusterRole).create(role);
  await admin.resource(ClusterRoleBinding).create({
    metadata: { name: "dra-example-driver-role-binding" },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    roleRef: { kind: "ClusterRole", name: "dra-example-driver-role", apiGroup: "rbac.authorization.k8s.io" },
  });
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const answer = await admin
    .resource(ServiceAccount)
    .post<{ status: { token: string } }>({ namespace: "default", name }, "token", request);
  return answer.status.token;
}

function run(file: string, env: NodeJS.ProcessEnv): Program {
  const flags = ["--conditions=dray-source", "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, file], { env, stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  const ended = new Promise<number | string>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown")),
  );
  return {
    process: child,
    log: () => text,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
