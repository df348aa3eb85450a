import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Draft, StatusError } from "@dray/api";
import { type Container, Pod, type PodSpec } from "@dray/api/core/v1";
import {
  type ApiServer,
  type Certificate,
  createAuthority,
  createServer,
  issueCertificate,
  type ServerOptions,
} from "@dray/apiserver";
import { type Client, createClient, type Log, silentLog, systemClock, type Transport } from "@dray/client";
import { memoryStore } from "@dray/store";
import {
  type HostRuntimeSettings,
  hostRuntime,
  type Kubelet,
  type KubeletOptions,
  startKubelet,
} from "../index.ts";

/** A real API server in this process, and nodes on roots that are removed with the test. */
export interface TestCluster {
  readonly admin: Client;
  readonly rootDir: (node: string) => string;
  readonly authority: Certificate;
  /** Certificate of the admin, for the endpoints of nodes. */
  clientCertificate: { cert?: string; key?: string };
  node(name: string, options?: NodeSettings): Promise<Kubelet>;
  /** Serves HTTPS too. Returns a kubeconfig of the admin, for programs. */
  listen(): Promise<string>;
  /** Options with which `node` starts an agent. */
  nodeOptions(name: string, options?: NodeSettings): Promise<KubeletOptions>;
  /** Client of the node's agent. */
  nodeClient(name: string): Client;
  /** Client of the agent that routes Services. */
  proxyClient(): Client;
  /** Another agent on the root of one that was stopped. */
  close(): Promise<void>;
}

/** Overrides of a node, and of its host runtime. */
export type NodeSettings = Partial<KubeletOptions & HostRuntimeSettings>;

const stderrLog: Log = {
  debug: () => {},
  info: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  warn: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields, errors)}\n`),
  error: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields, errors)}\n`),
};
const errors = (_: string, value: unknown): unknown => (value instanceof Error ? value.stack : value);

/** `around` wraps the transports of all nodes. */
export async function testCluster(
  settings: Pick<ServerOptions, "featureGates" | "serviceRanges" | "loopbackPods"> = {},
  around: (transport: Transport) => Transport = (transport) => transport,
): Promise<TestCluster> {
  const log = process.env["DRAY_TEST_LOG"] ? stderrLog : silentLog;
  const store = memoryStore(systemClock);
  const folder = mkdtempSync(process.env["DRAY_TEST_ROOT"] ?? "/tmp/dk-");
  const authority = await createAuthority("test", Date.now());
  const own = { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] } as const;
  const serving = await issueCertificate(authority, own, Date.now());
  const server = await createServer({
    store,
    log,
    serving: { ...serving, clientAuthority: authority.certificate },
    ...settings,
  });
  const adminCertificate = await issueCertificate(
    authority,
    { commonName: "admin", organizations: ["system:masters"], usages: ["client"] },
    Date.now(),
  );
  const connect = connector(server);
  const admin = connect("admin", ["system:masters"]);
  const kubelets = new Set<Kubelet>();
  // The runtime's watchers keep no process alive.
  const alive = setInterval(() => {}, 1000);
  const rootDir = (node: string): string => join(folder, node);
  const nodeClient = (node: string): Client => connect(`system:node:${node}`, ["system:nodes"], around);
  const nodeOptions: TestCluster["nodeOptions"] = async (name, settings = {}) => {
    const { images = [], isolation = "auto", cgroups = "auto", stateDir, ...options } = settings;
    const certificate = await issueCertificate(
      authority,
      {
        commonName: `system:node:${name}`,
        organizations: ["system:nodes"],
        ipAddresses: ["127.0.0.1"],
        usages: ["server"],
      },
      Date.now(),
    );
    return {
      client: nodeClient(name),
      nodeName: name,
      rootDir: rootDir(name),
      apiServer: { host: "127.0.0.1", port: 6443 },
      serving: { cert: certificate.certificate, key: certificate.key, clientCA: authority.certificate },
      runtime: hostRuntime({ images, isolation, cgroups, ...(stateDir === undefined ? {} : { stateDir }) }),
      log,
      ...options,
    };
  };
  return {
    admin,
    rootDir,
    nodeClient,
    proxyClient: () => connect("system:kube-proxy", []),
    nodeOptions,
    authority,
    clientCertificate: { cert: adminCertificate.certificate, key: adminCertificate.key },
    async node(name, options) {
      const kubelet = await startKubelet(await nodeOptions(name, options));
      kubelets.add(kubelet);
      return {
        ...kubelet,
        stop: async (how) => {
          kubelets.delete(kubelet);
          await kubelet.stop(how);
        },
      };
    },
    async listen() {
      const { url } = await server.listen();
      const base64 = (text: string): string => Buffer.from(text).toString("base64");
      const { certificate, key } = adminCertificate;
      const cluster = { server: url, "certificate-authority-data": base64(authority.certificate) };
      const user = { "client-certificate-data": base64(certificate), "client-key-data": base64(key) };
      return JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "test", cluster }],
        users: [{ name: "admin", user }],
        contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
        "current-context": "test",
      });
    },
    async close() {
      for (const kubelet of kubelets) await kubelet.stop({ leavePods: false });
      clearInterval(alive);
      await server.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for a pod to be as wanted. Rejects after some seconds with its status. */
export async function podBecomes(
  client: Client,
  ref: { namespace: string; name: string },
  wanted: (pod: Pod) => boolean,
  milliseconds = 30_000,
): Promise<Pod> {
  let last: Pod | undefined;
  for (const end = Date.now() + milliseconds; Date.now() < end; ) {
    last = await client
      .resource(Pod)
      .get(ref)
      .catch((error: unknown) => {
        // Between two pods of one name.
        if (StatusError.is(error, "NotFound")) return undefined;
        throw error;
      });
    if (last !== undefined && wanted(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`pod ${ref.name} did not become as wanted: ${JSON.stringify(last?.status, null, 1)}`);
}

/** A pod that is bound to a node. */
export function podOn(
  node: string,
  name: string,
  spec: Partial<PodSpec> & Pick<PodSpec, "containers">,
): Draft<Pod> {
  const withDefaults = (container: Container): Container => ({
    image: "ubuntu:22.04",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
    ...container,
  });
  return {
    metadata: { namespace: "default", name },
    spec: {
      nodeName: node,
      automountServiceAccountToken: false,
      restartPolicy: "Always",
      dnsPolicy: "ClusterFirst",
      terminationGracePeriodSeconds: 5,
      ...spec,
      containers: spec.containers.map(withDefaults),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withDefaults) }),
    },
  };
}

/** Returns a function that makes clients of users; `wrap` wraps their transports. */
function connector(server: ApiServer) {
  return (name: string, groups: string[], wrap = (transport: Transport): Transport => transport): Client =>
    createClient({
      transport: wrap(server.transport({ name, groups: [...groups, "system:authenticated"] })),
      userAgent: `${name}/test`,
    });
}
