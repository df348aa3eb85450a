// A program of TypeScript as a few files of JavaScript: to load some 600 files is most of a start of `dray`.
// A clone runs this bundle, made anew when a source has changed; npm gets the same one. Runs on Node >= 20.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** How long the files of an older bundle stay: a process that runs from it may load a part of it yet. */
const keptMilliseconds = 24 * 60 * 60 * 1000;

/** Says of what the newest bundle was made, and which files it is. */
const recordOf = (folder) => join(folder, "bundle.json");
/**
 * Imports the newest bundle, whose own files are named by their contents: what runs goes on with what it
 * began with.
 */
const main = "main.js";

/**
 * The file to run for `source`, a path below `root`: its bundle in `folder`, or itself where none can be
 * made. Neither leaves anything half written for others who do the same.
 */
export async function bundled(root, source, folder) {
  try {
    return await bundle(root, source, folder);
  } catch {
    return source;
  }
}

/** Makes the bundle unless it is of the sources as they are now. */
export async function bundle(root, source, folder) {
  if (!isCurrent(root, folder)) await build(root, source, folder);
  return join(folder, main);
}

/** Deletes what older bundles have left: not while they run. */
export function prune(folder) {
  forget(folder, Number.POSITIVE_INFINITY);
}

function isCurrent(root, folder) {
  try {
    const { inputs, outputs } = JSON.parse(readFileSync(recordOf(folder), "utf8"));
    return (
      outputs.every((name) => existsSync(join(folder, name))) &&
      inputs.every(([file, size, changed]) => {
        const now = statSync(resolve(root, file), { throwIfNoEntry: false });
        return now?.size === size && now.mtimeMs === changed;
      })
    );
  } catch {
    // Replaces what exists there.
    return false;
  }
}

async function build(root, source, folder) {
  const { build, stop } = await import("esbuild");
  const began = Date.now();
  const beside = commonJS();
  const common = {
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node24",
    legalComments: "none",
    logLevel: "silent",
  };
  const program = await build({
    ...common,
    entryPoints: { program: source },
    entryNames: "[name]-[hash]",
    format: "esm",
    splitting: true,
    conditions: ["dray-source"],
    // Optional dependencies of ws, which the bundle lacks.
    external: ["bufferutil", "utf-8-validate"],
    plugins: [beside.plugin],
  });
  const loaded = await build({
    ...common,
    entryPoints: Object.fromEntries([...beside.found].map(([file, name]) => [file.slice(2, -4), name])),
    outExtension: { ".js": ".cjs" },
    format: "cjs",
    // Only for services that we do not have (channelz); it is half of what gRPC brings.
    external: ["@grpc/proto-loader"],
  });
  // Else its process stays as long as this one, which may be a cluster.
  await stop();
  const files = [program, loaded].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const inputs = filesBehind(files).map((file) => {
    const { size, mtimeMs } = statSync(resolve(root, file));
    if (mtimeMs >= began) throw new Error(`${file} has changed meanwhile`);
    return [file, size, mtimeMs];
  });
  const [entry] = Object.entries(program.metafile.outputs).find(
    ([, { entryPoint }]) => entryPoint !== undefined && resolve(root, entryPoint) === source,
  );
  const outputs = [
    ...program.outputFiles.map(({ path, text }) => [basename(path), withRequire(text)]),
    ...loaded.outputFiles.map(({ path, contents }) => [basename(path), contents]),
    ["THIRD-PARTY-LICENSES.txt", licences(root, files)],
    // The last one to be written: what it imports is there by then.
    [main, `import "./${basename(entry)}";\n`],
  ];
  mkdirSync(folder, { recursive: true });
  for (const [name, contents] of outputs) replace(join(folder, name), contents);
  replace(recordOf(folder), JSON.stringify({ outputs: outputs.map(([name]) => name), inputs }));
  forget(folder, began - keptMilliseconds);
}

/**
 * Each package of CommonJS becomes a file of its own beside the bundle: within it, `import("name")` would
 * give its default export only, and `createRequire(import.meta.url)("name")`, which is how our sources load a
 * package that is large and rarely needed without waiting, would look for it among installed packages.
 */
function commonJS() {
  const found = new Map();
  const fileOf = (name, from) => {
    const { version } = createRequire(from)(`${name}/package.json`);
    const file = `./${basename(name)}-${version}.cjs`;
    found.set(file, name);
    return file;
  };
  const call = /createRequire\(import\.meta\.url\)\("([^"]+)"\)/g;
  const setup = (build) => {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (text.search(call) === -1) return undefined;
      const contents = text.replaceAll(call, (whole, name) => whole.replace(name, fileOf(name, path)));
      return { contents, loader: "ts" };
    });
    build.onResolve({ filter: /^[^./]/ }, async (args) => {
      const { resolveDir, kind, path, pluginData } = args;
      const isPackage = /^(?:@[^/]+\/)?[^/:]+$/.test(path);
      if (pluginData === commonJS || !kind.includes("import") || !isPackage) return undefined;
      const resolved = await build.resolve(path, { resolveDir, kind, pluginData: commonJS });
      if (resolved.external || !isCommonJS(resolved.path)) return undefined;
      return { path, namespace: "common-js", pluginData: resolved.path };
    });
    build.onLoad({ filter: /./, namespace: "common-js" }, ({ path, pluginData }) => {
      const names = Object.keys(createRequire(pluginData)(path)).filter((name) => /^\w+$/.test(name));
      const contents = `import { createRequire } from "node:module";
const all = createRequire(import.meta.url)("${fileOf(path, pluginData)}");
export default all;
export const { ${names.filter((name) => name !== "default").join(", ")} } = all;
`;
      return { contents, loader: "js" };
    });
  };
  return { found, plugin: { name: "CommonJS", setup } };
}

function isCommonJS(file) {
  if (/\.[cm]js$/.test(file)) return file.endsWith(".cjs");
  let folder = dirname(file);
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).type !== "module";
}

/** CommonJS among the modules asks for modules of Node with `require`, which modules do not have. */
function withRequire(text) {
  if (!/^var __require = /m.test(text)) return text;
  return `import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);\n${text}`;
}

/** The licences of the packages among `files`, as they ask of those who hand them on. */
function licences(root, files) {
  const folders = new Set(files.map((file) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]));
  folders.delete(undefined);
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((file) => /^licen[cs]e/i.test(file));
    const text = file === undefined ? "" : `\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`;
    return `${name} ${version} (${license})\n${text}`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** All files from which a bundle of `inputs` follows. */
function filesBehind(inputs) {
  // The lockfile determines node_modules, and package.json the entry points of a package.
  const own = inputs.filter((file) => !/^(?:node_modules\/|common-js:)/.test(file));
  const packages = new Set(own.map((file) => /^(?:packages|drivers)\/[^/]+\//.exec(file)?.[0]));
  packages.delete(undefined);
  return [
    "package-lock.json",
    fileURLToPath(import.meta.url),
    ...[...packages].map((path) => `${path}package.json`),
    ...own,
  ];
}

/** Deletes what belongs to no bundle but older ones, and was written before a time. */
function forget(folder, before) {
  const { outputs } = JSON.parse(readFileSync(recordOf(folder), "utf8"));
  const newest = new Set([...outputs, basename(recordOf(folder))]);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (!newest.has(name) && written < before) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes a file that others may be reading. */
function replace(file, contents) {
  const draft = join(dirname(file), `.${process.pid}`);
  writeFileSync(draft, contents);
  renameSync(draft, file);
}
