import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { testImage } from "../testing/image.ts";
import { type TestRegistry, testRegistry } from "../testing/registry.ts";
import { answered, blobsOf, file, folder, open } from "../testing/store.ts";
import { ownPlatform } from "./manifest.ts";
import { parseChallenge } from "./registry/credentials.ts";

test("an image is pulled for this platform, with a token for its registry alone", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  const elsewhere = await testRegistry();
  t.after(() => Promise.all([registry.close(), elsewhere.close()]));
  const own = testImage([[file("own")], [file("second")]], { StopSignal: "SIGQUIT" });
  const foreign = testImage([[file("foreign")]], {}, "gzip", { os: "linux", architecture: "s390x" });
  const target = registry.pushIndex(
    [
      { image: foreign, platform: { os: "linux", architecture: "s390x" } },
      { image: foreign, platform: { os: "unknown", architecture: "unknown" } },
      { image: own, platform: ownPlatform() },
    ],
    "v1",
  );
  for (const [digest, data] of registry.blobs) elsewhere.blobs.set(digest, data);
  registry.intercept = ({ url = "", headers }, response) => {
    if (url.startsWith("/token")) {
      const good = headers.authorization === `Basic ${Buffer.from("me:secret").toString("base64")}`;
      response
        .writeHead(good ? 200 : 401)
        .end(JSON.stringify(good ? { token: "T" } : { details: "bad login" }));
      return true;
    }
    if (headers.authorization !== "Bearer T") {
      const challenge = `Bearer realm="http://${registry.host}/token",service="s",scope="repository:a/b:pull"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
      return true;
    }
    if (!url.includes("/blobs/")) return false;
    response.writeHead(307, { location: `http://${elsewhere.host}${url}` }).end();
    return true;
  };
  const images = await open(t, join(at, "store"));
  const name = `${registry.host}/a/b:v1`;
  await assert.rejects(
    images.pullImage(name, [{ username: "me", password: "wrong" }]),
    (error: Error & { reason?: string }) => {
      assert.equal(error.reason, "ErrImagePull");
      assert.match(error.message, /pull access denied.*status 401: bad login/);
      return true;
    },
  );
  const auth = Buffer.from("me:secret").toString("base64");
  const ref = await images.pullImage(name, [{ username: "x", password: "y" }, { auth }]);
  assert.equal(ref, `${registry.host}/a/b@${target}`);
  assert.deepEqual(
    registry.requests.filter(({ url }) => url.startsWith("/token")).at(-1)?.url,
    "/token?scope=repository%3Aa%2Fb%3Apull&service=s",
  );
  assert.ok(elsewhere.requests.length >= 3);
  for (const { headers } of elsewhere.requests) assert.equal(headers.authorization, undefined);
  const status = await images.imageStatus(name);
  assert.deepEqual(status?.digests, [ref]);
  assert.deepEqual(status?.tags, [name]);
  assert.equal((await images.resolve(ref)).config.stopSignal, "SIGQUIT");
  // Everything exists: a second pull fetches the tag only.
  elsewhere.requests.length = 0;
  assert.equal(await images.pullImage(ref, [{ auth }]), ref);
  assert.equal(elsewhere.requests.length, 0);
});

test("other ways to log in: basic, a registry token, a refresh token", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(testImage([[file("a")]]), "v1");
  let challenge = "";
  let wanted = "";
  registry.intercept = ({ url = "", method, headers }, response) => {
    if (url === "/token" && method === "POST") {
      const form = new URLSearchParams(registry.requests.at(-1)?.body);
      const good = form.get("refresh_token") === "refresh" && form.get("grant_type") === "refresh_token";
      response.writeHead(good ? 200 : 401).end(JSON.stringify({ access_token: "fresh" }));
      return true;
    }
    if (headers.authorization === wanted) return false;
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return true;
  };
  const pull = async (n: number, credentials: object): Promise<string> =>
    (await open(t, join(at, `store${n}`))).pullImage(`${registry.host}/a:v1`, [credentials]);
  challenge = 'Basic realm="r"';
  wanted = `Basic ${Buffer.from("u:p").toString("base64")}`;
  await pull(1, { username: "u", password: "p" });
  await assert.rejects(pull(2, { identityToken: "i" }), /no credentials for it/);
  challenge = `Bearer realm="http://${registry.host}/token",service="s"`;
  wanted = "Bearer given";
  await pull(3, { registryToken: "given" });
  wanted = "Bearer fresh";
  await pull(4, { identityToken: "refresh" });
  assert.deepEqual(
    [...parseChallenge('Bearer realm="a,\\"b", service=c').parameters],
    [
      ["realm", 'a,"b'],
      ["service", "c"],
    ],
  );
});

test("a download goes on where it broke off, in another process too", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  const noise = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));
  const image = testImage([[{ name: "noise", type: "file", content: noise }]], {}, "none");
  registry.push(image, "v1");
  const [layer = "", data = Buffer.alloc(0)] =
    [...image.blobs].find(([, blob]) => blob.length > 200_000) ?? [];
  let breaks = true;
  const ranges: (string | undefined)[] = [];
  registry.intercept = ({ url = "", headers }, response) => {
    if (!url.endsWith(layer)) return false;
    ranges.push(headers.range);
    if (!breaks) return false;
    const start = Number(/\d+/.exec(headers.range ?? "0")?.[0]);
    response.writeHead(start > 0 ? 206 : 200, {
      "content-length": data.length - start,
      ...(start > 0 ? { "content-range": `bytes ${start}-${data.length - 1}/${data.length}` } : {}),
    });
    response.write(data.subarray(start, start + 40_000), () => setTimeout(() => response.destroy(), 20));
    return true;
  };
  const store = join(at, "store");
  const first = await open(t, store);
  const controller = new AbortController();
  const pulled = first.pullImage(`${registry.host}/a:v1`, [], { signal: controller.signal });
  while (ranges.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await assert.rejects(pulled, { reason: "ErrImagePull" });
  breaks = false;
  const before = ranges.length;
  const second = await open(t, store);
  await second.pullImage(`${registry.host}/a:v1`, []);
  assert.ok(ranges.slice(1).every((range) => range !== undefined && range !== "bytes=0-"));
  assert.ok(Number(/\d+/.exec(ranges[before] ?? "")?.[0]) >= 40_000);
  assert.deepEqual(readFileSync(join(store, "blobs/sha256", layer.slice(7))), data);
});

test("a registry at a loopback address is that of the node, else that of the machine", async (t) => {
  const at = folder(t);
  const [ofNode, ofMachine] = [await testRegistry(), await testRegistry()];
  t.after(() => Promise.all([ofNode.close(), ofMachine.close()]));
  ofNode.push(testImage([[file("node")]]), "v1");
  ofMachine.push(testImage([[file("machine")]]), "v1");
  const images = await open(t, join(at, "store"));
  const asked: string[] = [];
  const portOf = ({ host }: TestRegistry): number => Number(host.split(":")[1]);
  const nodeNetwork = {
    async connect(host: string, port: number) {
      asked.push(`${host}:${port}`);
      if (port !== 5000) throw new Error("connection refused");
      const socket = connect(portOf(ofNode), "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
  };
  await images.pullImage("localhost:5000/a:v1", [], { nodeNetwork });
  assert.ok(ofNode.requests.length > 2);
  assert.deepEqual([...new Set(asked)], ["localhost:5000"]);
  await images.pullImage(`${ofMachine.host}/b:v1`, [], { nodeNetwork });
  assert.ok(asked.includes(ofMachine.host));
});

type HostileResponse = readonly [
  name: string,
  intercept: TestRegistry["intercept"],
  reason: string,
  problem: RegExp,
];

/** Responses of registries that lie, wander or fail, for an image with a layer of that length. */
function hostileResponses(layer: string, length: number): readonly HostileResponse[] {
  const json = (text: string) => (_: unknown, response: import("node:http").ServerResponse) => {
    response.end(text);
    return true;
  };
  return [
    [
      "other content",
      ({ url = "" }, response) => url.endsWith(layer) && answered(response.end(Buffer.alloc(length))),
      "ErrImagePull",
      /was not what its digest says/,
    ],
    [
      "endless content",
      ({ url = "" }, response) => {
        if (!url.endsWith(layer)) return false;
        const more = (): void =>
          void response.write(Buffer.alloc(1 << 16), () => !response.destroyed && setImmediate(more));
        more();
        return true;
      },
      "ErrImagePull",
      /more than the \d+ bytes/,
    ],
    [
      "endless manifest",
      ({ url = "" }, response) => {
        if (!url.includes("manifests")) return false;
        const more = (): void =>
          void response.write(Buffer.alloc(1 << 20, " "), () => !response.destroyed && setImmediate(more));
        more();
        return true;
      },
      "ErrImagePull",
      /more than 8388608 bytes/,
    ],
    [
      "other manifest",
      ({ url = "" }, response) => {
        if (!url.includes("manifests")) return false;
        response.writeHead(200, { "docker-content-digest": `sha256:${"0".repeat(64)}` }).end("{}");
        return true;
      },
      "ErrImagePull",
      /came with other content/,
    ],
    ["schema 1", json('{"schemaVersion":1}'), "ErrImagePull", /schema version 1/],
    ["a web page", json("<html>"), "ErrImagePull", /not JSON/],
    [
      "a digest that is a path",
      json('{"schemaVersion":2,"config":{"digest":"sha256:../../../etc/passwd","size":1},"layers":[]}'),
      "ErrImagePull",
      /digest "sha256:..\/.*" is not/,
    ],
    [
      "circle",
      ({ url = "" }, response) => answered(response.writeHead(302, { location: url }).end()),
      "RegistryUnavailable",
      /more than 10 redirects/,
    ],
    [
      "file",
      (_, response) => answered(response.writeHead(302, { location: "file:///etc/passwd" }).end()),
      "RegistryUnavailable",
      /no web address/,
    ],
    ["not there", (_, response) => answered(response.writeHead(404).end()), "ErrImagePull", /not found/],
    [
      "down",
      (_, response) =>
        answered(response.writeHead(503).end('{"errors":[{"code":"DOWN","message":"for today"}]}')),
      "RegistryUnavailable",
      /status 503.*DOWN: for today/,
    ],
  ];
}

test("a registry that lies, wanders or fails is refused, and leaves nothing", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  const image = testImage([[file("a")]]);
  registry.push(image, "v1");
  const [layer = ""] = image.blobs.keys();
  for (const [what, intercept, reason, problem] of hostileResponses(layer, image.blobs.get(layer)!.length)) {
    const store = join(at, what.replaceAll(" ", "-"));
    const images = await open(t, store);
    registry.intercept = intercept;
    await assert.rejects(
      images.pullImage(`${registry.host}/a:v1`, []),
      (error: Error & { reason?: string }) => {
        assert.equal(error.reason, reason, `${what}: ${error.message}`);
        assert.match(error.message, problem, what);
        assert.ok(error.message.includes(`${registry.host}/a:v1`), error.message);
        return true;
      },
    );
    assert.deepEqual(await images.listImages(), [], what);
    await images.collect();
    assert.deepEqual(blobsOf(store), [], what);
  }
  registry.intercept = () => false;
  const gone = await testRegistry();
  await gone.close();
  const images = await open(t, join(at, "unreachable"));
  await assert.rejects(images.pullImage(`${gone.host}/a:v1`, []), {
    reason: "RegistryUnavailable",
    message: /ECONNREFUSED/,
  });
  await assert.rejects(images.pullImage("A b", []), { reason: "InvalidImageName" });
});

test("a host that a registry redirects to gets no credentials, whatever it asks for", async (t) => {
  const registry = await testRegistry();
  const elsewhere = await testRegistry();
  t.after(() => Promise.all([registry.close(), elsewhere.close()]));
  registry.push(testImage([[file("a")]]), "v1");
  const challenge = { "www-authenticate": `Bearer realm="http://${elsewhere.host}/token",service="s"` };
  registry.intercept = ({ url = "" }, response) => {
    if (!url.includes("/blobs/")) return false;
    response.writeHead(307, { location: `http://${elsewhere.host}${url}` }).end();
    return true;
  };
  elsewhere.intercept = (_request, response) => {
    response.writeHead(401, challenge).end();
    return true;
  };
  const images = await open(t, join(folder(t), "store"));
  await assert.rejects(
    images.pullImage(`${registry.host}/a:v1`, [{ username: "me", password: "secret" }]),
    /the registry answered 401/,
  );
  assert.ok(elsewhere.requests.length > 0);
  for (const { url, headers } of elsewhere.requests) {
    assert.equal(headers.authorization, undefined, url);
    assert.doesNotMatch(url, /token/);
  }
});

test("cuts off unused bodies without an end", async (t) => {
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(testImage([[file("a")]]), "v1");
  let floods = 0;
  let asked = 0;
  /** Writes as fast as it is read. */
  const flood = (response: ServerResponse): void => {
    floods++;
    response.once("close", () => floods--);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 16)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  registry.intercept = ({ url = "", headers }, response) => {
    if (url.startsWith("/token")) {
      response.end(JSON.stringify({ token: "T" }));
      return true;
    }
    if (headers.authorization === undefined)
      response.writeHead(401, { "www-authenticate": `Bearer realm="http://${registry.host}/token"` });
    else if (asked++ % 2 === 0) response.writeHead(307, { location: url });
    else return false;
    flood(response);
    return true;
  };
  const images = await open(t, join(folder(t), "store"));
  await images.pullImage(`${registry.host}/a:v1`, []);
  assert.ok(asked > 2);
  await eventually("the responses end", () => floods === 0);
});
