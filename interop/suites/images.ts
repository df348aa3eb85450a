/**
 * The images of upstream's suites, without a registry: an OCI layout that holds the machine's busybox and
 * bash and what `interop/build` has built, under the names that the suite asks for.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Peer, peer } from "../peers.ts";
import { missingPrograms, output } from "./commands.ts";

interface Image {
  /** Name of the repository of the images it stands for; the suite names the versions. */
  readonly name: string;
  /** Name of the image whose layers come first; the small root file system alone if absent. */
  readonly on?: string;
  readonly program?: { readonly peer: Peer; readonly path: string; readonly mode?: number };
  /** Programs of this machine that specs call; those that it lacks are left out. */
  readonly tools?: readonly string[];
  /** Contents by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Adds more files to the folder of its layer. */
  readonly prepare?: (root: string) => void;
  /** An image before it, which its `fake-registry-server` serves with the tag `testing`. */
  readonly serves?: string;
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** Names in manifests of the suite that it does not list. */
  readonly unlisted?: readonly string[];
}

/** An image of the rolling update specs: each serves files that name it. */
const demo = (name: string): Image => ({
  name,
  on: "agnhost",
  files: { "data.json": `{\n"image": "${name}.jpg"\n}\n`, [`${name}.jpg`]: `${name}\n` },
  entrypoint: ["/agnhost"],
  command: ["test-webserver"],
});

const images: readonly Image[] = [
  { name: "busybox", command: ["sh"] },
  { name: "pause", program: { peer: "agnhost", path: "/pause" }, entrypoint: ["/pause", "pause"] },
  {
    name: "agnhost",
    program: { peer: "agnhost", path: "/agnhost" },
    tools: ["curl", "dig", "getent", "ip", "nc"],
    prepare: prepareAgnhost,
    serves: "pause",
    entrypoint: ["/agnhost"],
    command: ["pause"],
  },
  {
    name: "hostpathplugin",
    program: { peer: "driver-proxy", path: "/hostpathplugin" },
    entrypoint: ["/hostpathplugin"],
  },
  {
    name: "sample-device-plugin",
    program: { peer: "sample-device-plugin", path: "/sampledeviceplugin" },
    entrypoint: ["/sampledeviceplugin", "-alsologtostderr"],
    unlisted: ["registry.k8s.io/e2e-test-images/sample-device-plugin:1.8.0"],
  },
];

/** Those of the Conformance suite beside them. */
const conformanceImages: readonly Image[] = [
  { name: "nonroot", on: "agnhost", user: "1234", entrypoint: ["/agnhost"], command: ["pause"] },
  { name: "glibc-dns-testing", on: "agnhost", command: ["sleep", "infinity"] },
  demo("kitten"),
  demo("nautilus"),
  {
    name: "nonewprivs",
    program: { peer: "nnp", path: "/usr/local/bin/nnp", mode: 0o4755 },
    command: ["nnp"],
  },
  {
    name: "sample-apiserver",
    program: { peer: "sample-apiserver", path: "/sample-apiserver" },
    entrypoint: ["/sample-apiserver"],
  },
  { name: "etcd", program: { peer: "etcd", path: "/usr/local/bin/etcd" }, command: ["etcd"] },
  {
    name: "nginx",
    files: {
      "usr/share/nginx/html/index.html": "<html><head><title>Welcome to nginx!</title></head></html>\n",
    },
    command: ["httpd", "-f", "-p", "80", "-h", "/usr/share/nginx/html"],
  },
];

/** Programs of this machine that the images are made of. */
export const imagePrograms = ["busybox", "bash", "tar", "ldd", "openssl"] as const;

/** Images that the suite names, and ours that stand for them. */
export function imageNames(asked: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...images, ...conformanceImages].map(({ name, unlisted = [] }) => [
      name,
      [...asked, ...unlisted].filter((image) => basename(image.slice(0, image.lastIndexOf(":"))) === name),
    ]),
  );
}

/** The images of a suite on this machine. */
export interface Images {
  /** Folder with an OCI layout. */
  readonly layout: string;
  /** Name of the pause image. */
  readonly pause: string;
}

/** Makes all images, as an OCI layout in a folder that it creates. */
export function makeImages(folder: string, conformance = false): Images {
  const names = imageNames(output(peer("e2e.test"), ["--list-images"]).split("\n"));
  const scratch = mkdtempSync(join(tmpdir(), "dray-images-"));
  try {
    const layout = new Layout(folder);
    const base = join(scratch, "base");
    makeBase(base);
    const shared = layout.layer(base);
    const layersOf = new Map<string, readonly Descriptor[]>();
    const contents = new Map<string, readonly Descriptor[]>();
    for (const image of conformance ? [...images, ...conformanceImages] : images) {
      const below = image.on === undefined ? [shared] : layersOf.get(image.on)!;
      const layers = [...below, ...ownLayer(image, join(scratch, image.name), layout, contents)];
      layersOf.set(image.name, layers);
      const config = {
        Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        WorkingDir: "/",
        ...(image.user && { User: image.user }),
        ...(image.entrypoint && { Entrypoint: image.entrypoint }),
        ...(image.command && { Cmd: image.command }),
      };
      contents.set(image.name, layout.image(layers, config, names.get(image.name) ?? []));
    }
    layout.close();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const [pause] = names.get("pause") ?? [];
  if (pause === undefined) throw new Error("e2e.test --list-images: no image is named pause");
  return { layout: folder, pause };
}

/** Packs an OCI layout into a tar file beside it, and returns its path. */
export function packLayout(layout: string): string {
  const file = `${layout}.tar`;
  output("tar", ["-C", layout, "-cf", file, "."]);
  return file;
}

/**
 * The layer that an image adds to those it is built on; empty if it adds none. `root`: a folder for its
 * files. `contents`: manifests of the images before it, each with what it names.
 */
function ownLayer(
  { program, tools = [], files = {}, prepare, serves }: Image,
  root: string,
  layout: Layout,
  contents: ReadonlyMap<string, readonly Descriptor[]>,
): Descriptor[] {
  const place = (path: string): string => {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    return target;
  };
  if (program !== undefined) {
    copyFileSync(peer(program.peer), place(program.path));
    if (program.mode !== undefined) chmodSync(join(root, program.path), program.mode);
  }
  const there = tools.filter((tool) => missingPrograms([tool]).length === 0);
  if (there.length > 0) mkdirSync(join(root, "bin"), { recursive: true });
  for (const tool of there) install(root, tool);
  for (const [path, content] of Object.entries(files)) writeFileSync(place(path), content);
  prepare?.(root);
  if (serves !== undefined)
    for (const [path, content] of registryFiles(serves, contents.get(serves)!, layout))
      writeFileSync(place(path), content);
  return existsSync(root) ? [layout.layer(root)] : [];
}

/**
 * Returns the files by path that agnhost's registry serves an image from.
 *
 * Upstream: test/images/agnhost/fakeregistryserver/registryserver.go, digestToPath.
 */
function registryFiles(
  name: string,
  [manifest, ...blobs]: readonly Descriptor[],
  layout: Layout,
): [path: string, content: Buffer | string][] {
  const folder = `var/registry/${name}`;
  const path = (kind: string, digest: string): string => {
    const hash = digest.replace("sha256:", "");
    return `${folder}/${kind}/sha256/${hash.slice(0, 2)}/${hash}/data`;
  };
  const { digest } = manifest!;
  return [
    [`${folder}/manifests/testing`, digest],
    [path("manifests", digest), layout.read(digest)],
    ...blobs.map((blob): [string, Buffer] => [path("blobs", blob.digest), layout.read(blob.digest)]),
  ];
}

/**
 * Adds the files that agnhost expects in its image: a certificate for localhost, a folder for uploads, a
 * second name.
 */
function prepareAgnhost(root: string): void {
  const [key, certificate] = [join(root, "localhost.key"), join(root, "localhost.crt")];
  const pair = ["-newkey", "rsa:2048", "-nodes", "-days", "3650", "-keyout", key, "-out", certificate];
  output("openssl", ["req", "-x509", "-subj", "/CN=localhost", ...pair]);
  chmodSync(key, 0o644);
  mkdirSync(join(root, "uploads"));
  symlinkSync("agnhost", join(root, "agnhost-2"));
}

/**
 * A small root file system. Its sh is bash: busybox's drops environment variables whose names a shell cannot
 * have.
 */
function makeBase(root: string): void {
  for (const folder of [
    "bin",
    "usr/bin",
    "etc",
    "root",
    "home",
    "proc",
    "sys",
    "dev",
    "tmp",
    "var/run",
    "run",
  ])
    mkdirSync(join(root, folder), { recursive: true });
  chmodSync(join(root, "tmp"), 0o1777);
  writeFileSync(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n",
  );
  writeFileSync(
    join(root, "etc/group"),
    "root:x:0:\nnogroup:x:65534:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n",
  );
  // A spec reads it; upstream's images are Alpine.
  writeFileSync(join(root, "etc/os-release"), 'NAME="Alpine Linux"\n');
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  const busybox = install(root, "busybox");
  for (const applet of output(busybox, ["--list"]).split("\n"))
    if (applet !== "sh" && applet !== "busybox") symlinkSync("busybox", join(root, "bin", applet));
  install(root, "bash");
  symlinkSync("bash", join(root, "bin/sh"));
  symlinkSync("/bin/env", join(root, "usr/bin/env"));
}

/**
 * Copies a program of this machine, and the libraries it is linked with, into `root`. Returns its path here.
 */
function install(root: string, name: string): string {
  const path = output("sh", ["-c", `command -v ${name}`]);
  const target = join(root, "bin", name);
  copyFileSync(path, target);
  // Of a static program ldd says on standard error that it is not a dynamic one, and fails.
  const { stdout } = spawnSync("ldd", [path], { encoding: "utf8" });
  for (const [library] of stdout.matchAll(/\/\S+/g)) {
    if (library === `${path}:` || existsSync(join(root, library))) continue;
    mkdirSync(join(root, dirname(library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
  return path;
}

/** https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** An OCI image layout. https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
class Layout {
  readonly #folder: string;
  readonly #manifests: object[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  }

  #blob(content: Buffer | string, mediaType: string): Descriptor {
    const digest = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(this.#folder, "blobs/sha256", digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  }

  layer(root: string): Descriptor {
    const file = join(this.#folder, "layer");
    output("tar", ["--owner=0", "--group=0", "--numeric-owner", "-C", root, "-cf", file, "."]);
    const layer = this.#blob(readFileSync(file), "application/vnd.oci.image.layer.v1.tar");
    rmSync(file);
    return layer;
  }

  read(digest: string): Buffer {
    return readFileSync(join(this.#folder, "blobs", digest.replace(":", "/")));
  }

  /** Returns its manifest, configuration and layers. */
  image(layers: readonly Descriptor[], config: object, names: readonly string[]): readonly Descriptor[] {
    const diffIds = layers.map(({ digest }) => digest); // Layers are not compressed.
    const architecture = process.arch === "x64" ? "amd64" : process.arch;
    const platform = { architecture, os: "linux" };
    const text = JSON.stringify({ ...platform, config, rootfs: { type: "layers", diff_ids: diffIds } });
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const configBlob = this.#blob(text, "application/vnd.oci.image.config.v1+json");
    const manifest = this.#blob(
      JSON.stringify({ schemaVersion: 2, mediaType, config: configBlob, layers }),
      mediaType,
    );
    for (const name of names)
      this.#manifests.push({
        ...manifest,
        platform,
        annotations: { "io.containerd.image.name": name },
      });
    return [manifest, configBlob, ...layers];
  }

  /** Writes the index. */
  close(): void {
    const index = { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json" };
    writeFileSync(join(this.#folder, "index.json"), JSON.stringify({ ...index, manifests: this.#manifests }));
    writeFileSync(join(this.#folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  }
}
