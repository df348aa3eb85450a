// A program of TypeScript as a few files of JavaScript: to load some 600 files is most of a start of `dray`. They are made
// anew when a source has changed, and left aside where that fails. Runs on Node >= 20.
import { createHash } from "node:crypto";
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
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** How long the files of an older bundle stay: a process that runs from it may load a part of it yet. */
const keptMilliseconds = 24 * 60 * 60 * 1000;

/**
 * The file to run for `source`, a path below `root`: its bundle in `folder`, or itself where none can be made. Neither
 * leaves anything half written for others who do the same.
 */
export async function bundled(root, source, folder) {
  try {
    const known = current(root, folder);
    if (known !== undefined) return known;
  } catch {
    // Whatever stands there is replaced.
  }
  try {
    return await build(root, source, folder);
  } catch {
    return source;
  }
}

/** Says which bundle is the newest, and of what it was made. */
const recordOf = (folder) => join(folder, "bundle.json");

/** The bundle, if it is of the sources as they are now. */
function current(root, folder) {
  const record = recordOf(folder);
  if (!existsSync(record)) return undefined;
  const { name, inputs } = JSON.parse(readFileSync(record, "utf8"));
  const same = inputs.every(([file, size, changed]) => {
    const now = statSync(resolve(root, file), { throwIfNoEntry: false });
    return now?.size === size && now.mtimeMs === changed;
  });
  const main = join(folder, name, "main.js");
  return same && existsSync(main) ? main : undefined;
}

async function build(root, source, folder) {
  const { build } = await import("esbuild");
  const began = Date.now();
  const { metafile, outputFiles } = await build({
    entryPoints: { main: source },
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    target: "node24",
    conditions: ["dray-source"],
    // They look for files beside themselves, or are rarely needed.
    external: ["@grpc/grpc-js", "pino", "ws", "yaml"],
    logLevel: "silent",
  });
  const inputs = filesBehind(Object.keys(metafile.inputs)).map((file) => {
    const { size, mtimeMs } = statSync(resolve(root, file));
    if (mtimeMs >= began) throw new Error(`${file} has changed meanwhile`);
    return [file, size, mtimeMs];
  });
  const hash = createHash("sha256");
  for (const { hash: part } of outputFiles) hash.update(part);
  const name = hash.digest("hex").slice(0, 16);
  mkdirSync(join(folder, name), { recursive: true });
  for (const { path, contents } of outputFiles) {
    replace(join(folder, name, path.slice(folder.length + 1)), contents);
  }
  replace(recordOf(folder), JSON.stringify({ name, inputs }));
  forget(folder, name, began - keptMilliseconds);
  return join(folder, name, "main.js");
}

/** All files from which a bundle of `inputs` follows. */
function filesBehind(inputs) {
  // What is in node_modules follows from the lockfile, what a package's name means from its package.json.
  const own = inputs.filter((file) => !file.startsWith("node_modules/"));
  const packages = new Set(own.map((file) => /^(?:packages|drivers)\/[^/]+\//.exec(file)?.[0]));
  packages.delete(undefined);
  return [
    "package-lock.json",
    fileURLToPath(import.meta.url),
    ...[...packages].map((path) => `${path}package.json`),
    ...own,
  ];
}

/** Deletes bundles that were made before a time. */
function forget(folder, newest, before) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name !== newest && statSync(path).mtimeMs < before) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes a file that others may be reading. */
function replace(file, contents) {
  const draft = join(dirname(file), `.${process.pid}`);
  writeFileSync(draft, contents);
  renameSync(draft, file);
}
