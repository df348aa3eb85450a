/**
 * The images of upstream's suites, without a registry: an OCI layout that holds the machine's busybox and
 * bash and what `interop/build` has built, under the names that the suite asks for.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Peer, peer } from "../peers.ts";
import { missingPrograms, output } from "./commands.ts";
import {
  baseConfig,
  type Descriptor,
  imagePrograms,
  install,
  type Layout,
  makeLayout,
} from "./image-layout.ts";

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

/** Programs of this machine that the images of suites are made of. */
export const suiteImagePrograms = [...imagePrograms, "openssl"] as const;

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
  makeLayout(folder, ({ layout, base, scratch }) => {
    const layersOf = new Map<string, readonly Descriptor[]>();
    const contents = new Map<string, readonly Descriptor[]>();
    for (const image of conformance ? [...images, ...conformanceImages] : images) {
      const below = image.on === undefined ? [base] : layersOf.get(image.on)!;
      const layers = [...below, ...ownLayer(image, join(scratch, image.name), layout, contents)];
      layersOf.set(image.name, layers);
      const config = {
        ...baseConfig,
        ...(image.user && { User: image.user }),
        ...(image.entrypoint && { Entrypoint: image.entrypoint }),
        ...(image.command && { Cmd: image.command }),
      };
      contents.set(image.name, layout.image(layers, config, names.get(image.name) ?? []));
    }
  });
  const [pause] = names.get("pause") ?? [];
  if (pause === undefined) throw new Error("e2e.test --list-images: no image is named pause");
  return { layout: folder, pause };
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
