// Builds the loader library for both machines, and writes src/runtime/host/loader/library.json, which the
// node agent carries. With --check: fails if the file is not the build of the sources. Needs Debian's gcc and
// gcc-aarch64-linux-gnu; another compiler makes other code, so the file names the one that made it.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const folder = import.meta.dirname;
const output = join(folder, "../src/runtime/host/loader/library.json");
const compilers = { x64: "x86_64-linux-gnu-gcc", arm64: "aarch64-linux-gnu-gcc" };

const flags = [
  "-std=gnu11",
  "-Os",
  "-shared",
  "-fPIC",
  "-nostdlib",
  "-fno-builtin",
  "-fvisibility=hidden",
  "-fno-stack-protector",
  "-fno-asynchronous-unwind-tables",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-Wl,-z,now",
  "-Wl,-z,noseparate-code",
  "-Wl,--hash-style=gnu",
  "-Wl,--build-id=none",
  "-Wl,-soname,dray-pod.so",
  "-s",
];

const sources = readdirSync(join(folder, "src")).sort();

/** Digest of the sources and the flags. */
function digest() {
  const hash = createHash("sha256").update(flags.join(" "));
  for (const name of sources) hash.update(`\n${name}\n`).update(readFileSync(join(folder, "src", name)));
  return hash.digest("hex");
}

/** Version of a compiler; undefined if it is not installed. */
function version(compiler) {
  const { status, stdout } = spawnSync(compiler, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.split("\n")[0] : undefined;
}

function compile(compiler) {
  const place = mkdtempSync(join(tmpdir(), "dray-loader-"));
  try {
    const library = join(place, "dray-pod.so");
    const files = sources.filter((name) => name.endsWith(".c")).map((name) => join("src", name));
    const { status, stderr, error } = spawnSync(compiler, [...flags, "-o", library, ...files], {
      cwd: folder,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${compiler} fails: ${error?.message ?? stderr}`);
    return readFileSync(library);
  } finally {
    rmSync(place, { recursive: true });
  }
}

function build() {
  const libraries = Object.entries(compilers).map(([machine, compiler]) => {
    const packed = gzipSync(compile(compiler), { level: 9 });
    return [machine, { compiler: version(compiler), library: packed.toString("base64") }];
  });
  const built = { sources: digest(), ...Object.fromEntries(libraries) };
  writeFileSync(output, `${JSON.stringify(built, undefined, 2)}\n`);
}

function check() {
  const known = JSON.parse(readFileSync(output, "utf8"));
  if (known.sources !== digest())
    throw new Error("library.json is not of these sources: run node packages/kubelet/loader/build.js");
  for (const [machine, compiler] of Object.entries(compilers)) {
    const { compiler: builder, library } = known[machine];
    if (version(compiler) !== builder) {
      process.stdout.write(
        `loader library for ${machine}: not built anew, since this machine lacks ${builder}\n`,
      );
      continue;
    }
    // Compressed data may differ between versions of zlib.
    if (!gunzipSync(Buffer.from(library, "base64")).equals(compile(compiler)))
      throw new Error(
        `library.json has another library for ${machine} than ${compiler} makes of the sources`,
      );
  }
}

if (process.argv.includes("--check")) check();
else build();
