import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { inClusterConfig, loadKubeconfig, writeKubeconfig } from "@dray/client";

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "dray-kubeconfig-"));
});
after(() => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("a written file is loaded again, is readable by its owner only, and is replaced as a whole", async () => {
  const file = at("written/config");
  await writeKubeconfig(file, { name: "dray", server: "https://127.0.0.1:1", ca: "CA", token: "old" });
  await writeKubeconfig(file, {
    name: "dray",
    server: "https://127.0.0.1:6443",
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    namespace: "n",
  });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await loadKubeconfig({ file }), {
    context: "dray",
    namespace: "n",
    connection: { server: "https://127.0.0.1:6443", ca: "CA", cert: "CERT", key: "KEY" },
  });
});

test("relative paths are resolved from the folder of the file; --context selects a context", async () => {
  await mkdir(at("yaml"));
  await writeFile(at("yaml/ca.crt"), "CA FILE");
  await writeFile(at("yaml/client.key"), "KEY FILE");
  const file = at("yaml/config");
  await writeFile(
    file,
    `apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {server: "https://c:1", certificate-authority: ca.crt, tls-server-name: other}
- name: insecure
  cluster: {server: "https://i:1", insecure-skip-tls-verify: true}
users:
- name: u
  user: {client-certificate-data: ${base64("CERT")}, client-key: client.key}
- name: t
  user: {tokenFile: token, token: ignored}
contexts:
- name: one
  context: {cluster: c, user: u}
- name: two
  context: {cluster: insecure, user: t, namespace: ns}
`,
  );
  assert.deepEqual(await loadKubeconfig({ file }), {
    context: "one",
    namespace: "default",
    connection: {
      server: "https://c:1",
      ca: "CA FILE",
      tlsServerName: "other",
      cert: "CERT",
      key: "KEY FILE",
    },
  });
  assert.deepEqual(await loadKubeconfig({ file, context: "two" }), {
    context: "two",
    namespace: "ns",
    connection: { server: "https://i:1", insecureSkipTlsVerify: true, tokenFile: at("yaml/token") },
  });
});

test("$KUBECONFIG is a list: the first definition wins, missing files are skipped", async () => {
  const part = (server: string, more: object): string =>
    JSON.stringify({ clusters: [{ name: "c", cluster: { server } }], ...more });
  await writeFile(at("first"), part("https://first", {}));
  await writeFile(
    at("second"),
    part("https://second", {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      users: [{ name: "u", user: { token: "T" } }],
    }),
  );
  const KUBECONFIG = [at("none"), at("first"), "", at("second")].join(":");
  const { context, connection } = await loadKubeconfig({ env: { KUBECONFIG } });
  assert.deepEqual([context, connection], ["x", { server: "https://first", token: "T" }]);
  // A file that is named wins over all of them, and must be there.
  const named = loadKubeconfig({ file: at("none"), env: { KUBECONFIG } });
  await assert.rejects(
    named,
    (error: Error) => error.message === `kubeconfig ${at("none")}: there is no such file`,
  );
});

test("~/.kube/config precedes the service account of the pod", async () => {
  await mkdir(at("home/.kube"), { recursive: true });
  const env = { HOME: at("home") };
  await assert.rejects(loadKubeconfig({ env }), /no kubeconfig: .*home\/\.kube\/config does not exist/);
  await mkdir(at("account"));
  await writeFile(at("account/ca.crt"), "CA");
  await writeFile(at("account/token"), "TOKEN");
  await writeFile(at("account/namespace"), "ns\n");
  const inPod = {
    ...env,
    KUBERNETES_SERVICE_HOST: "fd00::1",
    KUBERNETES_SERVICE_PORT: "443",
  };
  const expected = {
    context: "",
    namespace: "ns",
    connection: { server: "https://[fd00::1]:443", ca: "CA", tokenFile: at("account/token") },
  };
  const serviceAccountFolder = at("account");
  assert.deepEqual(await loadKubeconfig({ env: inPod, serviceAccountFolder }), expected);
  assert.deepEqual(await inClusterConfig(inPod, serviceAccountFolder), expected);
  await writeKubeconfig(at("home/.kube/config"), { name: "mine", server: "https://s", ca: "CA" });
  assert.equal((await loadKubeconfig({ env: inPod, serviceAccountFolder })).context, "mine");
  await assert.rejects(inClusterConfig({}), /KUBERNETES_SERVICE_HOST/);
});

test("errors name the file, the missing entry and the existing ones", async () => {
  const file = at("broken");
  await writeFile(
    file,
    JSON.stringify({ "current-context": "a", contexts: [{ name: "b", context: { cluster: "c" } }] }),
  );
  await assert.rejects(loadKubeconfig({ file }), new RegExp(`${file}: no context "a" \\(there is: b\\)`));
  await assert.rejects(loadKubeconfig({ file, context: "b" }), /no cluster "c" \(there is: none\)/);
  await writeFile(file, "clusters: [");
  await assert.rejects(loadKubeconfig({ file }), new RegExp(`kubeconfig ${file} is malformed`));
  await writeFile(file, "{}");
  await assert.rejects(loadKubeconfig({ file }), /no current-context is set/);
});

async function withPlugin(script: string, more: object = {}): Promise<ReturnType<typeof loadKubeconfig>> {
  await writeFile(at("plugin.sh"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "./plugin.sh",
    interactiveMode: "Never",
    env: [{ name: "WHO", value: "me" }],
    args: ["arg"],
    ...more,
  };
  const file = at("exec");
  await writeFile(at("authority"), "CA");
  const cluster = {
    server: "https://c",
    "certificate-authority": "authority",
    "disable-compression": true,
    extensions: [
      { name: "other", extension: { a: 1 } },
      { name: "client.authentication.k8s.io/exec", extension: { audience: "me" } },
    ],
  };
  const config = {
    "current-context": "x",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { exec } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  };
  await writeFile(file, JSON.stringify(config));
  return loadKubeconfig({ file });
}

test("an exec plugin runs when credentials are needed, expired or refused, with its environment", async () => {
  const status = `{"token":"'"$n-$WHO-$1"'","expirationTimestamp":"2999-01-01T00:00:00Z"}`;
  const { connection } = await withPlugin(
    `echo x >> ${at("runs")}; n=$(wc -l < ${at("runs")} | tr -d ' '); echo "$KUBERNETES_EXEC_INFO" > ${at("info")}
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":${status}}'`,
    { provideClusterInfo: true },
  );
  assert.deepEqual(await connection.credentials?.get(), { token: "1-me-arg" });
  assert.deepEqual(await connection.credentials?.get(), { token: "1-me-arg" });
  assert.deepEqual(await connection.credentials?.get(true), { token: "2-me-arg" });
  const info = JSON.parse(await readFile(at("info"), "utf8"));
  assert.deepEqual(info.spec, {
    interactive: false,
    cluster: {
      server: "https://c",
      "certificate-authority-data": "Q0E=",
      "disable-compression": true,
      config: { audience: "me" },
    },
  });
  assert.equal(connection.disableCompression, true);
});

test("errors name an exec plugin that fails, is missing or returns invalid output", async () => {
  const failing = await withPlugin("exit 3");
  await assert.rejects(
    async () => failing.connection.credentials?.get(),
    /plugin\.sh failed with exit code 3/,
  );
  const silent = await withPlugin("echo '{}'");
  await assert.rejects(
    async () => silent.connection.credentials?.get(),
    /returned undefined of undefined; expected ExecCredential/,
  );
  const missing = await withPlugin("", { command: "./none", installHint: "install it" });
  await assert.rejects(
    async () => missing.connection.credentials?.get(),
    /none cannot be run: .*\ninstall it/,
  );
});
