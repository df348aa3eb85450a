import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  dockerArchive,
  type LayerEntry,
  layoutFiles,
  tarOf,
  tarOfFiles,
  testImage,
  writeFiles,
} from "../testing/image.ts";
import { testRegistry } from "../testing/registry.ts";
import { ownPlatform } from "./manifest.ts";
import { parseChallenge } from "./registry/credentials.ts";
import { type ImageStoreOptions, OciImages } from "./service.ts";
import type { SnapshotMode } from "./snapshots.ts";

const file = (name: string, content = name): LayerEntry => ({ name, type: "file", content });
/** For an interceptor that has responded. */
const answered = (_: unknown): true => true;
const root = process.getuid?.() === 0;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "dray-images-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function open(
  t: TestContext,
  directory: string,
  options: Partial<ImageStoreOptions> = {},
): Promise<OciImages> {
  const images = await OciImages.open({ directory, now: Date.now, retryDelay: 1, ...options });
  t.after(() => images.close());
  return images;
}

const blobsOf = (directory: string): string[] => readdirSync(join(directory, "blobs/sha256"));

test("archives and layouts are loaded, whatever their kind and compression", async (t) => {
  const at = folder(t);
  const plain = testImage([[file("a")], [file("b")]], { User: "12:34", Cmd: ["/a"] }, "none");
  const zstd = testImage([[file("z")]], { User: "nobody" }, "zstd");
  const named = { "org.opencontainers.image.ref.name": "example.com/z:v1" };
  writeFileSync(join(at, "docker.tar"), dockerArchive(plain, ["busy:1", "other/busy:2"]));
  writeFileSync(join(at, "docker.tar.gz"), gzipSync(dockerArchive(plain, null)));
  writeFileSync(join(at, "oci.tar"), tarOfFiles(layoutFiles([{ image: zstd, annotations: named }])));
  const other = testImage([[file("a")], [file("c")]]);
  writeFiles(
    join(at, "layout"),
    layoutFiles([{ image: other, annotations: { "org.opencontainers.image.ref.name": "v3" } }]),
  );
  const store = join(at, "store");
  const images = await open(t, store);
  const [docker] = await images.importImages(join(at, "docker.tar"));
  assert.deepEqual(docker?.references, ["docker.io/library/busy:1", "docker.io/other/busy:2"]);
  const [again] = await images.importImages(join(at, "docker.tar.gz"));
  assert.deepEqual(again, { digest: docker.digest, references: [] });
  const [oci] = await images.importImages(join(at, "oci.tar"));
  assert.deepEqual(oci, { digest: zstd.digest, references: ["example.com/z:v1"] });
  const [layout] = await images.importImages(join(at, "layout"), { name: "example.com/plain" });
  assert.deepEqual(layout?.references, ["example.com/plain:v3"]);

  const busy = await images.imageStatus("busy:1");
  assert.equal(busy?.user, 12);
  assert.deepEqual(busy?.tags, ["docker.io/library/busy:1", "docker.io/other/busy:2"]);
  assert.equal(busy?.ref, docker.digest);
  assert.equal((await images.imageStatus("example.com/z:v1"))?.user, "nobody");
  assert.equal(await images.imageStatus("busy:3"), undefined);
  const resolved = await images.resolve("busy:1");
  assert.deepEqual(resolved.config.cmd, ["/a"]);
  await assert.rejects(images.resolve("nothing"), /not on this node/);
  await assert.rejects(images.imageStatus("Nothing"), { reason: "InvalidImageName" });

  // Both names refer to one image, and are removed together; blobs that others use stay.
  await images.removeImage("busy:1");
  await images.removeImage("busy:1");
  assert.equal(await images.imageStatus("other/busy:2"), undefined);
  assert.equal((await images.listImages()).length, 2);
  await images.removeImage("example.com/plain:v3");
  await images.removeImage(zstd.digest);
  assert.deepEqual(blobsOf(store), []);
});

test("an image of another platform is refused with those that there are", async (t) => {
  const at = folder(t);
  const foreign = testImage([[file("a")]]);
  writeFiles(
    join(at, "layout"),
    layoutFiles([
      { image: foreign, platform: { os: "linux", architecture: "s390x" } },
      { image: foreign, platform: { os: "plan9", architecture: "386" } },
    ]),
  );
  const images = await open(t, join(at, "store"));
  await assert.rejects(
    images.importImages(join(at, "layout")),
    /no match for platform linux\/.*linux\/s390x, plan9\/386/,
  );
});

test("what cannot be loaded is refused by its path, and leaves nothing", async (t) => {
  const at = folder(t);
  const image = testImage([[file("a")]]);
  const files = new Map(layoutFiles([{ image }]));
  const damaged = new Map(files);
  const [layer] = image.blobs.keys();
  damaged.set(`blobs/sha256/${layer!.slice(7)}`, Buffer.from("other"));
  const short = new Map(files);
  short.delete(`blobs/sha256/${layer!.slice(7)}`);
  const table: readonly (readonly [string, Buffer | ReadonlyMap<string, Buffer>, RegExp])[] = [
    ["text.tar", Buffer.from("no archive at all"), /ends within a header/],
    ["empty.tar", tarOf([]), /neither index.json \(OCI layout\) nor manifest.json/],
    ["damaged.tar", tarOfFiles(damaged), /is damaged: its digest is sha256:/],
    ["short.tar", tarOfFiles(short), /blob sha256:\w+ is missing/],
    ["damaged", damaged, /ended after 5 of \d+ bytes/],
    ["short", short, /no such file/],
    ["no-list.tar", tarOf([file("manifest.json", "{}")]), /not a list/],
    ["no-json.tar", tarOf([file("manifest.json", "{")]), /not JSON/],
    [
      "missing.tar",
      tarOf([file("manifest.json", '[{"Config":"../../etc/passwd","Layers":[]}]')]),
      /names "..\/..\/etc\/passwd", which is missing/,
    ],
    ["cut.tar.gz", gzipSync(tarOfFiles(files)).subarray(0, 200), /unexpected end of file/],
  ];
  const store = join(at, "store");
  const images = await open(t, store);
  for (const [name, content, problem] of table) {
    const path = join(at, name);
    if (content instanceof Map) writeFiles(path, content);
    else writeFileSync(path, content as Buffer);
    await assert.rejects(images.importImages(path), (error: Error) => {
      assert.match(error.message, problem, name);
      assert.ok(error.message.includes(path), error.message);
      return true;
    });
  }
  await assert.rejects(images.importImages(join(at, "nothing")), /no such file/);
  assert.deepEqual(await images.listImages(), []);
  await images.collect();
  assert.deepEqual(blobsOf(store), []);
});

/** With overlay if the kernel supports it. */
async function modes(at: string): Promise<SnapshotMode[]> {
  const images = await OciImages.open({ directory: join(at, "probe"), now: Date.now });
  const { mode } = images.snapshots;
  images.close();
  return mode === "overlay" ? ["overlay", "copy"] : ["copy"];
}

test("containers get roots of their own on shared layers", async (t) => {
  if (!root) return t.skip("oci: needs root");
  const at = folder(t);
  const image = testImage([
    [file("a", "lower"), file("d/one"), file("gone"), { name: "l", type: "symlink", linkName: "a" }],
    [
      file("a", "upper"),
      file("d/two"),
      { name: ".wh.gone", type: "file" },
      { name: "h", type: "link", linkName: "d/one" },
    ],
    [file("d/.wh..wh..opq", ""), file("d/three")],
  ]);
  writeFileSync(
    join(at, "image.tar"),
    tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": "a/b:c" } }])),
  );
  for (const mode of await modes(at)) {
    const store = join(at, mode);
    const images = await open(t, store, { snapshots: mode });
    await images.importImages(join(at, "image.tar"));
    const resolved = await images.resolve("a/b:c");
    mkdirSync(join(at, `${mode}-1`));
    mkdirSync(join(at, `${mode}-2`));
    const [first, second] = await Promise.all([
      images.snapshots.makeRoot("one", join(at, `${mode}-1`), resolved),
      images.snapshots.makeRoot("two", join(at, `${mode}-2`), resolved),
    ]);
    assert.deepEqual(readdirSync(first).sort(), ["a", "d", "h", "l"], mode);
    assert.deepEqual(readdirSync(join(first, "d")), ["three"], mode);
    assert.equal(readFileSync(join(first, "h"), "utf8"), "d/one");
    writeFileSync(join(first, "a"), "written");
    rmSync(join(first, "h"));
    assert.equal(readFileSync(join(second, "a"), "utf8"), "upper", mode);
    assert.ok(existsSync(join(second, "h")));
    assert.equal(readdirSync(join(store, "snapshots")).length, 3, mode);
    // Layers of a running container stay when the image is removed.
    await images.removeImage("a/b:c");
    assert.equal(readFileSync(join(second, "a"), "utf8"), "upper", mode);
    await images.snapshots.removeRoot("one");
    await images.snapshots.removeRoot("one");
    assert.ok(!existsSync(first));
    // The folder of the second container is gone, so no agent will adopt it.
    rmSync(join(at, `${mode}-2`), { recursive: true });
    await images.collect();
    assert.deepEqual(readdirSync(join(store, "roots")), [], mode);
    assert.deepEqual(readdirSync(join(store, "snapshots")), [], mode);
    assert.ok(!readFileSync("/proc/mounts", "utf8").includes(store), mode);
  }
});

test("a layer that is not what its image says is refused and leaves no snapshot", async (t) => {
  if (!root) return t.skip("oci: needs root");
  const at = folder(t);
  const evil = testImage([[file("ok")], [{ name: "x", type: "link", linkName: "../../etc/shadow" }]]);
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(evil, "evil");
  const store = join(at, "store");
  const images = await open(t, store);
  await assert.rejects(
    images.pullImage(`${registry.host}/a:evil`, []),
    (error: Error & { reason?: string }) =>
      error.reason === "ErrImagePull" &&
      /cannot unpack layer sha256:\w+: "..\/..\/etc\/shadow" leads out/.test(error.message),
  );
  const lying = testImage([[file("ok")]]);
  const other = JSON.stringify({ ...JSON.parse(lying.configText), rootfs: { diff_ids: [evil.diffIds[1]] } });
  writeFileSync(
    join(at, "lying.tar"),
    tarOf([
      file("c.json", other),
      { name: "l.tar", type: "file", content: lying.layers[0]! },
      file("manifest.json", JSON.stringify([{ Config: "c.json", RepoTags: ["lying:1"], Layers: ["l.tar"] }])),
    ]),
  );
  await images.importImages(join(at, "lying.tar"));
  mkdirSync(join(at, "bundle"));
  await assert.rejects(
    images.snapshots.makeRoot("c", join(at, "bundle"), await images.resolve("lying:1")),
    /unpacks to sha256:\w+, and its image names/,
  );
  await images.removeImage("lying:1");
  assert.deepEqual(readdirSync(join(store, "snapshots")), []);
  assert.deepEqual(blobsOf(store), []);
});

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
  const pulled = first.pullImage(`${registry.host}/a:v1`, [], controller.signal);
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

test("a registry that lies, wanders or fails is refused, and leaves nothing", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  const image = testImage([[file("a")]]);
  registry.push(image, "v1");
  const [layer = ""] = image.blobs.keys();
  const json = (text: string) => (_: unknown, response: import("node:http").ServerResponse) => {
    response.end(text);
    return true;
  };
  const table: readonly (readonly [string, typeof registry.intercept, string, RegExp])[] = [
    [
      "other content",
      ({ url = "" }, response) =>
        url.endsWith(layer) && answered(response.end(Buffer.alloc(image.blobs.get(layer)!.length))),
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
  for (const [what, intercept, reason, problem] of table) {
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

test("several processes share one store", async (t) => {
  const at = folder(t);
  const shared = [file("shared", "s".repeat(50_000))];
  const archives = Array.from({ length: 4 }, (_, i) => {
    const image = testImage([shared, [file(`own-${i}`)]]);
    const path = join(at, `${i}.tar`);
    writeFileSync(
      path,
      tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": `image-${i}` } }])),
    );
    return path;
  });
  const store = join(at, "store");
  const script = `
    import { OciImages } from ${JSON.stringify(import.meta.resolve("./service.ts"))};
    const [path, name] = process.argv.slice(1);
    const images = await OciImages.open({ directory: ${JSON.stringify(store)}, now: Date.now });
    for (let n = 0; n < 10; n++) {
      await images.importImages(path);
      if (process.getuid() === 0) await images.snapshots.prepare(await images.resolve(name));
      if (n < 9) await images.removeImage(name);
    }
    images.close();`;
  const children = archives.map((path, i) =>
    spawn(
      process.execPath,
      [
        "--conditions=dray-source",
        "--disable-warning=ExperimentalWarning",
        "--input-type=module",
        "-e",
        script,
        path,
        `image-${i}`,
      ],
      {
        stdio: ["ignore", "inherit", "inherit"],
      },
    ),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  assert.deepEqual(codes, [0, 0, 0, 0]);
  const images = await open(t, store);
  assert.equal((await images.listImages()).length, 4);
  await images.collect();
  // Four manifests, configurations and own layers, and the layer that all of them share.
  assert.equal(blobsOf(store).length, 13);
  if (root) assert.equal(readdirSync(join(store, "snapshots")).length, 5);
  for (const name of blobsOf(store)) {
    const [found = ""] = execFileSync("sha256sum", [join(store, "blobs/sha256", name)], {
      encoding: "utf8",
    }).split(" ");
    assert.equal(found, name);
    assert.ok(lstatSync(join(store, "blobs/sha256", name)).isFile());
  }
});

test("images say which containers of any agent use, and which cannot be fetched again", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(testImage([[file("a")]]), "a");
  const image = testImage([[file("b")]]);
  writeFileSync(
    join(at, "image.tar"),
    tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": "example.com/b:1" } }])),
  );
  const store = join(at, "store");
  const images = await open(t, store, { snapshots: "copy" });
  const pulled = await images.pullImage(`${registry.host}/a:a`, []);
  await images.importImages(join(at, "image.tar"));
  const listed = await images.listImages();
  assert.deepEqual(
    listed.map(({ ref, pinned }) => [ref === pulled, pinned]),
    [
      [true, false],
      [false, true],
    ],
  );
  const other = await open(t, store, { snapshots: "copy" });
  assert.deepEqual([...(await images.usedImages())], []);
  const bundle = join(at, "bundle");
  mkdirSync(bundle);
  await other.snapshots.makeRoot("one", bundle, await other.resolve(pulled));
  assert.deepEqual([...(await images.usedImages())], [pulled]);
  rmSync(bundle, { recursive: true });
  assert.deepEqual([...(await images.usedImages())], [], "its container is gone");
  assert.equal(await images.imageFolder(), store);
});
