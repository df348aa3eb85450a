import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type RequestListener, request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import type { RuntimeError } from "../../error.ts";
import { testImage } from "../testing/image.ts";
import { type TestRegistry, testRegistry } from "../testing/registry.ts";
import { hostsOf } from "./hosts.ts";
import { OciImages } from "./service.ts";

const image = testImage([[{ name: "a", type: "file", content: "a" }]]);

interface Setting {
  readonly images: OciImages;
  readonly folder: string;
  /** Writes the file of a registry. */
  hosts(registry: string, text: string): void;
}

async function setting(t: TestContext): Promise<Setting> {
  const folder = temporaryFolder(t);
  const registryHosts = join(folder, "hosts");
  mkdirSync(registryHosts);
  const directory = join(folder, "store");
  const images = await OciImages.open({ directory, now: Date.now, retryDelay: 1, registryHosts });
  t.after(() => images.close());
  const hosts = (registry: string, text: string): void => {
    mkdirSync(join(registryHosts, registry), { recursive: true });
    writeFileSync(join(registryHosts, registry, "hosts.toml"), text);
  };
  return { images, folder, hosts };
}

async function registryOf(t: TestContext): Promise<TestRegistry> {
  const registry = await testRegistry();
  t.after(() => registry.close());
  return registry;
}

test("an image comes from a mirror, which receives the name of the registry and no credentials of the pod", async (t) => {
  const { images, hosts } = await setting(t);
  const mirror = await registryOf(t);
  mirror.push(image, "v1");
  hosts("_default", `[host."http://${mirror.host}"]\nheader.x-token = ["secret"]\n`);
  const credentials = { username: "me", password: "secret" };
  const ref = await images.pullImage("example.com/team/app:v1", [credentials]);
  assert.equal(ref, `example.com/team/app@${image.digest}`);
  assert.ok((await images.imageStatus("example.com/team/app:v1")) !== undefined);
  assert.equal(mirror.requests[0]?.url, "/v2/team/app/manifests/v1?ns=example.com");
  for (const { url, headers } of mirror.requests) {
    assert.match(url, /\?ns=example\.com$/);
    assert.deepEqual([headers.authorization, headers["x-token"]], [undefined, "secret"]);
  }
});

test("hosts are tried in the order of the file, the registry last, each for what it can do", async (t) => {
  const { images, hosts } = await setting(t);
  const [empty, blobs, registry] = [await registryOf(t), await registryOf(t), await registryOf(t)];
  blobs.push(image, "v1");
  registry.push(image, "v1");
  const name = registry.host.replace(/:(\d+)$/, "_$1_");
  hosts(
    name,
    `[host."http://${empty.host}/below"]\n[host."http://${blobs.host}/v2"]\ncapabilities = ["pull"]\n`,
  );
  await images.pullImage(`${registry.host}/app:v1`, []);
  const urls = (one: TestRegistry): string[] => one.requests.map(({ url }) => url);
  assert.equal(urls(empty)[0], `/below/v2/app/manifests/v1?ns=${encodeURIComponent(registry.host)}`);
  assert.deepEqual(urls(registry), ["/v2/app/manifests/v1"]);
  assert.equal(urls(blobs).filter((url) => url.startsWith("/v2/app/blobs/")).length, 2);
  // The error lists the failure of each host.
  await assert.rejects(images.pullImage(`${registry.host}/app:v2`, []), (error: RuntimeError) => {
    assert.equal(error.reason, "ErrImagePull");
    assert.ok(error.message.includes(`http://${empty.host}: `), error.message);
    assert.ok(error.message.includes(`http://${registry.host}: `), error.message);
    return true;
  });
});

test("a mirror with a certificate of its own is trusted by its CA, or not verified at all", async (t) => {
  const { images, folder, hosts } = await setting(t);
  const plain = await registryOf(t);
  plain.push(image, "v1");
  const [key, cert] = [join(folder, "key.pem"), join(folder, "hosts/mirror.crt")];
  const subject = ["-subj", "/CN=mirror", "-addext", "subjectAltName=IP:127.0.0.1"];
  const pair = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    key,
    "-out",
    cert,
  ];
  execFileSync("openssl", ["req", "-x509", ...subject, ...pair], { stdio: "pipe" });
  const forward: RequestListener = ({ url, headers }, response) =>
    void request(`http://${plain.host}${url}`, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    }).end();
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, forward);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close().closeAllConnections());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pull = (name: string) => images.pullImage(`${name}/app:v1`, []);
  // The registry itself is never contacted: its name does not exist.
  const only = `server = "${url}"\n`;
  hosts("unknown.invalid", only);
  await assert.rejects(pull("unknown.invalid"), /self-signed certificate/);
  hosts("trusted.invalid", `${only}ca = "../mirror.crt"\n`);
  await pull("trusted.invalid");
  hosts("unverified.invalid", `${only}skip_verify = true\n`);
  await pull("unverified.invalid");
});

test("without a file for it a registry is asked itself", async (t) => {
  const { folder } = await setting(t);
  mkdirSync(join(folder, "hosts/empty.example.com"));
  const registryHosts = join(folder, "hosts");
  for (const [domain, root] of [
    ["docker.io", "https://registry-1.docker.io/v2/"],
    ["empty.example.com", "https://empty.example.com/v2/"],
    ["localhost:5000", "http://localhost:5000/v2/"],
  ] as const) {
    const found = await hostsOf(domain, { registryHosts });
    assert.deepEqual(
      found.map((host) => [host.root.href, host.isMirror]),
      [[root, false]],
    );
  }
});

test("a file that is wrong fails the pull with its path and field", async (t) => {
  const { images, folder, hosts } = await setting(t);
  const path = join(folder, "hosts/a.example.com/hosts.toml");
  for (const [text, problem] of [
    ["server = ", `${path}:1:10: `],
    ["server = 1\n", `${path}: server: 1: must be a string`],
    ['[host."ftp://a"]\n', `${path}: host."ftp://a": "ftp://a": must be the address of a host`],
    [
      '[host."https://a"]\ncapabilities = ["fetch"]\n',
      `${path}: host."https://a".capabilities: "fetch": must be pull, resolve, push or referrers`,
    ],
    ['skip_verify = "yes"\n', `${path}: skip_verify: "yes": must be true or false`],
    ['ca = "none.crt"\n', `${path}: ca: ENOENT`],
  ] as const) {
    hosts("a.example.com", text);
    await assert.rejects(images.pullImage("a.example.com/app:v1", []), (error: RuntimeError) => {
      assert.ok(error.message.includes(problem), `${error.message} says ${problem}`);
      return error.reason === "ErrImagePull";
    });
  }
});
